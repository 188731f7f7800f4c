// SPDX-License-Identifier: BSD-3-Clause
//
// recorder_mesh.cpp - mesh and fields from any object with Python's buffer protocol (NumPy arrays
// of any layout), without a copy. Axis 0 of an array is i, whatever its memory order. Fields keep
// their views, because perfield reads them whenever a step closes.
#include <cstring>

#include "recorder_module.hpp"

namespace perfield::python {
namespace {

PyObject* fields = nullptr;  // dict: (block, name) -> memoryview

int32_t type_of(const Py_buffer& buffer) {
  const char* format = buffer.format ? buffer.format : "B";
  if (strchr("@=<", format[0])) ++format;
  if (!format[0] || format[1]) return 0;
  if (strchr("ilq", format[0]))
    return buffer.itemsize == 8 ? PERFIELD_INT64 : buffer.itemsize == 4 ? PERFIELD_INT32 : 0;
  switch (format[0]) {
    case 'b':
      return PERFIELD_INT8;
    case 'B':
    case '?':
      return PERFIELD_UINT8;
    case 'f':
      return PERFIELD_FLOAT32;
    case 'd':
      return PERFIELD_FLOAT64;
    default:
      return 0;
  }
}

// A Python array as perfield sees it; `view` keeps it in place.
struct Array {
  PyObject* view = nullptr;
  perfield_array seen{};

  ~Array() { Py_XDECREF(view); }

