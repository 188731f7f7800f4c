// SPDX-License-Identifier: BSD-3-Clause
//
// perfield_vtk.hpp - for simulations with a VTK or ParaView Catalyst adaptor of their own: one line
// adds what perfield measured in this rank to the grid, under the names that its pictures use.
//
//   perfield::attach(grid);     // before the coprocessor is called with it
//
// Each value is a number of the whole rank, so it is the same at all points: perfield_constant.hpp
// keeps the arrays small, and they are ordinary vtkDoubleArrays to filters, writers and rendering.
// Needs VTK's headers and libraries, but none of perfield; without perfield it adds nothing.
#pragma once

#include <vtkCellData.h>
#include <vtkCompositeDataIterator.h>
#include <vtkCompositeDataSet.h>
#include <vtkDataSet.h>
#include <vtkDoubleArray.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkSmartPointer.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "perfield.h"
#include "perfield_constant.hpp"

namespace perfield {

// Where attach puts its values. Field data hold one number for each grid: ParaView colours by it,
// block by block, but its Calculator and most filters see points and cells only.
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

constexpr vtkIdType kFewTuples = 4096;  // as an array of their own

// `numbers` hold the value at least as often as the grid has tuples; nullptr: it has few.
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

// Adds one array for each value of perfield_values to all grids, or for those named; arrays of the
// same name are replaced. Returns how many; 0 where there is no grid.
inline int attach(const std::vector<vtkDataSet*>& grids, Attached where = Attached::points,
                  const std::vector<std::string>& names = {}) {
  if (grids.empty()) return 0;
  vtkIdType most = 0;
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

// The same for one grid, or for all in a composite (multi-block, partitioned) dataset; what is no
// grid, as a table or nullptr, gets nothing.
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
