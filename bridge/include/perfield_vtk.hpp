// SPDX-License-Identifier: BSD-3-Clause
//
// perfield_vtk.hpp - for simulations with their own VTK or ParaView Catalyst adaptor. One line adds
// to the grid what perfield measured in this rank, under the field names of perfield's pictures.
//
//   perfield::attach(grid);     // before you pass it to the coprocessor
//
// A value describes the whole rank, so it is the same at all points. perfield_constant.hpp keeps
// these arrays small; filters, writers and rendering see ordinary vtkDoubleArrays. This header
// needs VTK's headers and libraries, and no perfield library; without perfield it adds nothing.
#pragma once

#include <vtkCellData.h>
#include <vtkCompositeDataIterator.h>
#include <vtkCompositeDataSet.h>
#include <vtkDataSet.h>
#include <vtkDataSetAttributes.h>
#include <vtkDoubleArray.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkSmartPointer.h>
#include <vtkUnsignedCharArray.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "perfield.h"
#include "perfield_constant.hpp"

namespace perfield {

// Where attach puts its values. Field data hold one number per grid: ParaView colours blocks by
// it, but its Calculator and most filters see only points and cells.
enum class Attached { points, cells, field };

namespace detail {

using Values = std::vector<std::pair<std::string, double>>;

inline Values wanted_values(const std::vector<std::string>& names) {
  std::vector<perfield_value> rows(static_cast<size_t>(perfield_values(0, nullptr)));
  const int n = perfield_values(static_cast<int>(rows.size()), rows.data());
  rows.resize(std::min(rows.size(), static_cast<size_t>(n)));
  Values values;
  for (const perfield_value& row : rows)
    if (names.empty() || std::find(names.begin(), names.end(), row.name) != names.end())
      values.emplace_back(row.name, row.value);
  return values;
}

inline vtkIdType tuples_of(vtkDataSet* grid, Attached where) {
  if (where == Attached::field) return 1;
  return where == Attached::points ? grid->GetNumberOfPoints() : grid->GetNumberOfCells();
}

// Gives perfield the size of this rank's piece; see perfield_mesh_size.
inline void set_size(vtkDataSet* grid) {
  const auto marked = [](vtkUnsignedCharArray* ghosts, int kind) {
    int64_t n = 0;
    for (vtkIdType at = 0; ghosts && at < ghosts->GetNumberOfTuples(); ++at)
      n += (ghosts->GetValue(at) & kind) != 0;
    return n;
  };
  const int64_t ghost_cells =
      marked(grid->GetCellGhostArray(), vtkDataSetAttributes::DUPLICATECELL);
  const int64_t ghost_points =
      marked(grid->GetPointGhostArray(), vtkDataSetAttributes::DUPLICATEPOINT);
  perfield_mesh_size(grid, grid->GetNumberOfCells() - ghost_cells,
                     grid->GetNumberOfPoints() - ghost_points, ghost_cells);
}

constexpr vtkIdType kFewTuples = 4096;  // up to this size, each grid gets an array of its own

// `numbers` repeats the value at least once per tuple; nullptr: fill an array of the grid's own.
inline void add_array(vtkDataSet* grid, Attached where, const std::pair<std::string, double>& value,
                      double* numbers) {
  vtkNew<vtkDoubleArray> array;
  array->SetName(value.first.c_str());
  if (numbers) {
    share_constant(numbers);
    array->SetArray(numbers, tuples_of(grid, where), 0,
                    vtkAbstractArray::VTK_DATA_ARRAY_USER_DEFINED);
    array->SetArrayFreeFunction(&release_constant);
  } else {
    array->SetNumberOfTuples(tuples_of(grid, where));
    array->FillValue(value.second);
  }
  if (where == Attached::points)
    grid->GetPointData()->AddArray(array);
  else if (where == Attached::cells)
    grid->GetCellData()->AddArray(array);
  else
    grid->GetFieldData()->AddArray(array);
}

}  // namespace detail

// Adds to each grid one array per value of perfield_values, or per value in `names`. Replaces
// arrays of the same name. Returns the number of arrays per grid; 0 without a grid.
inline int attach(const std::vector<vtkDataSet*>& grids, Attached where = Attached::points,
                  const std::vector<std::string>& names = {}) {
  if (grids.empty()) return 0;
  vtkIdType most = 0;
  if (perfield_measuring())
    for (vtkDataSet* grid : grids) detail::set_size(grid);
  for (vtkDataSet* grid : grids) most = std::max(most, detail::tuples_of(grid, where));
  const detail::Values values = detail::wanted_values(names);
  for (const auto& value : values) {
    double* numbers = nullptr;  // one array of the largest grid serves all
    if (most > detail::kFewTuples)
      numbers = constant_numbers(value.second, static_cast<size_t>(most));
    for (vtkDataSet* grid : grids) detail::add_array(grid, where, value, numbers);
    if (numbers) release_constant(numbers);
  }
  return static_cast<int>(values.size());
}

// The same for one grid, or for all grids of a composite (multi-block, partitioned) dataset. Other
// objects, such as tables, and nullptr get nothing.
inline int attach(vtkDataObject* object, Attached where = Attached::points,
                  const std::vector<std::string>& names = {}) {
  std::vector<vtkDataSet*> grids;
  if (auto* grid = vtkDataSet::SafeDownCast(object)) grids.push_back(grid);
  if (auto* composite = vtkCompositeDataSet::SafeDownCast(object)) {
    vtkSmartPointer<vtkCompositeDataIterator> at;
    at.TakeReference(composite->NewIterator());
    for (at->InitTraversal(); !at->IsDoneWithTraversal(); at->GoToNextItem())
      if (auto* grid = vtkDataSet::SafeDownCast(at->GetCurrentDataObject())) grids.push_back(grid);
  }
  return attach(grids, where, names);
}

}  // namespace perfield