  // with_components: the last axis runs over the components. False with a TypeError set.
  bool look(PyObject* object, const char* what, bool with_components) {
    view = PyMemoryView_FromObject(object);
    if (!view) return false;
    const Py_buffer& buffer = *PyMemoryView_GET_BUFFER(view);
    const int axes = buffer.ndim - int(with_components);
    seen.type = type_of(buffer);
    if (!seen.type || buffer.suboffsets || axes < 0 || axes > 3) {
      PyErr_Format(PyExc_TypeError,
                   "%s: an array of %d axes and type '%s' (%zd bytes); expected one to three axes "
                   "(and one for components) of float32, float64, int8, uint8, bool, int32 or "
                   "int64 in this machine's byte order",
                   what, buffer.ndim, buffer.format ? buffer.format : "B", buffer.itemsize);
      return false;
    }
    for (int axis = 0; axis < buffer.ndim; ++axis) {
      if (buffer.shape[axis] <= 1 || buffer.strides[axis] % buffer.itemsize == 0) continue;
      PyErr_Format(PyExc_TypeError,
                   "%s: numbers of %zd bytes lie %zd bytes apart; expected a multiple of their "
                   "size, so pass a copy",
                   what, buffer.itemsize, buffer.strides[axis]);
      return false;
    }
    const auto stride = [&](int axis) { return int64_t(buffer.strides[axis] / buffer.itemsize); };
    seen.data = buffer.buf;
    seen.components = with_components ? int32_t(buffer.shape[axes]) : 1;
    seen.component_stride = with_components ? stride(axes) : 1;
    for (int axis = 0; axis < 3; ++axis) {
      seen.size[axis] = axis < axes ? buffer.shape[axis] : 1;
      seen.stride[axis] = axis < axes ? stride(axis) : 0;
    }
    return true;
  }
};

// Describes without the interpreter's lock, because perfield may be busy closing a step.
template <typename F>
PyObject* described(F description) {
  Py_BEGIN_ALLOW_THREADS;
  description();
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

#define EXTENT_FORMAT "(LLLLLL)"
#define EXTENT_INTO(e) &e[0], &e[1], &e[2], &e[3], &e[4], &e[5]

struct Extent {
  long long read[6];
  int64_t numbers[6];
  const int64_t* get() {
    for (int i = 0; i < 6; ++i) numbers[i] = read[i];
    return numbers;
  }
};

PyObject* mesh_image(PyObject*, PyObject* arguments) {
  int block;
  Extent extent;
  double origin[3], spacing[3];
  if (!PyArg_ParseTuple(arguments, "i" EXTENT_FORMAT "(ddd)(ddd)", &block, EXTENT_INTO(extent.read),
                        &origin[0], &origin[1], &origin[2], &spacing[0], &spacing[1], &spacing[2]))
    return nullptr;
  return described([&] { perfield_mesh_image(block, extent.get(), origin, spacing); });
}

PyObject* mesh_rectilinear(PyObject*, PyObject* arguments) {
  int block;
  Extent extent;
  PyObject* axes[3];
  if (!PyArg_ParseTuple(arguments, "i" EXTENT_FORMAT "OOO", &block, EXTENT_INTO(extent.read),
                        &axes[0], &axes[1], &axes[2]))
    return nullptr;
  Array x, y, z;
  if (!x.look(axes[0], "x", false) || !y.look(axes[1], "y", false) || !z.look(axes[2], "z", false))
    return nullptr;
  return described([&] { perfield_mesh_rectilinear(block, extent.get(), x.seen, y.seen, z.seen); });
}

PyObject* mesh_structured(PyObject*, PyObject* arguments) {
  int block;
  Extent extent;
  PyObject* object;
  if (!PyArg_ParseTuple(arguments, "i" EXTENT_FORMAT "O", &block, EXTENT_INTO(extent.read),
                        &object))
    return nullptr;
  Array points;
  if (!points.look(object, "points", true)) return nullptr;
  return described([&] { perfield_mesh_structured(block, extent.get(), points.seen); });
}

PyObject* mesh_unstructured(PyObject*, PyObject* arguments) {
  int block, first_number;
  PyObject* objects[4];
  if (!PyArg_ParseTuple(arguments, "iOOOOi", &block, &objects[0], &objects[1], &objects[2],
                        &objects[3], &first_number))
    return nullptr;
  Array points, connectivity, offsets, types;
  if (!points.look(objects[0], "points", true) ||
      !connectivity.look(objects[1], "connectivity", false) ||
      !offsets.look(objects[2], "offsets", false) || !types.look(objects[3], "types", false))
    return nullptr;
  return described([&] {
    perfield_mesh_unstructured(block, points.seen, connectivity.seen, offsets.seen, types.seen,
                               first_number);
  });
}

PyObject* mesh_ghosts(PyObject*, PyObject* arguments) {
  int block, association;
  PyObject* object;
  if (!PyArg_ParseTuple(arguments, "iiO", &block, &association, &object)) return nullptr;
  Array marks;
  if (!marks.look(object, "ghosts", false)) return nullptr;
  return described([&] { perfield_mesh_ghosts(block, association, marks.seen); });
}

PyObject* mesh_size(PyObject*, PyObject* arguments) {
  unsigned long long grid;
  long long cells, points, ghost_cells;
  if (!PyArg_ParseTuple(arguments, "KLLL:mesh_size", &grid, &cells, &points, &ghost_cells))
    return nullptr;
  return described([&] {
    perfield_mesh_size(reinterpret_cast<const void*>(static_cast<uintptr_t>(grid)), cells, points,
                       ghost_cells);
  });
}

PyObject* mesh_changed(PyObject*, PyObject*) {
  Py_BEGIN_ALLOW_THREADS;
  perfield_mesh_changed();
  Py_END_ALLOW_THREADS;
  forget_fields();
  Py_RETURN_NONE;
}

PyObject* field(PyObject*, PyObject* arguments) {
  int block, association, with_components;
  const char* name;
  PyObject* object;
  if (!PyArg_ParseTuple(arguments, "isiOp", &block, &name, &association, &object, &with_components))
    return nullptr;
  Array values;
  if (!values.look(object, name, with_components)) return nullptr;
  PyObject* key = Py_BuildValue("(is)", block, name);
  if (!key) return nullptr;
  Py_BEGIN_ALLOW_THREADS;
  perfield_field(block, name, association, values.seen);
  Py_END_ALLOW_THREADS;
  // Only now has perfield forgotten the earlier array.
  const int failed = PyDict_SetItem(fields, key, values.view);
  Py_DECREF(key);
  if (failed) values.view = nullptr;  // never release what perfield reads
  if (failed) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"mesh_image", mesh_image, METH_VARARGS,
     "mesh_image($module, block, extent, origin, spacing, /)\n--\n\n"
     "See perfield.measure.mesh_image. extent: 6 numbers; origin, spacing: 3."},
    {"mesh_rectilinear", mesh_rectilinear, METH_VARARGS,
     "mesh_rectilinear($module, block, extent, x, y, z, /)\n--\n\n"
     "See perfield.measure.mesh_rectilinear."},
    {"mesh_structured", mesh_structured, METH_VARARGS,
     "mesh_structured($module, block, extent, points, /)\n--\n\n"
     "See perfield.measure.mesh_structured. The last axis of points is x, y, z."},
    {"mesh_unstructured", mesh_unstructured, METH_VARARGS,
     "mesh_unstructured($module, block, points, connectivity, offsets, types, first_number, /)\n"
     "--\n\nSee perfield.measure.mesh_unstructured."},
    {"mesh_ghosts", mesh_ghosts, METH_VARARGS,
     "mesh_ghosts($module, block, association, ghosts, /)\n--\n\nSee "
     "perfield.measure.mesh_ghosts."},
    {"mesh_size", mesh_size, METH_VARARGS,
     "mesh_size($module, grid, cells, points, ghost_cells, /)\n--\n\nSee "
     "perfield.measure.mesh_size."},
    {"mesh_changed", mesh_changed, METH_NOARGS,
     "mesh_changed($module, /)\n--\n\n"
     "Forgets all blocks and fields, because a new mesh follows."},
    {"field", field, METH_VARARGS,
     "field($module, block, name, association, values, with_components, /)\n--\n\n"
     "See perfield.measure.field. with_components: the last axis of values runs over the "
     "components."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void forget_fields() {
  if (fields) PyDict_Clear(fields);
}

bool add_mesh(PyObject* module) {
  fields = PyDict_New();
  return fields && PyModule_AddIntConstant(module, "POINTS", PERFIELD_POINTS) == 0 &&
         PyModule_AddIntConstant(module, "CELLS", PERFIELD_CELLS) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace perfield::python
