// SPDX-License-Identifier: BSD-3-Clause
//
// recorder_functions.cpp - Python functions as regions, selected by name in the configuration. A
// function is looked at when it first runs, and the answer is kept with its code: from Python 3.12
// those that were not selected cost nothing afterwards (sys.monitoring), before that each call
// costs a look at that answer (a profile function in C).
#include <fnmatch.h>

#include <cstring>
#include <string>
#include <vector>

#include "recorder/config.hpp"
#include "recorder_module.hpp"

namespace perfield::python {
namespace {

// Kept with a code object: 0 not looked at yet, kLeftOut, or kLeftOut + the region's handle.
constexpr uintptr_t kLeftOut = 1;
Py_ssize_t extra_index = -1;

#if PY_VERSION_HEX >= 0x030C0000
#define GET_EXTRA PyUnstable_Code_GetExtra
#define SET_EXTRA PyUnstable_Code_SetExtra
#define REQUEST_EXTRA PyUnstable_Eval_RequestCodeExtraIndex
#else
#define GET_EXTRA _PyCode_GetExtra
#define SET_EXTRA _PyCode_SetExtra
#define REQUEST_EXTRA _PyEval_RequestCodeExtraIndex
#endif

std::vector<std::string>* globs = nullptr;  // of functions; never freed, threads may outlive us
std::string* step_region = nullptr;

std::string text_of(PyObject* object) {
  const char* text = object && PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "";
}

PyObject* globals_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetGlobals(frame);
#else
  Py_INCREF(frame->f_globals);
  return frame->f_globals;
#endif
}

// The module that a function's globals belong to; of the program itself its name for `python -m`,
// or the file's without .py.
std::string module_of(PyObject* globals, const std::string& file) {
  std::string name = text_of(PyDict_GetItemString(globals, "__name__"));
  if (name != "__main__") return name;
  PyObject* spec = PyDict_GetItemString(globals, "__spec__");
  PyObject* found = spec && spec != Py_None ? PyObject_GetAttrString(spec, "name") : nullptr;
  if (!found) PyErr_Clear();
  name = text_of(found);
  Py_XDECREF(found);
  if (!name.empty()) return name;
  name = file.substr(file.rfind('/') + 1);
  return name.substr(0, name.rfind(".py"));
}

#if PY_VERSION_HEX >= 0x030B0000
std::string qualified_name(PyFrameObject*, PyCodeObject* code) {
  return text_of(code->co_qualname);
}
#else
// Before 3.11 code does not know its class: it is that of the first argument, or a base of it.
std::string qualified_name(PyFrameObject* frame, PyCodeObject* code) {
  const std::string name = text_of(code->co_name);
  PyObject* locals = code->co_argcount
                         ? PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_locals")
                         : nullptr;
  PyObject* first = locals && PyDict_Check(locals)
                        ? PyDict_GetItem(locals, PyTuple_GET_ITEM(code->co_varnames, 0))
                        : nullptr;
  std::string found = name;
  PyTypeObject* type = !first ? nullptr
                       : PyType_Check(first) ? reinterpret_cast<PyTypeObject*>(first)
                                             : Py_TYPE(first);
  for (Py_ssize_t i = 0; type && type->tp_mro && i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    PyObject* base = PyTuple_GET_ITEM(type->tp_mro, i);
    PyObject* members = reinterpret_cast<PyTypeObject*>(base)->tp_dict;
    PyObject* member = members ? PyDict_GetItem(members, code->co_name) : nullptr;
    if (member && !PyFunction_Check(member)) member = nullptr;
    if (member && PyFunction_GetCode(member) == reinterpret_cast<PyObject*>(code)) {
      PyObject* of_class = PyObject_GetAttrString(base, "__qualname__");
      found = text_of(of_class) + "." + name;
      Py_XDECREF(of_class);
      break;
    }
  }
  PyErr_Clear();
  Py_XDECREF(locals);
  return found;
}
#endif

// What a function is called as a region: as the configuration's entry has it. "": left out.
std::string selected_name(PyFrameObject* frame, PyCodeObject* code) {
  const std::string file = text_of(code->co_filename);
  PyObject* globals = globals_of(frame);
  const std::string module = module_of(globals, file);
  Py_DECREF(globals);
  if (module.rfind("perfield.", 0) == 0) return "";
  const std::string qualified = qualified_name(frame, code);
  const std::string forms[] = {text_of(code->co_name), qualified, module + ":" + qualified};
  for (const std::string& form : forms)
    if (form == *step_region) return form;
  for (const std::string& glob : *globs)
    for (const std::string& form : forms)
      if (fnmatch(glob.c_str(), form.c_str(), 0) == 0) return form;
  return "";
}

uintptr_t look_at(PyFrameObject* frame, PyCodeObject* code) noexcept {
  uintptr_t answer = kLeftOut;
  try {
    const std::string name = selected_name(frame, code);
    if (!name.empty())
      answer += perfield_region_define(name.c_str(), text_of(code->co_filename).c_str(),
                                       code->co_firstlineno);
  } catch (...) {  // no memory: left out
  }
  SET_EXTRA(reinterpret_cast<PyObject*>(code), extra_index, reinterpret_cast<void*>(answer));
  return answer;
}

uintptr_t answer_for(PyObject* code) noexcept {
  void* extra = nullptr;
  GET_EXTRA(code, extra_index, &extra);
  return reinterpret_cast<uintptr_t>(extra);
}

#if PY_VERSION_HEX >= 0x030C0000

PyObject *monitoring = nullptr, *disable = nullptr;
int tool = -1;
long start = 0, everywhere = 0, in_selected = 0;  // sets of events

// The first selected function was found: exceptions, too, are events from now on, and in its own
// code all ways in and out.
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
  enter(perfield_region(answer - kLeftOut), -1);
  Py_RETURN_NONE;
}

