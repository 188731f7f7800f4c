// SPDX-License-Identifier: BSD-3-Clause
//
// vtk.hpp - the part of VTK that perfield needs to add arrays to the program's grids, found in the
// program by its mangled names. Nothing here is linked or compiled with VTK, so one binary serves
// its versions 7 to 9.5.
#pragma once

#include <cstdint>

namespace perfield::adaptors {

struct VtkDataObject;  // vtkDataObject
struct VtkDataSet;     // vtkDataSet
struct VtkFieldData;   // vtkFieldData: the arrays of the points, of the cells, or of the whole grid
struct VtkArray;       // vtkDoubleArray

class Vtk {
 public:
  // near: a function of the program's VTK or ParaView. nullptr if that is not a VTK that perfield
  // knows; the user has been warned.
  static const Vtk* of(void* near) noexcept;

  // A data object as what it is; nullptr if it is something else.
  VtkDataSet* data_set(VtkDataObject* object) const noexcept;
  bool is_composite(VtkDataObject* object) const noexcept;  // but no tree
  // Calls see(VtkDataSet*) for each grid of an object: itself, or the leaves of a tree of blocks or
  // partitions. Returns whether it could look into all of it.
  template <class F>
  bool each_grid(VtkDataObject* object, F see, int depth = 0) const noexcept {
    constexpr int kDeepest = 16;
    if (!object) return true;
    if (VtkDataSet* grid = data_set(object)) {
      see(grid);
      return true;
    }
    void* const tree = as_tree(object);
    if (!tree) return !is_composite(object);  // a table, a graph: no grid
    bool all = depth < kDeepest;
    const unsigned n = all ? number_of_children_(tree) : 0;
    for (unsigned i = 0; i < n; ++i) all = each_grid(child_(tree, i), see, depth + 1) && all;
    return all;
  }

  // association: as in vtkDataObject.
  enum Association { points = 0, cells = 1, field = 2 };
  int64_t tuples(VtkDataSet* grid, Association where) const noexcept;
  VtkFieldData* arrays(VtkDataSet* grid, Association where) const noexcept {
    return attributes_(grid, where);
  }
  // Points or cells that are marked as ghosts; negative if that is unknown.
  int64_t ghosts(VtkDataSet* grid, Association where) const noexcept;

  bool has(VtkFieldData* data, const char* name) const noexcept {
    int place = -1;
    return array_(data, name, &place) != nullptr;
  }
  // An array of n doubles at `numbers`, which it gives back by `free`; the caller's reference ends
  // with release.
  VtkArray* make(const char* name, double* numbers, int64_t n, void (*free)(void*)) const noexcept;
  void add(VtkFieldData* data, VtkArray* array) const noexcept { add_(data, array); }
  void remove(VtkFieldData* data, const char* name) const noexcept { remove_(data, name); }
  void keep(void* object) const noexcept { register_(object, nullptr); }
  void release(void* object) const noexcept { unregister_(object, nullptr); }

 private:
  bool find_all(void* near) noexcept;
  bool find_naming(void* library) noexcept;
  bool works() const noexcept;
  void* as_tree(VtkDataObject* object) const noexcept;

  using Cast = void*(const void*, const void*, const void*, long);
  Cast* cast_;
  const void *type_object_, *type_set_, *type_tree_, *type_composite_;
  unsigned (*number_of_children_)(void*);
  VtkDataObject* (*child_)(void*, unsigned);
  long long (*elements_)(VtkDataSet*, int);
  VtkFieldData* (*attributes_)(VtkDataSet*, int);
  VtkArray* (*cell_ghosts_)(VtkDataSet*);
  VtkArray* (*point_ghosts_)(VtkDataSet*);
  void* (*bytes_)(VtkArray*, long long);
  VtkArray* (*array_)(VtkFieldData*, const char*, int*);
  int (*add_)(VtkFieldData*, VtkArray*);
  void (*remove_)(VtkFieldData*, const char*);
  VtkFieldData* (*new_data_)();
  VtkArray* (*new_array_)();
  void (*set_array_)(VtkArray*, double*, long long, int, int);
  void (*set_free_)(VtkArray*, void (*)(void*));
  void (*register_)(void*, void*);
  void (*unregister_)(void*, void*);
  void (*set_name_)(VtkArray*, const char*);  // nullptr: by place in its table of functions
  int place_of_set_name_;
};

}  // namespace perfield::adaptors
