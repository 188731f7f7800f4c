// SPDX-License-Identifier: BSD-3-Clause
//
// mesh.cpp - versions and blocks of the mesh. How they are written stands in mesh_writing.cpp, what
// is refused in mesh_checks.cpp.
#include "session/mesh.hpp"

#include <algorithm>
#include <cstring>

#include "session/arrays.hpp"

namespace perfield {
void Mesh::start(const std::string& path, const std::string& instead, uint64_t run_id, int rank,
                 uint64_t most_bytes,
                 std::function<void(const std::string&, const std::string&)> complain) {
  path_ = path;
  instead_ = instead;
  run_id_ = run_id;
  rank_ = rank;
  most_bytes_ = most_bytes;
  complain_ = std::move(complain);
}

bool Mesh::begin_version(int block) {
  if (no_more_) return false;
  if (!file_.is_open() && !file_.open(path_, run_id_, rank_, 4096, instead_)) {
    complain_("mesh", "the mesh file " + path_ + " cannot be opened (" + strerror(file_.error()) +
                          "); the run will have no mesh");
    return false;
  }
  if (file_.failed()) return false;
  if (version_open_ && shown_ == version_ && sizes_.count(block)) {
    complain_("mesh-again",
              block_name(block) +
                  " of the mesh was described again without perfield_mesh_changed before it: a new "
                  "version of the mesh begins, to which only what is described from here on "
                  "belongs; call perfield_mesh_changed first, and describe a mesh that stays as it "
                  "is once");
    version_open_ = false;
  }
  if (version_open_) return true;
  no_more_ = version_ == UINT16_MAX || (version_ > 0 && file_.file_bytes() >= most_bytes_);
  if (no_more_) {
    complain_("mesh-limit",
              "after " + std::to_string(version_) +
                  " versions of the mesh there is no room for more (record_limit is " +
                  std::to_string(most_bytes_) + " bytes); the steps from here on have no mesh");
    return false;
  }
  ++version_;
  version_open_ = true;
  sizes_.clear();
  return true;
}

void Mesh::image(int block, const int64_t extent[6], const double origin[3],
                 const double spacing[3]) {
  if (!framed(block, extent) || !finite("origin", block, origin) ||
      !finite("spacing", block, spacing))
    return;
  if (is_empty(extent)) return empty(block);
  if (!begin_version(block)) return;
  sizes_[block] = size_of(extent);
  JsonObject json;
  json.integer("block", block).text("kind", "image").numbers("extent", extent, 6);
  json.numbers("origin", origin, 3).numbers("spacing", spacing, 3);
  std::vector<Part> none;
  write(EntryType::mesh, version_, json, none);
}

void Mesh::rectilinear(int block, const int64_t extent[6], const perfield_array& x,
                       const perfield_array& y, const perfield_array& z) {
  if (!framed(block, extent)) return;
  if (is_empty(extent)) return empty(block);
  const perfield_array* axes[3] = {&x, &y, &z};
  for (int d = 0; d < 3; ++d) {
    std::string what = std::string(1, char('x' + d)) + " of " + block_name(block);
    if (!usable(what, *axes[d], 1)) return;
    int64_t expected = extent[2 * d + 1] - extent[2 * d] + 1;
    if (tuples(*axes[d]) != expected) {
      complain_("mesh", what + " has " + std::to_string(tuples(*axes[d])) +
                            " numbers but the extent names " + std::to_string(expected) +
                            "; the block is left out");
      return;
    }
  }
  if (!begin_version(block)) return;
  sizes_[block] = size_of(extent);
  JsonObject json;
  json.integer("block", block).text("kind", "rectilinear").numbers("extent", extent, 6);
  std::vector<Part> parts;
  for (int d = 0; d < 3; ++d) parts.push_back(part(std::string(1, char('x' + d)), *axes[d]));
  write(EntryType::mesh, version_, json, parts);
}

void Mesh::structured(int block, const int64_t extent[6], const perfield_array& points) {
  std::string what = "the points of " + block_name(block);
  if (!framed(block, extent)) return;
  if (is_empty(extent)) return empty(block);
  if (!usable(what, points, 3)) return;
  int64_t expected = size_of(extent).points;
  if (tuples(points) != expected) {
    complain_("mesh", what + " are " + std::to_string(tuples(points)) + " but the extent names " +
                          std::to_string(expected) + "; the block is left out");
    return;
  }
  if (!begin_version(block)) return;
  sizes_[block] = size_of(extent);
  JsonObject json;
  json.integer("block", block).text("kind", "structured").numbers("extent", extent, 6);
  std::vector<Part> parts;
  parts.push_back(part("points", points));
  write(EntryType::mesh, version_, json, parts);
}

void Mesh::unstructured(int block, const perfield_array& points, const perfield_array& connectivity,
                        const perfield_array& offsets, const perfield_array& types,
                        int first_number) {
  std::string where = block_name(block);
  if (!counted(block) || !usable("the points of " + where, points, 3) ||
      !whole_numbers("the connectivity of " + where, connectivity) ||
      !whole_numbers("the offsets of " + where, offsets) ||
      !whole_numbers("the cell types of " + where, types))
    return;
  int64_t n_points = tuples(points), n_cells = tuples(offsets) > 0 ? tuples(offsets) - 1 : 0;
  auto refuse = [&](const std::string& why) {
    complain_("mesh", why + " in " + where + "; the block is left out");
  };

  std::vector<int64_t> numbers;  // connectivity from 0, checked
  numbers.reserve(size_t(tuples(connectivity)));
  int64_t bad = -1;
  for_each_number(connectivity, [&](const unsigned char* at) {
    int64_t n = whole_number(connectivity, at) - first_number;
    if ((n < 0 || n >= n_points) && bad < 0) bad = int64_t(numbers.size());
    numbers.push_back(n);
  });
  if (bad >= 0)
    return refuse("connectivity[" + std::to_string(bad) + "] names point " +
                  std::to_string(numbers[size_t(bad)] + first_number) + " but the points are " +
                  std::to_string(first_number) + " to " +
                  std::to_string(n_points - 1 + first_number));
  int64_t before = -1;
  bool rising = true;
  for_each_number(offsets, [&](const unsigned char* at) {
    int64_t n = whole_number(offsets, at);
    rising = rising && (before < 0 ? n == 0 : n >= before);
    before = n;
  });
  before = std::max<int64_t>(before, 0);
  if (!rising || before != int64_t(numbers.size()))
    return refuse("offsets must rise from 0 to " + std::to_string(numbers.size()) +
                  ", the length of connectivity (the last is " + std::to_string(before) + ")");
  if (tuples(types) != n_cells && tuples(types) != 1 && n_cells > 0)
    return refuse("there are " + std::to_string(tuples(types)) + " cell types for " +
                  std::to_string(n_cells) + " cells");

  if (!begin_version(block)) return;
  sizes_[block] = {n_points, n_cells};
  JsonObject json;
  json.integer("block", block).text("kind", "unstructured");
  std::vector<Part> parts;
  parts.push_back(part("points", points));
  Part cells{"connectivity", "", "", connectivity, {}};
  if (first_number == 0 && packed(connectivity)) {
    cells.array = connectivity;
  } else {
    cells.own.resize(numbers.size() * sizeof(int64_t));
    memcpy(cells.own.data(), numbers.data(), cells.own.size());
    cells.array = array_over<int64_t>(cells.own, PERFIELD_INT64);
  }
  parts.push_back(std::move(cells));
  if (tuples(offsets) > 0) {
    parts.push_back(part("offsets", offsets));
  } else {
    static const int64_t zero = 0;
    parts.push_back(part("offsets", perfield_array_of(&zero, PERFIELD_INT64, 1, 1)));
  }
  Part kinds{"types", "", "", types, {}};
  for_each_number(types, [&](const unsigned char* at) {
    kinds.own.push_back(static_cast<unsigned char>(whole_number(types, at)));
  });
  if (kinds.own.size() == 1 || n_cells == 0)
    kinds.own.assign(size_t(n_cells), kinds.own.empty() ? 0 : kinds.own[0]);
  kinds.array = array_over<unsigned char>(kinds.own, PERFIELD_UINT8);
  parts.push_back(std::move(kinds));
  write(EntryType::mesh, version_, json, parts);
}

void Mesh::empty(int block) {
  perfield_array none = perfield_array_of(nullptr, PERFIELD_FLOAT64, 3, 0);
  perfield_array no_numbers = perfield_array_of(nullptr, PERFIELD_INT64, 1, 0);
  unstructured(block, none, no_numbers, no_numbers, no_numbers, 0);
}

void Mesh::ghosts(int block, int association, const perfield_array& marks) {
  if (!version_open_) {
    complain_("mesh",
              "ghosts of " + block_name(block) + " came before its mesh; they are left out");
    return;
  }
  std::string what = "the ghost marks of " + block_name(block);
  if (!whole_numbers(what, marks) || !fits(what, block, association, marks)) return;
  if (file_.failed()) return;
  Part p{"ghosts", "", association == PERFIELD_POINTS ? "point" : "cell", marks, {}};
  for_each_number(marks,
                  [&](const unsigned char* at) { p.own.push_back(whole_number(marks, at) != 0); });
  p.array = array_over<unsigned char>(p.own, PERFIELD_UINT8);
  JsonObject json;
  json.integer("block", block);
  std::vector<Part> parts;
  parts.push_back(std::move(p));
  write(EntryType::mesh, version_, json, parts);
}

void Mesh::changed() {
  version_open_ = false;
  fields_.clear();
}

}  // namespace perfield
