// SPDX-License-Identifier: BSD-3-Clause
//
// cells.hpp - how many points VTK's types of cells have. VTK itself does not check: it reads beyond
// the points of a cell that has too few. Pure functions; they may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>

namespace perfield {

// Why a cell of a type of VTK cannot have so many points, as in "a cell of type 12 (hexahedron) has
// 4 points; expected 8"; "" if it can. General polyhedra (42) have any number.
std::string wrong_cell(int64_t type, int64_t n_points);

}  // namespace perfield
