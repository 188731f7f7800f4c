// SPDX-License-Identifier: BSD-3-Clause
//
// recorder_functions.cpp - makes regions of the Python functions that the configuration names. It
// checks a function when it first runs, and keeps the answer with the function's code.
#include "recorder_functions.hpp"

#include <frameobject.h>  // a frame's globals, before Python 3.11

#include <string>

#include "configuration/config.hpp"
#include "configuration/selection.hpp"

namespace perfield::python {
namespace {

#if PY_VERSION_HEX >= 0x030C0000
#define GET_EXTRA PyUnstable_Code_GetExtra
#define SET_EXTRA PyUnstable_Code_SetExtra
#define REQUEST_EXTRA PyUnstable_Eval_RequestCodeExtraIndex
#else
#define GET_EXTRA _PyCode_GetExtra
#define SET_EXTRA _PyCode_SetExtra
#define REQUEST_EXTRA _PyEval_RequestCodeExtraIndex
#endif

Py_ssize_t extra_index = -1;

const Selection* selection = nullptr;  // never freed, because threads may outlive us

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

// The module that a function's globals belong to. For the program itself: its name for `python -m`,
// or the file name without .py.
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
// Before 3.11 code does not know its class: search the first argument's class and its bases.
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

// A function's name as a region, spelled as in the configuration; "" if it is not chosen.
std::string selected_name(PyFrameObject* frame, PyCodeObject* code) {
  const std::string file = text_of(code->co_filename);
  PyObject* globals = globals_of(frame);
  const std::string module = module_of(globals, file);
  Py_DECREF(globals);
  if (module.rfind("perfield.", 0) == 0) return "";
  const std::string qualified = qualified_name(frame, code);
  const std::string name = text_of(code->co_name);
  const std::string chosen = selection->region_of({name, qualified, module + ":" + qualified});
  if (chosen.empty() && perfield_source_function_passed)
    for (const std::string& passed : {name, qualified})
      perfield_source_function_passed(passed.c_str());
  return chosen;
}

}  // namespace

uintptr_t look_at(PyFrameObject* frame, PyCodeObject* code) noexcept {
  PyObject *type, *value, *traceback;  // throw() may enter a generator with an error set
  PyErr_Fetch(&type, &value, &traceback);
  uintptr_t answer = kLeftOut;
  try {
    const std::string name = selected_name(frame, code);
    if (!name.empty())
      answer += perfield_region_define(name.c_str(), text_of(code->co_filename).c_str(),
                                       code->co_firstlineno);
  } catch (...) {  // no memory: not measured
  }
  SET_EXTRA(reinterpret_cast<PyObject*>(code), extra_index, reinterpret_cast<void*>(answer));
  PyErr_Restore(type, value, traceback);
  return answer;
}

uintptr_t answer_for(PyObject* code) noexcept {
  void* extra = nullptr;
  GET_EXTRA(code, extra_index, &extra);
  return reinterpret_cast<uintptr_t>(extra);
}

namespace {

PyObject* follow_functions(PyObject*, PyObject*) {
  if (selection) Py_RETURN_TRUE;
  try {
    const ConfigResult found = load_config();
    const Selection wanted(found.config.regions, found.config.step_region);
    // The user is warned of errors when measuring starts.
    if (!found.errors.empty() || !found.config.enabled || !wanted.any_function()) Py_RETURN_FALSE;
    selection = new Selection(wanted);
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
     "Returns whether it looks for any. Call it once, before the program's own code."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace perfield::python
