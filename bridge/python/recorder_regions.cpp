// SPDX-License-Identifier: BSD-3-Clause
//
// recorder_regions.cpp - the type perfield._recorder.Region: `with region:` costs two reads of the
// clock and two calls of CPython. Each name and block has one object in a dictionary, so
// `with perfield.region("solve"):` in a loop makes no new ones.
#include "recorder_module.hpp"

namespace perfield::python {

thread_local int32_t open_regions __attribute__((tls_model("initial-exec"))) = 0;

namespace {

struct Region {
  PyObject_HEAD PyObject* name;
  PyObject* blocks;  // dict: block -> Region; null in a block's own Region
  perfield_region handle;
  int block;
};

PyTypeObject* region_type = nullptr;
PyObject* known = nullptr;  // dict: name -> Region without a block

Region* as_region(PyObject* object) { return reinterpret_cast<Region*>(object); }

PyObject* enter_region(PyObject* self, PyObject*) {
  enter(as_region(self)->handle, as_region(self)->block);
  Py_INCREF(self);
  return self;
}

PyObject* leave_region(PyObject* self, PyObject* const*, Py_ssize_t) {
  leave(as_region(self)->handle);
  Py_RETURN_NONE;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(as_region(self)->name);
  Py_XDECREF(as_region(self)->blocks);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* describe(PyObject* self) {
  const Region* region = as_region(self);
  return region->block < 0 ? PyUnicode_FromFormat("Region(%R)", region->name)
                           : PyUnicode_FromFormat("Region(%R, %d)", region->name, region->block);
}

PyObject* name_of(PyObject* self, void*) {
  Py_INCREF(as_region(self)->name);
  return as_region(self)->name;
}

PyObject* block_of(PyObject* self, void*) {
  if (as_region(self)->block < 0) Py_RETURN_NONE;
  return PyLong_FromLong(as_region(self)->block);
}

PyObject* make(PyObject* name, perfield_region handle, int block) {
  PyObject* made = region_type->tp_alloc(region_type, 0);
  if (!made) return nullptr;
  Py_INCREF(name);
  as_region(made)->name = name;
  as_region(made)->handle = handle;
  as_region(made)->block = block;
  return made;
}

// The Region of a name, made when first named; a borrowed reference. file null: use the file of the
// calling Python code.
PyObject* region_named(PyObject* name, const char* file, int line) {
  PyObject* found = PyDict_GetItemWithError(known, name);
  if (found || PyErr_Occurred()) return found;
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  PyFrameObject* frame = file ? nullptr : PyEval_GetFrame();  // borrowed
  PyCodeObject* code = frame ? PyFrame_GetCode(frame) : nullptr;
  if (code) {
    file = PyUnicode_AsUTF8(code->co_filename);
    line = PyFrame_GetLineNumber(frame);
    if (!file) PyErr_Clear();
  }
  PyObject* made = make(name, perfield_region_define(text, file, line), -1);
  Py_XDECREF(code);
  if (!made) return nullptr;
  const int failed = PyDict_SetItem(known, name, made);
  Py_DECREF(made);  // the dictionary holds it
  return failed ? nullptr : made;
}

PyObject* share_of_block(PyObject* region, PyObject* block) {
  Region* whole = as_region(region);
  if (!whole->blocks && !(whole->blocks = PyDict_New())) return nullptr;
  PyObject* found = PyDict_GetItemWithError(whole->blocks, block);
  if (found || PyErr_Occurred()) return found;
  const long number = PyLong_AsLong(block);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  if (number < 0 || number > INT32_MAX) {
    PyErr_Format(PyExc_ValueError, "block is %ld; blocks count from 0", number);
    return nullptr;
  }
  PyObject* made = make(whole->name, whole->handle, int(number));
  if (!made) return nullptr;
  const int failed = PyDict_SetItem(whole->blocks, block, made);
  Py_DECREF(made);
  return failed ? nullptr : made;
}

// Python code decides how a region decorates a function.
PyObject* decorate(PyObject* region, PyObject* function) {
  PyObject* module = PyImport_ImportModule("perfield.measure.decorator");
  if (!module) return nullptr;
  PyObject* made = PyObject_CallMethod(module, "measured", "OO", region, function);
  Py_DECREF(module);
  return made;
}

PyObject* call_region(PyObject* self, PyObject* arguments, PyObject* keywords) {
  PyObject* function = nullptr;
  if (keywords && PyDict_GET_SIZE(keywords) > 0) {
    PyErr_SetString(PyExc_TypeError, "a region decorates a function; it takes no keywords");
    return nullptr;
  }
  if (!PyArg_ParseTuple(arguments, "O", &function)) return nullptr;
  return decorate(self, function);
}

// region(name, block=None) or @region
PyObject* region(PyObject*, PyObject* const* arguments, Py_ssize_t n, PyObject* keywords) {
  PyObject* block = n > 1 ? arguments[1] : Py_None;
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  if (named == 1 && n == 1 &&
      PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "block") == 0)
    block = arguments[1];
  else if (named || n < 1 || n > 2)
    return PyErr_Format(PyExc_TypeError, "region() takes a name (or a function) and block=");
  if (!PyUnicode_Check(arguments[0])) {
    if (PyCallable_Check(arguments[0])) return decorate(Py_None, arguments[0]);
    return PyErr_Format(PyExc_TypeError, "a region's name is a str, not %.100s",
                        Py_TYPE(arguments[0])->tp_name);
  }
  PyObject* found = region_named(arguments[0], nullptr, 0);
  if (found && block != Py_None) found = share_of_block(found, block);
  Py_XINCREF(found);
  return found;
}

// region_at(name, file, line)
PyObject* region_at(PyObject*, PyObject* arguments) {
  PyObject* name = nullptr;
  const char* file = nullptr;
  int line = 0;
  if (!PyArg_ParseTuple(arguments, "Usi", &name, &file, &line)) return nullptr;
  PyObject* found = region_named(name, file, line);
  Py_XINCREF(found);
  return found;
}

PyMethodDef region_methods[] = {
    {"__enter__", enter_region, METH_NOARGS, "Enters the region on this thread."},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(leave_region)),
     METH_FASTCALL, "Leaves the region, also if an exception ends the block."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef region_attributes[] = {
    {"name", name_of, nullptr, "The region's name.", nullptr},
    {"block", block_of, nullptr, "The block of the mesh that gets its time, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot region_slots[] = {
    {Py_tp_doc, const_cast<char*>("A named piece of code that is measured. Made by region().")},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_call, reinterpret_cast<void*>(call_region)},
    {Py_tp_repr, reinterpret_cast<void*>(describe)},
    {Py_tp_methods, region_methods},
    {Py_tp_getset, region_attributes},
    {0, nullptr}};

PyType_Spec region_spec = {"perfield._recorder.Region", sizeof(Region), 0, Py_TPFLAGS_DEFAULT,
                           region_slots};

PyMethodDef functions[] = {
    {"region", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(region)),
     METH_FASTCALL | METH_KEYWORDS,
     "region($module, name, /, block=None)\n--\n\n"
     "A region, for `with` or as a decorator.\n\n"
     "    with perfield.region(\"solve\"):      # or  @perfield.region(\"solve\")\n"
     "        ...                             # or  @perfield.region: called like the function\n\n"
     "The same name and block give the same object; regions nest and recurse. Keeping it "
     "saves the\n"
     "look-up.\n"
     "name : the region's name in the measurement.\n"
     "block : the block of this rank's mesh, from 0, that gets its time; None: the whole piece.\n"
     "Raises TypeError if name is neither a str nor a function, ValueError if block is "
     "less\n"
     "than 0."},
    {"region_at", region_at, METH_VARARGS,
     "region_at($module, name, file, line, /)\n--\n\n"
     "The region of that name. A new one gets this file and line."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_regions(PyObject* module) {
  known = PyDict_New();
  region_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&region_spec));
  if (!known || !region_type) return false;
  Py_INCREF(region_type);
  return PyModule_AddObject(module, "Region", reinterpret_cast<PyObject*>(region_type)) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace perfield::python
