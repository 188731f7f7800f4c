// SPDX-License-Identifier: BSD-3-Clause
//
// catalyst.cpp - hands steps from the measured program to the Python package perfield.catalyst. It
// calls Python and knows nothing about ParaView. Every failure becomes one sentence on stderr, and
// the program runs on.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
// Python.h comes first

#include <string>

#include "catalyst/catalyst.h"
#include "catalyst/interpreter.hpp"
#include "catalyst/program_state.hpp"
#include "recorder/source.h"

namespace {

using perfield::catalyst::ProgramState;
using perfield::catalyst::python_runs;

PyObject* adaptor = nullptr;  // the module perfield.catalyst, once started

// Holds Python's lock while it lives.
class Lock {
 public:
  Lock() noexcept : state_(PyGILState_Ensure()) {}
  ~Lock() { PyGILState_Release(state_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  PyGILState_STATE state_;
};

void warn(const std::string& sentence) noexcept {
  perfield_warn_once_per_node("catalyst", sentence.c_str());
}

// The text of Python's current error; clears the error.
std::string error_words() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* text = value ? PyObject_Str(value) : nullptr;
  const char* words = text ? PyUnicode_AsUTF8(text) : nullptr;
  std::string found = words ? words : "an error without a message";
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  PyErr_Clear();
  return found;
}

// Whether a call into the adaptor returned True. Warns about errors.
bool succeeded(PyObject* result) {
  const bool good = result && PyObject_IsTrue(result) == 1;
  if (!result) warn("pictures inside the program have ended: " + error_words());
  Py_XDECREF(result);
  return good;
}

// --- what Python calls --------------------------------------------------------------------------
PyObject* python_warn(PyObject*, PyObject* arguments) {
  const char *topic, *sentence;
  if (!PyArg_ParseTuple(arguments, "ss", &topic, &sentence)) return nullptr;
  perfield_warn_once_per_node(topic, sentence);
  Py_RETURN_NONE;
}

PyObject* python_finish(PyObject*, PyObject*) {
  perfield_own_begin();
  perfield_catalyst_finish();
  perfield_own_end();
  Py_RETURN_NONE;
}

PyMethodDef callbacks[] = {
    {"warn", python_warn, METH_VARARGS, "Prints a sentence on stderr, once per node and topic."},
    {"finish", python_finish, METH_NOARGS, "Ends the pictures; for atexit."},
};

// --- a step as Python objects; a null result leaves Python's error set --------------------------
PyObject* list_of(const perfield_catalyst_body* bodies, size_t n) {
  PyObject* list = PyList_New(0);
  for (size_t i = 0; list && i < n; ++i) {
    PyObject* bytes = PyBytes_FromStringAndSize(static_cast<const char*>(bodies[i].data),
                                                static_cast<Py_ssize_t>(bodies[i].size));
    if (!bytes || PyList_Append(list, bytes) != 0) Py_CLEAR(list);
    Py_XDECREF(bytes);
  }
  return list;
}

// (index, body)
PyObject* list_of(const perfield_catalyst_entry* entries, size_t n) {
  PyObject* list = PyList_New(0);
  for (size_t i = 0; list && i < n; ++i) {
    const perfield_catalyst_entry& entry = entries[i];
    PyObject* row = Py_BuildValue("(Ky#)", static_cast<unsigned long long>(entry.index),
                                  static_cast<const char*>(entry.body.data),
                                  static_cast<Py_ssize_t>(entry.body.size));
    if (!row || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

// (block, name, association, address, type, components, component stride, sizes, strides)
PyObject* field_row(const perfield_catalyst_field& field) {
  const perfield_array& a = field.values;
  const auto number = [](int64_t n) { return static_cast<long long>(n); };
  return Py_BuildValue("(isiKiiL(LLL)(LLL))", field.block, field.name, field.association,
                       static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(a.data)), a.type,
                       a.components, number(a.component_stride), number(a.size[0]),
                       number(a.size[1]), number(a.size[2]), number(a.stride[0]),
                       number(a.stride[1]), number(a.stride[2]));
}

PyObject* list_of(const perfield_catalyst_field* fields, size_t n) {
  PyObject* list = PyList_New(0);
  for (size_t i = 0; list && i < n; ++i) {
    PyObject* row = field_row(fields[i]);
    if (!row || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

// perfield.catalyst.start(settings, warn, finish). finish is None unless the program itself is
// Python.
bool start_adaptor(const char* settings, bool started_here) {
  PyObject* module = PyImport_ImportModule("perfield.catalyst");
  if (!module) {
    warn("no pictures inside the program: Python does not find perfield.catalyst (" +
         error_words() +
         "); install perfield for that Python, or set catalyst_python to another Python");
    return false;
  }
  PyObject* warn_function = PyCFunction_New(&callbacks[0], nullptr);
  PyObject* finish = started_here ? Py_BuildValue("") : PyCFunction_New(&callbacks[1], nullptr);
  const bool good =
      warn_function && finish &&
      succeeded(PyObject_CallMethod(module, "start", "sOO", settings, warn_function, finish));
  Py_XDECREF(warn_function);
  Py_XDECREF(finish);
  if (good)
    adaptor = module;
  else
    Py_DECREF(module);
  return good;
}

}  // namespace

int perfield_catalyst_start(const char* python, const char* settings) noexcept try {
  ProgramState kept;
  bool started_here = false;
  const std::string wrong = perfield::catalyst::start_python(python, &started_here);
  if (!wrong.empty()) {
    warn("no pictures inside the program: " + wrong);
    return 0;
  }
  Lock lock;
  return start_adaptor(settings, started_here);
} catch (...) {
  return 0;
}

int perfield_catalyst_show(const perfield_catalyst_step* step) noexcept try {
  if (!adaptor || !python_runs()) return 0;
  ProgramState kept;
  Lock lock;
  PyObject* arguments = Py_BuildValue(
      "(iKLdINNNN)", step->measuring, static_cast<unsigned long long>(step->index),
      static_cast<long long>(step->label), step->time, static_cast<unsigned>(step->mesh_version),
      list_of(step->entries, step->n_entries), list_of(step->definitions, step->n_definitions),
      list_of(step->blocks, step->n_blocks), list_of(step->fields, step->n_fields));
  PyObject* show = arguments ? PyObject_GetAttrString(adaptor, "show") : nullptr;
  const bool good = succeeded(show ? PyObject_CallObject(show, arguments) : nullptr);
  Py_XDECREF(show);
  Py_XDECREF(arguments);
  if (!good) Py_CLEAR(adaptor);
  return good;
} catch (...) {
  return 0;
}

void perfield_catalyst_finish() noexcept try {
  if (!adaptor || !python_runs()) return;
  ProgramState kept;
  Lock lock;
  PyObject* module = adaptor;
  adaptor = nullptr;  // finish only once
  succeeded(PyObject_CallMethod(module, "finish", nullptr));
  Py_DECREF(module);
} catch (...) {
}
