// SPDX-License-Identifier: BSD-3-Clause
//
// mesh_checks.cpp - what a description of a block or field must hold. What does not is left out
// with a sentence that names the block, what was found and what was expected.
#include <climits>
#include <cmath>

#include "session/arrays.hpp"
#include "session/mesh.hpp"

namespace perfield {
namespace {

constexpr double kMostNumbers = 1e13;

bool small_enough(const perfield_array& a) {
  return double(a.size[0]) * double(a.size[1]) * double(a.size[2]) * a.components < kMostNumbers;
}

}  // namespace

std::string Mesh::block_name(int block) { return "block " + std::to_string(block); }

bool Mesh::is_empty(const int64_t extent[6]) {
  return extent[1] < extent[0] || extent[3] < extent[2] || extent[5] < extent[4];
}

Mesh::Size Mesh::size_of(const int64_t extent[6]) {
  Size size{1, 1};
  for (int d = 0; d < 3; ++d) {
    int64_t points = extent[2 * d + 1] - extent[2 * d] + 1;
    size.points *= points;
    if (points > 1) size.cells *= points - 1;
  }
  return size;
}

bool Mesh::usable(const std::string& what, const perfield_array& a, int components) {
  std::string wrong;
  if (!facts(a.type))
    wrong = "has type " + std::to_string(a.type) +
            "; expected PERFIELD_INT8 (1) to PERFIELD_FLOAT64 (6)";
  else if (a.size[0] < 0 || a.size[1] < 0 || a.size[2] < 0 || a.components < 1)
    wrong = "has a negative size or no component";
  else if (components && a.components != components)
    wrong = "has " + std::to_string(a.components) + " components; expected " +
            std::to_string(components);
  else if (!small_enough(a))
    wrong = "has more numbers than fit into memory";
  else if (!a.data && tuples(a) > 0)
    wrong = "has " + std::to_string(tuples(a)) + " tuples but a null address";
  if (!wrong.empty()) complain_("mesh", what + " " + wrong + "; it is left out");
  return wrong.empty();
}

bool Mesh::whole_numbers(const std::string& what, const perfield_array& a) {
  if (!usable(what, a, 1)) return false;
  if (a.type == PERFIELD_FLOAT32 || a.type == PERFIELD_FLOAT64) {
    complain_("mesh",
              what + " are floating-point numbers; expected whole ones; the block is left out");
    return false;
  }
  return true;
}

bool Mesh::counted(int block) {
  if (block < 0) complain_("mesh", block_name(block) + " is left out: blocks count from 0");
  return block >= 0;
}

bool Mesh::framed(int block, const int64_t extent[6]) {
  if (!counted(block)) return false;
  std::string wrong;
  double points = 1;
  for (int n = 0; extent && n < 6; ++n)
    if (extent[n] < INT_MIN || extent[n] > INT_MAX)
      wrong =
          "names " + std::to_string(extent[n]) + "; expected numbers of 32 bits, as VTK has them";
  for (int d = 0; extent && d < 3; ++d)
    points *= double(extent[2 * d + 1]) - double(extent[2 * d]) + 1;
  if (!extent)
    wrong = "is a null address";
  else if (wrong.empty() && !is_empty(extent) && points >= kMostNumbers)
    wrong = "names more points than fit into memory";
  if (!wrong.empty())
    complain_("mesh",
              "the extent of " + block_name(block) + " " + wrong + "; the block is left out");
  return wrong.empty();
}

bool Mesh::finite(const char* what, int block, const double numbers[3]) {
  bool good = numbers != nullptr;
  for (int d = 0; good && d < 3; ++d) good = std::isfinite(numbers[d]);
  if (!good)
    complain_("mesh", std::string("the ") + what + " of " + block_name(block) + " is " +
                          (numbers ? "not finite" : "a null address") + "; the block is left out");
  return good;
}

bool Mesh::fits(const std::string& what, int block, int association, const perfield_array& a) {
  auto found = sizes_.find(block);
  bool on_points = association == PERFIELD_POINTS;
  std::string wrong;
  if (found == sizes_.end()) {
    wrong = "belongs to no block that was described";
  } else {
    int64_t expected = on_points ? found->second.points : found->second.cells;
    if (tuples(a) != expected)
      wrong = "has " + std::to_string(tuples(a)) + " values but the block has " +
              std::to_string(expected) + (on_points ? " points" : " cells");
  }
  if (!wrong.empty()) complain_("mesh-size", what + " " + wrong + "; it is left out");
  return wrong.empty();
}

}  // namespace perfield
