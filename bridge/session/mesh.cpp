// SPDX-License-Identifier: BSD-3-Clause
//
// mesh.cpp - see mesh.hpp. docs/stream.md describes the layout of mesh entries.
#include "session/mesh.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>

#include "format/cells.hpp"
#include "session/arrays.hpp"

namespace perfield {
namespace {

constexpr double kMostNumbers = 1e13;
constexpr size_t kMostWaiting = size_t(64) << 20;  // bytes of blocks that could not be written

bool small_enough(const perfield_array& a) {
  return double(a.size[0]) * double(a.size[1]) * double(a.size[2]) * a.components < kMostNumbers;
}

// Which cell has a number of points that its type cannot have; "" if none has. types : one each.
std::string wrong_among(const perfield_array& offsets, const std::vector<unsigned char>& types) {
  std::string wrong;
  int64_t good[256];  // of each type, how many points its last cell had
  std::fill_n(good, 256, -1);
  int64_t before = 0;
  size_t cell = 0;
  for_each_number(offsets, [&](const unsigned char* at) {
    const int64_t end = whole_number(offsets, at);
    if (cell++ > 0 && wrong.empty()) {  // the first is where the first cell begins
      const unsigned char type = types[cell - 2];
      if (good[type] != end - before) wrong = wrong_cell(type, good[type] = end - before);
      if (!wrong.empty()) wrong += " (cell " + std::to_string(cell - 2) + ")";
    }
    before = end;
  });
  return wrong;
}

}  // namespace

// --- versions and blocks -------------------------------------------------------------------------

void Mesh::start(const std::string& path, const std::string& instead, uint64_t run_id, int rank,
                 std::function<bool(uint64_t, const std::string&)> may_take,
                 std::function<void(const std::string&, const std::string&)> complain) {
  path_ = path;
  instead_ = instead;
  run_id_ = run_id;
  rank_ = rank;
  may_take_ = std::move(may_take);
  complain_ = std::move(complain);
}

bool Mesh::begin_version(int block) {
  if (no_more_) return false;
  if (!file_.is_open() &&
      !file_.open(path_, run_id_, rank_, {4096, 0}, instead_, Appender::kPatient)) {
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
  no_more_ = version_ == UINT16_MAX;
  if (no_more_) {
    complain_("mesh-versions", "after " + std::to_string(version_) +
                                   " versions of the mesh there is no number for another one; the "
                                   "steps from here on have no mesh");
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
  write(EntryType::mesh, version_, json, none, block);
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
  write(EntryType::mesh, version_, json, parts, block);
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
  write(EntryType::mesh, version_, json, parts, block);
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
  int64_t bad = -1, named = 0;
  for_each_number(connectivity, [&](const unsigned char* at) {
    int64_t n = whole_number(connectivity, at);
    const bool is_point = n >= first_number && n < first_number + n_points;
    if (!is_point && bad < 0) {
      bad = int64_t(numbers.size());
      named = n;
    }
    numbers.push_back(is_point ? n - first_number : 0);
  });
  if (bad >= 0)
    return refuse("connectivity[" + std::to_string(bad) + "] names point " + std::to_string(named) +
                  " but the points are " + std::to_string(first_number) + " to " +
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
  Part kinds{"types", "", "", types, {}};
  std::string wrong;
  for_each_number(types, [&](const unsigned char* at) {
    const int64_t type = whole_number(types, at);
    if (wrong.empty() && type != static_cast<unsigned char>(type)) wrong = wrong_cell(type, 0);
    kinds.own.push_back(static_cast<unsigned char>(type));
  });
  if (kinds.own.size() == 1 || n_cells == 0)
    kinds.own.assign(size_t(n_cells), kinds.own.empty() ? 0 : kinds.own[0]);
  if (wrong.empty()) wrong = wrong_among(offsets, kinds.own);
  if (!wrong.empty()) return refuse(wrong);

  if (!begin_version(block)) return;
  sizes_[block] = {n_points, n_cells, 0, 0};
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
  kinds.array = array_over<unsigned char>(kinds.own, PERFIELD_UINT8);
  parts.push_back(std::move(kinds));
  write(EntryType::mesh, version_, json, parts, block);
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
  int64_t n_marked = 0;
  for_each_number(marks,
                  [&](const unsigned char* at) { n_marked += whole_number(marks, at) != 0; });
  Size& size = sizes_[block];
  (association == PERFIELD_POINTS ? size.ghost_points : size.ghost_cells) = n_marked;
  if (file_.failed()) return;
  Part p{"ghosts", "", association == PERFIELD_POINTS ? "point" : "cell", marks, {}};
  for_each_number(marks,
                  [&](const unsigned char* at) { p.own.push_back(whole_number(marks, at) != 0); });
  p.array = array_over<unsigned char>(p.own, PERFIELD_UINT8);
  JsonObject json;
  json.integer("block", block);
  std::vector<Part> parts;
  parts.push_back(std::move(p));
  write(EntryType::mesh, version_, json, parts, block);
}

void Mesh::changed() {
  version_open_ = false;
  fields_.clear();
}

// --- how large it is -----------------------------------------------------------------------------

void Mesh::set_size(const void* grid, const MeshSize& size) {
  constexpr size_t most_grids = 4096;  // new addresses each time, and no step, would have no end
  if (grid_sizes_are_old_ || grid_sizes_.size() >= most_grids) grid_sizes_.clear();
  grid_sizes_are_old_ = false;
  grid_sizes_[grid] = size;
}

std::optional<MeshSize> Mesh::size() const {
  MeshSize all;
  if (!sizes_.empty()) {
    if (no_more_) return std::nullopt;  // it has changed, and nobody knows how
    for (const auto& [block, size] : sizes_) {
      all.cells += size.cells - size.ghost_cells;
      all.points += size.points - size.ghost_points;
      all.ghost_cells += size.ghost_cells;
    }
    return all;
  }
  if (grid_sizes_.empty()) return std::nullopt;
  for (const auto& [grid, size] : grid_sizes_) {
    all.cells += size.cells;
    all.points += size.points;
    all.ghost_cells += size.ghost_cells;
  }
  return all;
}

// --- checks: what cannot be right is left out, with a sentence -----------------------------------

std::string Mesh::block_name(int block) { return "block " + std::to_string(block); }

bool Mesh::is_empty(const int64_t extent[6]) {
  return extent[1] < extent[0] || extent[3] < extent[2] || extent[5] < extent[4];
}

Mesh::Size Mesh::size_of(const int64_t extent[6]) {
  Size size{1, 1, 0, 0};
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

// --- writing -------------------------------------------------------------------------------------

Mesh::Part Mesh::part(const std::string& role, const perfield_array& array) {
  Part p{role, "", "", array, {}};
  if (!packed(array)) {
    p.own.resize(bytes_of(array));
    unsigned char* to = p.own.data();
    size_t width = facts(array.type)->bytes;
    for_each_number(array, [&](const unsigned char* from) {
      memcpy(to, from, width);
      to += width;
    });
  }
  return p;
}

uint64_t Mesh::bytes_of_fields() const {
  constexpr uint64_t kDescription = 256;  // at least, of one
  uint64_t bytes = 0;
  for (const Field& f : fields_) bytes += sizeof(EntryHeader) + kDescription + bytes_of(f.values);
  return bytes;
}

bool Mesh::has_place(uint64_t bytes, int block) {
  is_over_ = is_over_ || !may_take_(bytes, block_name(block));
  return !is_over_;
}

void Mesh::write(EntryType type, uint64_t index, JsonObject& json, std::vector<Part>& parts,
                 int block) {
  static const char zeros[8] = {};
  constexpr size_t kLargestBody = size_t(2000) << 20;  // one write(2) moves less than 2 GiB
  std::string list = "[";
  size_t offset = 0;
  std::vector<iovec> vectors(2);
  for (Part& p : parts) {
    size_t bytes = bytes_of(p.array);
    JsonObject one;
    one.text("role", p.role);
    if (!p.name.empty()) one.text("name", p.name);
    if (!p.association.empty()) one.text("association", p.association);
    one.text("type", facts(p.array.type)->name)
        .integer("components", p.array.components)
        .integer("tuples", tuples(p.array))
        .natural("offset", offset);
    list += (list.size() > 1 ? "," : "") + one.str();
    const void* data = p.own.empty() ? p.array.data : p.own.data();
    if (bytes) vectors.push_back({const_cast<void*>(data), bytes});
    if (bytes % 8) vectors.push_back({const_cast<char*>(zeros), 8 - bytes % 8});
    offset += (bytes + 7) / 8 * 8;
  }
  json.raw("arrays", list + "]");
  if (offset > kLargestBody) {
    complain_("mesh", "a block of this rank's mesh or field takes " + std::to_string(offset) +
                          " bytes; at most " + std::to_string(kLargestBody) +
                          " can be stored; divide it into blocks");
    return;
  }
  std::string text = json.str();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint32_t lengths[2] = {uint32_t(text.size()), 0};
  vectors[0] = {lengths, sizeof lengths};
  vectors[1] = {text.data(), text.size()};
  // Marks of ghosts follow their block, so nothing overtakes blocks that wait.
  const bool is_mesh = type == EntryType::mesh;
  try_again();
  if (is_mesh && !has_place(sizeof(EntryHeader) + sizeof lengths + text.size() + offset, block)) {
    // the pictures in the program have it all the same
  } else if ((is_mesh && !waiting_.empty()) ||
             !file_.write_parts(type, index, vectors.data(), int(vectors.size()))) {
    if (is_mesh)
      keep(index, vectors.data(), int(vectors.size()));
    else
      file_.miss();  // later steps have fields of their own
  }
  if (copy_block_ && type == EntryType::mesh)
    copy_block_(index, vectors.data(), int(vectors.size()));
}

void Mesh::keep(uint64_t version, const iovec* parts, int n_parts) noexcept try {
  size_t bytes = 0;
  for (int i = 0; i < n_parts; ++i) bytes += parts[i].iov_len;
  if (file_.failed() || waiting_bytes_ + bytes > kMostWaiting) return file_.miss();
  Waiting block{version, {}};
  block.body.reserve(bytes);
  for (int i = 0; i < n_parts; ++i) {
    const auto* from = static_cast<const unsigned char*>(parts[i].iov_base);
    block.body.insert(block.body.end(), from, from + parts[i].iov_len);
  }
  waiting_.push_back(std::move(block));
  waiting_bytes_ += bytes;
} catch (...) {
  file_.miss();  // no memory to keep it
}

void Mesh::write_waiting() noexcept {
  while (!waiting_.empty()) {
    std::vector<unsigned char>& body = waiting_.front().body;
    const iovec whole = {body.data(), body.size()};
    if (!file_.write_parts(EntryType::mesh, waiting_.front().version, &whole, 1)) return;
    waiting_bytes_ -= body.size();
    waiting_.pop_front();
  }
}

void Mesh::try_last() noexcept {
  file_.hurry();
  write_waiting();
  for (; !waiting_.empty(); waiting_.pop_front()) file_.miss();
}

void Mesh::field(int block, const char* name, int association, const perfield_array& values) {
  std::string what = "field '" + std::string(name ? name : "") + "' of " + block_name(block);
  if (!name || !*name || !usable(what, values, 0)) return;
  for (Field& f : fields_) {
    if (f.block == block && f.name == name) {
      f.values = values;
      f.association = association;
      return;
    }
  }
  fields_.push_back({block, name, association, values});
}

void Mesh::write_fields(uint64_t step) {
  if (fields_.empty() || !version() || file_.failed()) return;
  for (const Field& f : fields_) {
    std::string what = "field '" + f.name + "' of " + block_name(f.block);
    if (!fits(what, f.block, f.association, f.values)) continue;
    JsonObject json;
    json.integer("block", f.block);
    std::vector<Part> parts;
    parts.push_back(part("field", f.values));
    parts.back().name = f.name;
    parts.back().association = f.association == PERFIELD_POINTS ? "point" : "cell";
    write(EntryType::field, step, json, parts);
  }
}

}  // namespace perfield