PyObject* function_goes_on(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  const uintptr_t answer = answer_for(arguments[0]);
  if (answer > kLeftOut) enter(perfield_region(answer - kLeftOut), -1);
  Py_RETURN_NONE;
}

PyObject* function_ends(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  const uintptr_t answer = answer_for(arguments[0]);
  if (answer > kLeftOut) leave(perfield_region(answer - kLeftOut));
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
  for (int number : {3, 4, 2}) {  // first those that no kind of tool is meant to take
    PyObject* taken = PyObject_CallMethod(monitoring, "use_tool_id", "is", number, "perfield");
    if (taken) {
      Py_DECREF(taken);
      tool = number;
      return true;
    }
    PyErr_Clear();
  }
  if (perfield_source_tell)
    perfield_source_tell("functions",
                         "other tools use all of sys.monitoring, so the Python functions named in "
                         "`regions` are not measured");
  return false;
}

bool follow_calls() {
  monitoring = PySys_GetObject("monitoring");  // borrowed, there as long as we are
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

#else

int follow_event(PyObject*, PyFrameObject* frame, int what, PyObject*) noexcept {
  if (what != PyTrace_CALL && what != PyTrace_RETURN) return 0;
  PyCodeObject* code = PyFrame_GetCode(frame);
  uintptr_t answer = answer_for(reinterpret_cast<PyObject*>(code));
  if (!answer && what == PyTrace_CALL) answer = look_at(frame, code);
  Py_DECREF(code);
  if (answer <= kLeftOut) return 0;
  if (what == PyTrace_CALL)
    enter(perfield_region(answer - kLeftOut), -1);
  else
    leave(perfield_region(answer - kLeftOut));
  return 0;
}

// The profile function of threading for new threads: puts the one above in its own place.
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

#endif

PyObject* follow_functions(PyObject*, PyObject*) {
  if (globs) Py_RETURN_TRUE;
  try {
    const ConfigResult found = load_config();
    auto wanted = found.config.regions;
    for (size_t i = wanted.size(); i-- > 0;)
      if (wanted[i] == "*") wanted.erase(wanted.begin() + long(i));
    // What is wrong is told when measuring starts.
    if (!found.errors.empty() || !found.config.enabled ||
        (wanted.empty() && found.config.step_region.empty()))
      Py_RETURN_FALSE;
    globs = new std::vector<std::string>(wanted);
    step_region = new std::string(found.config.step_region);
  } catch (...) {
    return PyErr_NoMemory();
  }
  extra_index = REQUEST_EXTRA(nullptr);
  if (extra_index < 0) Py_RETURN_FALSE;
  if (!follow_calls()) return nullptr;
  Py_RETURN_TRUE;
}

PyMethodDef functions[] = {
    {"follow_functions", follow_functions, METH_NOARGS,
     "follow_functions($module, /)\n--\n\n"
     "Measures the Python functions that the configuration's `regions` and `step_region` name.\n\n"
     "Returns whether any is looked for. Called once, before the program's own code."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace perfield::python
