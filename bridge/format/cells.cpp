// SPDX-License-Identifier: BSD-3-Clause
//
// cells.cpp - see cells.hpp. The numbers are those of vtkCellType.h.
#include "format/cells.hpp"

namespace perfield {
namespace {

// What a cell may have beside a fixed number of points.
enum class Count { exactly, at_least, line, triangle, quad, tetrahedron, hexahedron, wedge };

struct CellType {
  int64_t type;
  const char* name;
  int64_t points;
  Count count;
};

constexpr CellType kTypes[] = {
    {0, "empty", 0, Count::exactly},
    {1, "vertex", 1, Count::exactly},
    {2, "poly-vertex", 1, Count::at_least},
    {3, "line", 2, Count::exactly},
    {4, "poly-line", 2, Count::at_least},
    {5, "triangle", 3, Count::exactly},
    {6, "triangle strip", 3, Count::at_least},
    {7, "polygon", 3, Count::at_least},
    {8, "pixel", 4, Count::exactly},
    {9, "quadrilateral", 4, Count::exactly},
    {10, "tetrahedron", 4, Count::exactly},
    {11, "voxel", 8, Count::exactly},
    {12, "hexahedron", 8, Count::exactly},
    {13, "wedge", 6, Count::exactly},
    {14, "pyramid", 5, Count::exactly},
    {15, "pentagonal prism", 10, Count::exactly},
    {16, "hexagonal prism", 12, Count::exactly},
    {21, "quadratic edge", 3, Count::exactly},
    {22, "quadratic triangle", 6, Count::exactly},
    {23, "quadratic quadrilateral", 8, Count::exactly},
    {24, "quadratic tetrahedron", 10, Count::exactly},
    {25, "quadratic hexahedron", 20, Count::exactly},
    {26, "quadratic wedge", 15, Count::exactly},
    {27, "quadratic pyramid", 13, Count::exactly},
    {28, "biquadratic quadrilateral", 9, Count::exactly},
    {29, "triquadratic hexahedron", 27, Count::exactly},
    {30, "quadratic linear quadrilateral", 6, Count::exactly},
    {31, "quadratic linear wedge", 12, Count::exactly},
    {32, "biquadratic quadratic wedge", 18, Count::exactly},
    {33, "biquadratic quadratic hexahedron", 24, Count::exactly},
    {34, "biquadratic triangle", 7, Count::exactly},
    {35, "cubic line", 4, Count::exactly},
    {36, "quadratic polygon", 6, Count::at_least},
    {37, "triquadratic pyramid", 19, Count::exactly},
    {41, "convex point set", 1, Count::at_least},
    {42, "polyhedron", 0, Count::at_least},
    {68, "Lagrange curve", 2, Count::line},
    {69, "Lagrange triangle", 3, Count::triangle},
    {70, "Lagrange quadrilateral", 4, Count::quad},
    {71, "Lagrange tetrahedron", 4, Count::tetrahedron},
    {72, "Lagrange hexahedron", 8, Count::hexahedron},
    {73, "Lagrange wedge", 6, Count::wedge},
    {75, "Bezier curve", 2, Count::line},
    {76, "Bezier triangle", 3, Count::triangle},
    {77, "Bezier quadrilateral", 4, Count::quad},
    {78, "Bezier tetrahedron", 4, Count::tetrahedron},
    {79, "Bezier hexahedron", 8, Count::hexahedron},
    {80, "Bezier wedge", 6, Count::wedge},
};

// Points of a cell of order k, the same along all axes.
int64_t of_order(Count count, int64_t k) {
  switch (count) {
    case Count::line:
      return k + 1;
    case Count::triangle:
      return (k + 1) * (k + 2) / 2;
    case Count::quad:
      return (k + 1) * (k + 1);
    case Count::tetrahedron:
      return (k + 1) * (k + 2) * (k + 3) / 6;
    case Count::hexahedron:
      return (k + 1) * (k + 1) * (k + 1);
    default:
      return (k + 1) * (k + 1) * (k + 2) / 2;
  }
}

constexpr int64_t kHighestOrder = 10;  // of VTK's own cells

bool fits(const CellType& row, int64_t n_points) {
  if (row.count == Count::exactly) return n_points == row.points;
  if (row.count == Count::at_least) return n_points >= row.points;
  for (int64_t k = 1; k <= kHighestOrder; ++k)
    if (n_points == of_order(row.count, k)) return true;
  return false;
}

}  // namespace

std::string wrong_cell(int64_t type, int64_t n_points) {
  for (const CellType& row : kTypes) {
    if (row.type != type) continue;
    if (fits(row, n_points)) return "";
    std::string expected = std::to_string(row.points);
    if (row.count == Count::at_least) expected = "at least " + expected;
    if (row.count > Count::at_least)
      expected += ", " + std::to_string(of_order(row.count, 2)) + ", " +
                  std::to_string(of_order(row.count, 3)) + ", ... of an order up to " +
                  std::to_string(kHighestOrder);
    return "a cell of type " + std::to_string(type) + " (" + row.name + ") has " +
           std::to_string(n_points) + " points; expected " + expected;
  }
  return "a cell of type " + std::to_string(type) +
         " is none of VTK's that have points alone; 10 is a tetrahedron, 12 a hexahedron";
}

}  // namespace perfield
