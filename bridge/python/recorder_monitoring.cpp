// SPDX-License-Identifier: BSD-3-Clause
//
// recorder_monitoring.cpp - follows the calls of Python functions with sys.monitoring, from Python
// 3.12 on. A function that is not selected costs nothing after its first call.
#include "recorder_functions.hpp"

#if PY_VERSION_HEX >= 0x030C0000

namespace perfield::python {
namespace {

PyObject *monitoring = nullptr, *disable = nullptr;
int tool = -1;
long start = 0, everywhere = 0, in_selected = 0;  // sets of events

// Found a selected function: from now on also watch exceptions, and all ways in and out of its own
// code.
bool watch(PyObject* code) {
  static bool first = true;
  PyObject* done =
      PyObject_CallMethod(monitoring, "set_local_events", "iOl", tool, code, in_selected);
  Py_XDECREF(done);
  if (done && first) {
    done = PyObject_CallMethod(monitoring, "set_events", "il", tool, start | everywhere);
    Py_XDECREF(done);
  }
  first = false;
  return done;
}

PyObject* function_starts(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  PyObject* code = arguments[0];
  uintptr_t answer = answer_for(code);
  if (!answer) {
    PyFrameObject* frame = PyEval_GetFrame();
    if (!frame) Py_RETURN_NONE;
    answer = look_at(frame, reinterpret_cast<PyCodeObject*>(code));
    if (answer > kLeftOut && !watch(code)) return nullptr;
  }
  if (answer == kLeftOut) {
    Py_INCREF(disable);
    return disable;
  }
  enter_answered(answer);
  Py_RETURN_NONE;
}

PyObject* function_goes_on(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  const uintptr_t answer = answer_for(arguments[0]);
  if (answer > kLeftOut) enter_answered(answer);
  Py_RETURN_NONE;
}

PyObject* function_ends(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  leave_answered(answer_for(arguments[0]));
  Py_RETURN_NONE;
}

#define CALLBACK(name)                                                                          \
  {                                                                                             \
#name, reinterpret_cast < PyCFunction>(reinterpret_cast <void (*)()>(name)), METH_FASTCALL, \
        nullptr                                                                                 \
  }
PyMethodDef callbacks[] = {CALLBACK(function_starts), CALLBACK(function_goes_on),
                           CALLBACK(function_ends)};

bool take_tool() {
  static const int kNumbers[] = {3, 4, 2};  // ids reserved for no kind of tool come first
  for (int number : kNumbers) {
    PyObject* taken = PyObject_CallMethod(monitoring, "use_tool_id", "is", number, "perfield");
    if (taken) {
      Py_DECREF(taken);
      tool = number;
      return true;
    }
    PyErr_Clear();
  }
  if (perfield_warn_once_per_node)
    perfield_warn_once_per_node(
        "functions",
        "other tools use all of sys.monitoring, so the Python functions named in "
        "`regions` are not measured");
  return false;
}

}  // namespace

bool follow_calls() {
  monitoring = PySys_GetObject("monitoring");  // borrowed; outlives us
  disable = monitoring ? PyObject_GetAttrString(monitoring, "DISABLE") : nullptr;
  PyObject* events = monitoring ? PyObject_GetAttrString(monitoring, "events") : nullptr;
  if (!disable || !events) return false;
  if (!take_tool()) return true;
  struct {
    const char* event;
    int callback;
    long* set;
  } table[] = {{"PY_START", 0, &start},       {"PY_RESUME", 1, &in_selected},
               {"PY_THROW", 1, &everywhere},  {"PY_RETURN", 2, &in_selected},
               {"PY_YIELD", 2, &in_selected}, {"PY_UNWIND", 2, &everywhere}};
  for (const auto& row : table) {
    PyObject* number = PyObject_GetAttrString(events, row.event);
    PyObject* callback = PyCFunction_New(&callbacks[row.callback], nullptr);
    PyObject* done = number && callback ? PyObject_CallMethod(monitoring, "register_callback",
                                                              "iOO", tool, number, callback)
                                        : nullptr;
    if (number) *row.set |= PyLong_AsLong(number);
    Py_XDECREF(number);
    Py_XDECREF(callback);
    Py_XDECREF(done);
    if (!done) return false;
  }
  Py_DECREF(events);
  PyObject* done = PyObject_CallMethod(monitoring, "set_events", "il", tool, start);
  Py_XDECREF(done);
  return done;
}

}  // namespace perfield::python

#endif
