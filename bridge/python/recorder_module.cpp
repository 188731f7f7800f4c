// SPDX-License-Identifier: BSD-3-Clause
//
// recorder_module.cpp - the module perfield._recorder: the functions of perfield.h for a measured
// Python program. Calls that may wait for a file release the interpreter's lock.
#include "recorder_module.hpp"

#include <algorithm>
#include <cmath>

namespace perfield::python {
namespace {

// Calls one of perfield's procedures without the interpreter's lock.
template <void (*procedure)()>
PyObject* call(PyObject*, PyObject*) {
  Py_BEGIN_ALLOW_THREADS;
  procedure();
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

void initialize() { perfield_initialize(); }
void pause() { perfield_pause(); }
void resume() { perfield_resume(); }

// step(label, time=nan)
PyObject* step(PyObject*, PyObject* const* arguments, Py_ssize_t n, PyObject* keywords) {
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  const bool by_name = named == 1 && n == 1 &&
                       PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "time") == 0;
  if (n < 1 || n + named > 2 || (named && !by_name))
    return PyErr_Format(PyExc_TypeError, "step() takes the step's number and time=");
  PyObject* whole = PyNumber_Index(arguments[0]);
  if (!whole) return nullptr;
  int overflow = 0;
  const long long label = PyLong_AsLongLongAndOverflow(whole, &overflow);
  Py_DECREF(whole);
  double time = NAN;
  if (n + named == 2) {
    time = PyFloat_AsDouble(arguments[1]);
    if (time == -1 && PyErr_Occurred()) return nullptr;
  }
  const int64_t number = overflow ? (overflow > 0 ? INT64_MAX : INT64_MIN) : label;
  Py_BEGIN_ALLOW_THREADS;
  perfield_step(number, time);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

PyObject* finalize(PyObject*, PyObject*) {
  Py_BEGIN_ALLOW_THREADS;
  perfield_finalize();
  Py_END_ALLOW_THREADS;
  forget_fields();
  Py_RETURN_NONE;
}

PyObject* measuring(PyObject*, PyObject*) { return PyBool_FromLong(perfield_measuring()); }

// The calling line of the source as one number, equal in all ranks.
uintptr_t calling_place() {
  PyFrameObject* frame = PyEval_GetFrame();
  PyCodeObject* code = frame ? PyFrame_GetCode(frame) : nullptr;
  const char* file = code ? PyUnicode_AsUTF8(code->co_filename) : nullptr;
  if (!file) PyErr_Clear();
  uint64_t hash = 1469598103934665603u;  // FNV-1a
  for (; file && *file; ++file) hash = (hash ^ uint8_t(*file)) * 1099511628211u;
  if (frame) hash = (hash ^ uint64_t(PyFrame_GetLineNumber(frame))) * 1099511628211u;
  Py_XDECREF(code);
  return uintptr_t(hash >> 16) | 1;  // as small as an address, and never 0
}

PyObject* pipeline_next(PyObject*, PyObject*) {
  if (!perfield_source_is_started || !perfield_source_is_started()) Py_RETURN_NONE;
  perfield_pipeline_next_at(calling_place());
  Py_RETURN_NONE;
}

PyObject* values(PyObject*, PyObject*) {
  PyObject* all = PyDict_New();
  const int room = perfield_values(0, nullptr);
  auto* rows = static_cast<perfield_value*>(PyMem_Calloc(size_t(room), sizeof(perfield_value)));
  const int n = rows ? std::min(room, perfield_values(room, rows)) : 0;
  for (int i = 0; all && i < n; ++i) {
    PyObject* value = PyFloat_FromDouble(rows[i].value);
    if (!value || PyDict_SetItemString(all, rows[i].name, value) != 0) Py_CLEAR(all);
    Py_XDECREF(value);
  }
  PyMem_Free(rows);
  return all;
}

PyMethodDef functions[] = {
    {"initialize", call<initialize>, METH_NOARGS,
     "initialize($module, /)\n--\n\n"
     "Call it where the time loop starts: everything before is setup and belongs to no step.\n\n"
     "In a program started without perfield-exec this also starts measuring; call it after MPI "
     "has\n"
     "been initialised (`from mpi4py import MPI`)."},
    {"finalize", finalize, METH_NOARGS,
     "finalize($module, /)\n--\n\n"
     "Ends the measurement. Optional: the end of MPI or of the program does the same."},
    {"step", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(step)),
     METH_FASTCALL | METH_KEYWORDS,
     "step($module, label, /, time=nan)\n--\n\n"
     "Closes a time step: it contains everything measured since the previous call.\n\n"
     "label : the program's own number of the step; it may repeat or fall.\n"
     "time : the program's time, in its own unit; nan if unknown.\n"
     "Not collective. Raises TypeError if label is not an integer or time is not a number."},
    {"measuring", measuring, METH_NOARGS,
     "measuring($module, /)\n--\n\nWhether perfield measures in this process now."},
    {"pause", call<pause>, METH_NOARGS,
     "pause($module, /)\n--\n\n"
     "From here to resume(), perfield counts nothing and its clock stops. They nest."},
    {"resume", call<resume>, METH_NOARGS, "resume($module, /)\n--\n\nEnds what pause() began."},
    {"pipeline_next", pipeline_next, METH_NOARGS,
     "pipeline_next($module, /)\n--\n\n"
     "Arms the next region that this thread enters: entries from elsewhere are not "
     "measured.\n\n"
     "Call it before each call that you want to see; its line distinguishes armed regions."},
    {"values", values, METH_NOARGS,
     "values($module, /)\n--\n\n"
     "What this rank measured in the open step, under the field names of the frame.\n\n"
     "If nothing was counted since perfield.step, the values of the step that it closed. Empty "
     "where\n"
     "perfield does not measure. Each name carries its unit: {\"solve_time_s\": 0.012, ...}."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_recorder",
                          "The part of perfield that measures the Python program it runs in.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace perfield::python

PyMODINIT_FUNC PyInit__recorder() {
  using namespace perfield::python;
  PyObject* module = PyModule_Create(&definition);
  if (perfield_source_present) perfield_source_present("python");
  if (module && add_regions(module) && add_mesh(module) && add_functions(module)) return module;
  Py_XDECREF(module);
  return nullptr;
}
