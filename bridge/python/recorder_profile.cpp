// SPDX-License-Identifier: BSD-3-Clause
//
// recorder_profile.cpp - follows the calls of Python functions before Python 3.12 with a profile
// function in C (sys.setprofile). Each thread has one, which sees the calls of all functions.
#include <cstring>

#include "recorder_functions.hpp"

#if PY_VERSION_HEX < 0x030C0000

namespace perfield::python {
namespace {

int follow_event(PyObject*, PyFrameObject* frame, int what, PyObject*) noexcept {
  if (what != PyTrace_CALL && what != PyTrace_RETURN) return 0;
  PyCodeObject* code = PyFrame_GetCode(frame);
  uintptr_t answer = answer_for(reinterpret_cast<PyObject*>(code));
  if (!answer && what == PyTrace_CALL) answer = look_at(frame, code);
  Py_DECREF(code);
  if (what == PyTrace_CALL)
    enter_answered(answer);
  else
    leave_answered(answer);
  return 0;
}

// threading's profile function for new threads: replaces itself by the one above.
PyObject* follow_thread(PyObject*, PyObject* arguments) {
  PyObject *frame = nullptr, *argument = nullptr;
  const char* event = nullptr;
  if (!PyArg_ParseTuple(arguments, "OsO", &frame, &event, &argument)) return nullptr;
  PyEval_SetProfile(follow_event, nullptr);
  if (!strcmp(event, "call"))
    follow_event(nullptr, reinterpret_cast<PyFrameObject*>(frame), PyTrace_CALL, argument);
  Py_RETURN_NONE;
}

PyMethodDef thread_method = {"follow_thread", follow_thread, METH_VARARGS, nullptr};

}  // namespace

bool follow_calls() {
  PyObject* threading = PyImport_ImportModule("threading");
  PyObject* function = PyCFunction_New(&thread_method, nullptr);
  PyObject* done =
      threading && function ? PyObject_CallMethod(threading, "setprofile", "O", function) : nullptr;
  Py_XDECREF(function);
  Py_XDECREF(threading);
  Py_XDECREF(done);
  if (done) PyEval_SetProfile(follow_event, nullptr);
  return done;
}

}  // namespace perfield::python

#endif
