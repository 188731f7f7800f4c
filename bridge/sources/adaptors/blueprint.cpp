// SPDX-License-Identifier: BSD-3-Clause
//
// blueprint.cpp - see blueprint.hpp; the Blueprint itself: llnl-conduit.readthedocs.io, "mesh".
#include "sources/adaptors/blueprint.hpp"

#include <time.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#define PERFIELD_BUILDING_LIBRARY  // calls libperfield.so itself, which this library needs
#include "include/perfield.h"
#include "include/perfield_constant.hpp"
#include "recorder/source.h"

namespace perfield::adaptors {
namespace {

constexpr int64_t kMostNumbers = int64_t(1) << 40;

bool same(const char* text, const char* word) noexcept { return text && !strcmp(text, word); }

struct Axes {
  const char* names[3];
};
constexpr Axes kDims{{"dims/i", "dims/j", "dims/k"}};
constexpr Axes kElementDims{{"elements/dims/i", "elements/dims/j", "elements/dims/k"}};
constexpr Axes kValues{{"values/x", "values/y", "values/z"}};

uint64_t now_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000u + uint64_t(now.tv_nsec);
}

// --- cells of unstructured topologies -----------------------------------------------------------
struct Shape {
  const char* name;
  int vtk_type, n_points;  // 0: as many as `sizes` says
};
constexpr Shape kShapes[] = {{"point", 1, 1},  {"line", 3, 2},     {"tri", 5, 3},
                             {"quad", 9, 4},   {"tet", 10, 4},     {"hex", 12, 8},
                             {"wedge", 13, 6}, {"pyramid", 14, 5}, {"polygonal", 7, 0}};

const Shape* shape_of(const char* name) noexcept {
  for (const Shape& shape : kShapes)
    if (same(name, shape.name)) return &shape;
  return nullptr;
}

// VTK's type of each number in `shapes` of a mixed topology; 0: not known.
struct ShapeMap {
  static constexpr int kMost = 64;
  unsigned char types[kMost] = {};

  ShapeMap(const Conduit& conduit, const conduit_node* topology) noexcept {
    conduit_node* const map = conduit.at(topology, "elements/shape_map");
    for (int64_t i = 0, n = conduit.children(map); i < n; ++i) {
      conduit_node* const entry = conduit.child(map, i);
      const Numbers number = conduit.numbers(entry);
      char* const name = conduit.name(entry);
      const Shape* const shape = shape_of(name);
      const int64_t at = number.n ? number.whole(0) : -1;
      if (shape && at >= 0 && at < kMost) types[at] = static_cast<unsigned char>(shape->vtk_type);
      free(name);
    }
  }
};

int64_t product(const int64_t size[3], int64_t less) noexcept {
  int64_t all = 1;
  for (int d = 0; d < 3; ++d) {
    const int64_t n = size[d] > 1 ? size[d] - less : 1;
    if (n <= 0 || all > kMostNumbers / n) return -1;
    all *= n;
  }
  return all;
}

// The cells; negative if they are unknown.
int64_t cells_of(const Conduit& conduit, const Topology& t) noexcept {
  if (t.kind == Topology::points) return t.n_points;
  if (t.kind != Topology::unstructured) return product(t.size, 1);
  const char* const name = conduit.text_at(t.topology, "elements/shape");
  if (same(name, "mixed")) return conduit.numbers_at(t.topology, "elements/shapes").n;
  const Shape* const shape = shape_of(name);
  if (!shape) return -1;
  if (!shape->n_points) return conduit.numbers_at(t.topology, "elements/sizes").n;
  const int64_t n = conduit.numbers_at(t.topology, "elements/connectivity").n;
  return n % shape->n_points ? -1 : n / shape->n_points;
}

// Points of a coordset, whatever cells there are; negative if they are unknown.
int64_t points_of(const Conduit& conduit, const Topology& t) noexcept {
  const char* const kind = conduit.text_at(t.coordset, "type");
  if (same(kind, "uniform") || same(kind, "rectilinear")) return product(t.size, 0);
  conduit_node* const values = conduit.at(t.coordset, "values");
  return conduit.children(values) ? conduit.numbers(conduit.child(values, 0)).n : -1;
}

Topology::Kind kind_of(const Conduit& conduit, const Topology& t) noexcept {
  const char* const kind = conduit.text_at(t.topology, "type");
  const char* const coords = conduit.text_at(t.coordset, "type");
  if (same(kind, "uniform") && same(coords, "uniform")) return Topology::uniform;
  if (same(kind, "rectilinear") && same(coords, "rectilinear")) return Topology::rectilinear;
  if (!same(coords, "explicit") || !conduit.has(t.coordset, "values/x")) return Topology::unknown;
  return same(kind, "structured")     ? Topology::structured
         : same(kind, "points")       ? Topology::points
         : same(kind, "unstructured") ? Topology::unstructured
                                      : Topology::unknown;
}

// Sizes of a topology. kind: unknown if perfield cannot describe it as a block.
void measure(const Conduit& conduit, Topology* t) noexcept {
  t->kind = kind_of(conduit, *t);
  const bool is_uniform = same(conduit.text_at(t->coordset, "type"), "uniform");
  for (int d = 0; d < 3; ++d) {
    if (t->kind == Topology::structured)
      t->size[d] = int64_t(conduit.number_at(t->topology, kElementDims.names[d], 0)) + 1;
    else if (is_uniform)
      t->size[d] = int64_t(conduit.number_at(t->coordset, kDims.names[d], 1));
    else
      t->size[d] = conduit.has(t->coordset, kValues.names[d])
                       ? conduit.numbers_at(t->coordset, kValues.names[d]).n
                       : 1;
  }
  t->n_points = points_of(conduit, *t);
  t->n_cells = t->kind == Topology::unknown ? -1 : cells_of(conduit, *t);
  const bool fits = t->kind != Topology::structured || product(t->size, 0) == t->n_points;
  if (t->n_points < 0 || t->n_cells < 0 || !fits) t->kind = Topology::unknown;
}

void warn_of_unknown(const Conduit& conduit, const Topology& t) noexcept {
  const char* const shape = conduit.text_at(t.topology, "elements/shape");
  const char* const kind = shape ? shape : conduit.text_at(t.topology, "type");
  char sentence[256];
  snprintf(sentence, sizeof sentence,
           "a topology of the program's Blueprint mesh is of a kind that perfield does not know "
           "(%.80s); it is left out of perfield's pictures",
           kind ? kind : "none");
  perfield_warn_once_per_node("adaptor-mesh-kind", sentence);
}

// --- has it changed? ----------------------------------------------------------------------------
// A hash of what is read of a mesh: all sizes and, of each array, the first, the last and some
// numbers between them.
class Fingerprint {
 public:
  void add(uint64_t word) noexcept {
    for (int byte = 0; byte < 8; ++byte)
      hash_ = (hash_ ^ (word >> 8 * byte & 255)) * 1099511628211u;
  }
  void add(const char* text) noexcept {
    for (; text && *text; ++text) hash_ = (hash_ ^ uint8_t(*text)) * 1099511628211u;
    add(uint64_t(0));
  }
  void add(double number) noexcept {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    add(bits);
  }
  void add(const Numbers& numbers) noexcept {
    constexpr int64_t kSamples = 64;
    add(uint64_t(numbers.n));
    const int64_t n = numbers.n < kSamples ? numbers.n : kSamples;
    for (int64_t i = 0; i < n; ++i)
      add(numbers.real(n > 1 ? int64_t(double(i) / double(n - 1) * double(numbers.n - 1)) : 0));
  }
  uint64_t hash() const noexcept { return hash_; }

 private:
  uint64_t hash_ = 14695981039346656037u;  // FNV-1a
};

constexpr const char* kGhosts[] = {"fields/ascent_ghosts", "fields/vtkGhostType"};

void add(const Conduit& conduit, const Topology& t, Fingerprint* print) noexcept {
  print->add(uint64_t(t.kind));
  print->add(uint64_t(t.n_points));
  print->add(uint64_t(t.n_cells));
  for (int d = 0; d < 3; ++d) print->add(uint64_t(t.size[d]));
  for (const char* path :
       {"origin/x", "origin/y", "origin/z", "spacing/dx", "spacing/dy", "spacing/dz"})
    print->add(conduit.number_at(t.coordset, path, 0));
  for (const char* path : kValues.names) print->add(conduit.numbers_at(t.coordset, path));
  for (const char* path : {"elements/connectivity", "elements/shapes", "elements/sizes"})
    print->add(conduit.numbers_at(t.topology, path));
  print->add(conduit.text_at(t.topology, "elements/shape"));
  for (const char* path : kGhosts) {
    char values[64];
    snprintf(values, sizeof values, "%s/values", path);
    print->add(conduit.numbers_at(t.domain, values));
  }
}

// --- as perfield's mesh -------------------------------------------------------------------------
int32_t perfield_type_of(int type) noexcept {
  switch (type) {
    case kInt8:
      return PERFIELD_INT8;
    case kUint8:
      return PERFIELD_UINT8;
    case kInt32:
    case kUint32:
      return PERFIELD_INT32;
    case kInt64:
    case kUint64:
      return PERFIELD_INT64;
    case kFloat32:
      return PERFIELD_FLOAT32;
    case kFloat64:
      return PERFIELD_FLOAT64;
    default:
      return 0;
  }
}

int64_t bytes_of(int32_t type) noexcept {
  return type == PERFIELD_INT8 || type == PERFIELD_UINT8      ? 1
         : type == PERFIELD_INT32 || type == PERFIELD_FLOAT32 ? 4
                                                              : 8;
}

// One block that is being described. Arrays that perfield.h cannot name where they lie are copied.
class Block {
 public:
  Block(const Conduit& conduit, const Topology& topology, int number) noexcept
      : conduit_(conduit), t_(topology), number_(number) {
    for (int d = 0; d < 3; ++d) extent_[2 * d + 1] = topology.size[d] - 1;
  }
  void describe() noexcept {
    if (t_.kind == Topology::uniform) return image();
    if (t_.kind == Topology::rectilinear) return rectilinear();
    perfield_array points;
    if (!points_at(&points)) return warn_of_memory();
    if (t_.kind == Topology::structured)
      perfield_mesh_structured(number_, extent_, points);
    else
      unstructured(points);
  }
  // Behind the block itself.
  void mark_ghosts() noexcept;

 private:
  void image() noexcept;
  void rectilinear() noexcept;
  void unstructured(const perfield_array& points) noexcept;
  bool alike(const perfield_array& points) noexcept;
  bool points_at(perfield_array* points) noexcept;
  bool cells(Rows<int64_t>* numbers, Rows<int64_t>* offsets, Rows<unsigned char>* types) noexcept;
  perfield_array reals(const Numbers& numbers, Rows<double>* copy) noexcept;
  static void warn_of_memory() noexcept {
    perfield_warn_once_per_node(
        "adaptor-mesh-memory",
        "a block of the program's mesh found no memory to be kept in; it is left "
        "out of perfield's pictures");
  }

  const Conduit& conduit_;
  const Topology& t_;
  const int number_;
  int64_t extent_[6] = {};
  Rows<double> copies_[3];
};

void Block::image() noexcept {
  constexpr Axes origins{{"origin/x", "origin/y", "origin/z"}};
  constexpr Axes spacings{{"spacing/dx", "spacing/dy", "spacing/dz"}};
  double origin[3], spacing[3];
  for (int d = 0; d < 3; ++d) {
    origin[d] = conduit_.number_at(t_.coordset, origins.names[d], 0);
    spacing[d] = conduit_.number_at(t_.coordset, spacings.names[d], 1);
  }
  perfield_mesh_image(number_, extent_, origin, spacing);
}

perfield_array Block::reals(const Numbers& numbers, Rows<double>* copy) noexcept {
  const int32_t type = perfield_type_of(numbers.type);
  if (type && numbers.n && numbers.stride > 0 && numbers.stride % bytes_of(type) == 0)
    return {numbers.data, type, 1, 1, {numbers.n, 1, 1}, {numbers.stride / bytes_of(type), 0, 0}};
  copy->clear();
  for (int64_t i = 0; i < numbers.n; ++i) copy->push(numbers.real(i));
  return perfield_array_of(copy->data(), PERFIELD_FLOAT64, 1, int64_t(copy->size()));
}

void Block::rectilinear() noexcept {
  perfield_array axes[3];
  for (int d = 0; d < 3; ++d) {
    const Numbers numbers = conduit_.numbers_at(t_.coordset, kValues.names[d]);
    axes[d] = reals(numbers, &copies_[d]);
    if (numbers.n) continue;
    copies_[d].push(0);  // a flat mesh lies at 0
    axes[d] = perfield_array_of(copies_[d].data(), PERFIELD_FLOAT64, 1, 1);
  }
  perfield_mesh_rectilinear(number_, extent_, axes[0], axes[1], axes[2]);
}

// Arrays of x, y and z, or one array that holds them in turn. What is missing is 0.
bool Block::points_at(perfield_array* points) noexcept {
  Numbers axes[3];
  for (int d = 0; d < 3; ++d) axes[d] = conduit_.numbers_at(t_.coordset, kValues.names[d]);
  const int64_t n = t_.n_points;
  const int32_t type = perfield_type_of(axes[0].type);
  const int64_t width = bytes_of(type);
  const auto apart = [&](int d) { return int64_t(axes[d].data) - int64_t(axes[d - 1].data); };
  bool in_place = (type == PERFIELD_FLOAT32 || type == PERFIELD_FLOAT64) && axes[0].stride > 0 &&
                  axes[0].stride % width == 0;
  for (int d = 1; d < 3; ++d)
    in_place = in_place && axes[d].type == axes[0].type && axes[d].n == n &&
               axes[d].stride == axes[0].stride && apart(d) == apart(1) && apart(d) % width == 0;
  if (in_place) {
    *points = {axes[0].data, type, 3, apart(1) / width, {n, 1, 1}, {axes[0].stride / width, 0, 0}};
  } else {
    if (!copies_[0].resize(size_t(3 * n))) return false;
    for (int64_t i = 0; i < n; ++i)
      for (int d = 0; d < 3; ++d)
        copies_[0][size_t(3 * i + d)] = i < axes[d].n ? axes[d].real(i) : 0;
    *points = perfield_array_of(copies_[0].data(), PERFIELD_FLOAT64, 3, n);
  }
  if (t_.kind == Topology::structured) {
    const int64_t step = points->stride[0];
    for (int d = 0; d < 3; ++d) points->size[d] = t_.size[d];
    points->stride[1] = step * t_.size[0];
    points->stride[2] = step * t_.size[0] * t_.size[1];
  }
  return true;
}

// The cells as VTK lists them. False without memory, or if an array is too short.
bool Block::cells(Rows<int64_t>* numbers, Rows<int64_t>* offsets,
                  Rows<unsigned char>* types) noexcept {
  const bool only_points = t_.kind == Topology::points;
  const char* const name = only_points ? "point" : conduit_.text_at(t_.topology, "elements/shape");
  const Shape* const shape = shape_of(name);  // nullptr: mixed
  const Numbers connectivity = conduit_.numbers_at(t_.topology, "elements/connectivity");
  const Numbers sizes = conduit_.numbers_at(t_.topology, "elements/sizes");
  const Numbers begins = conduit_.numbers_at(t_.topology, "elements/offsets");
  const Numbers shapes = conduit_.numbers_at(t_.topology, "elements/shapes");
  const ShapeMap map(conduit_, t_.topology);
  const auto n = size_t(t_.n_cells);
  if (!offsets->resize(n + 1) || !types->resize(n)) return false;
  numbers->clear();
  (*offsets)[0] = 0;
  int64_t next = 0;
  for (size_t cell = 0; cell < n; ++cell) {
    const auto at = int64_t(cell);
    int64_t length = shape && shape->n_points ? shape->n_points
                     : at < sizes.n           ? sizes.whole(at)
                                              : -1;
    const int64_t begin = shape && shape->n_points ? next : at < begins.n ? begins.whole(at) : next;
    if (shape) {
      (*types)[cell] = static_cast<unsigned char>(shape->vtk_type);
    } else {
      const int64_t kind = at < shapes.n ? shapes.whole(at) : -1;
      (*types)[cell] = kind >= 0 && kind < ShapeMap::kMost ? map.types[kind] : 0;
      if (!(*types)[cell]) length = -1;
    }
    if (length < 0 || begin < 0) return false;
    if (!only_points && begin + length > connectivity.n) return false;
    for (int64_t i = 0; i < length; ++i)
      if (!numbers->push(only_points ? at : connectivity.whole(begin + i))) return false;
    next = begin + length;
    (*offsets)[cell + 1] = int64_t(numbers->size());
  }
  return true;
}

// Cells of one shape are listed where they lie.
bool Block::alike(const perfield_array& points) noexcept {
  const Shape* const shape = shape_of(conduit_.text_at(t_.topology, "elements/shape"));
  const Numbers numbers = conduit_.numbers_at(t_.topology, "elements/connectivity");
  const int32_t type = perfield_type_of(numbers.type);
  if (t_.kind == Topology::points || !t_.n_cells || !shape || !shape->n_points || !type ||
      type == PERFIELD_FLOAT32 || type == PERFIELD_FLOAT64 || numbers.stride % bytes_of(type))
    return false;
  Rows<int64_t> offsets;
  if (!offsets.resize(size_t(t_.n_cells) + 1)) return false;
  for (size_t cell = 0; cell < offsets.size(); ++cell)
    offsets[cell] = int64_t(cell) * shape->n_points;
  const auto kind = static_cast<unsigned char>(shape->vtk_type);
  perfield_mesh_unstructured(number_, points, reals(numbers, &copies_[1]),
                             perfield_array_of(offsets.data(), PERFIELD_INT64, 1, t_.n_cells + 1),
                             perfield_array_of(&kind, PERFIELD_UINT8, 1, 1), 0);
  return true;
}

void Block::unstructured(const perfield_array& points) noexcept {
  if (alike(points)) return;
  Rows<int64_t> numbers, offsets;
  Rows<unsigned char> types;
  if (!cells(&numbers, &offsets, &types)) return warn_of_unknown(conduit_, t_);
  perfield_mesh_unstructured(
      number_, points,
      perfield_array_of(numbers.data(), PERFIELD_INT64, 1, int64_t(numbers.size())),
      perfield_array_of(offsets.data(), PERFIELD_INT64, 1, int64_t(offsets.size())),
      perfield_array_of(types.data(), PERFIELD_UINT8, 1, int64_t(types.size())), 0);
}

void Block::mark_ghosts() noexcept {
  for (const char* path : kGhosts) {
    conduit_node* const field = conduit_.at(t_.domain, path);
    const Numbers marks = conduit_.numbers_at(field, "values");
    const bool on_cells = same(conduit_.text_at(field, "association"), "element");
    if (!marks.n || marks.n != (on_cells ? t_.n_cells : t_.n_points)) continue;
    Rows<unsigned char> bytes;
    if (!bytes.resize(size_t(marks.n))) return;
    for (int64_t i = 0; i < marks.n; ++i) bytes[size_t(i)] = marks.whole(i) != 0;
    perfield_mesh_ghosts(number_, on_cells ? PERFIELD_CELLS : PERFIELD_POINTS,
                         perfield_array_of(bytes.data(), PERFIELD_UINT8, 1, marks.n));
    return;
  }
}

Forever<MeshKeeper> keeper;

}  // namespace

// --- domains and topologies ---------------------------------------------------------------------
void domains_of(const Conduit& conduit, conduit_node* mesh, Rows<conduit_node*>* domains) noexcept {
  if (!mesh) return;
  if (conduit.has(mesh, "topologies")) {
    domains->push(mesh);
    return;
  }
  for (int64_t i = 0, n = conduit.children(mesh); i < n; ++i)
    if (conduit.has(conduit.child(mesh, i), "topologies")) domains->push(conduit.child(mesh, i));
}

void topologies_of(const Conduit& conduit, conduit_node* domain,
                   Rows<Topology>* topologies) noexcept {
  conduit_node* const all = conduit.at(domain, "topologies");
  for (int64_t i = 0, n = conduit.children(all); i < n; ++i) {
    Topology t{};
    t.domain = domain;
    t.topology = conduit.child(all, i);
    const char* const coordset = conduit.text_at(t.topology, "coordset");
    char path[512];
    if (!coordset || snprintf(path, sizeof path, "coordsets/%s", coordset) >= int(sizeof path))
      continue;
    t.coordset = conduit.at(domain, path);
    if (!t.coordset) continue;
    measure(conduit, &t);
    topologies->push(t);
  }
}

// --- MeshKeeper ---------------------------------------------------------------------------------
MeshKeeper& mesh_keeper() noexcept { return keeper.it; }

bool MeshKeeper::is_switched_on() noexcept {
  if (state_ == unasked) {
    char word[8];
    perfield_source_setting("catalyst_mesh", word, sizeof word);
    const bool others = perfield_source_has_mesh();  // described by the program, or on disk
    state_ = !strcmp(word, "true") && !others ? on : off;
    begun_ns_ = now_ns();
  }
  return state_ == on;
}

// The first mesh is always kept; changed ones as long as that takes less than 2 % of the time.
bool MeshKeeper::has_time() noexcept {
  constexpr uint64_t kShare = 50;
  if (!spent_ns_ || kShare * spent_ns_ <= now_ns() - begun_ns_) return true;
  perfield_warn_once_per_node(
      "adaptor-mesh-changes",
      "the program's mesh changes so often that keeping each state would take "
      "more than 2 % of the time; some steps are shown on the mesh kept before");
  return false;
}

void MeshKeeper::see(const Conduit& conduit, Rows<conduit_node*>& domains) noexcept {
  if (!is_switched_on()) return;
  topologies_.clear();
  for (conduit_node* domain : domains) topologies_of(conduit, domain, &topologies_);
  Fingerprint print;
  size_t n_known = 0;
  for (const Topology& t : topologies_) {
    if (t.kind == Topology::unknown) {
      warn_of_unknown(conduit, t);
      continue;
    }
    ++n_known;
    add(conduit, t, &print);
  }
  if (!n_known || print.hash() == fingerprint_ || !has_time()) return;
  const uint64_t before = now_ns();
  if (fingerprint_) perfield_mesh_changed();
  fingerprint_ = print.hash();
  describe(conduit, topologies_);
  spent_ns_ += now_ns() - before;
}

void MeshKeeper::describe(const Conduit& conduit, Rows<Topology>& topologies) noexcept {
  int number = 0;
  for (const Topology& t : topologies) {
    if (t.kind == Topology::unknown) continue;
    Block block(conduit, t, number++);
    block.describe();
    block.mark_ghosts();
  }
}

// --- AddedFields --------------------------------------------------------------------------------
void AddedFields::release() noexcept {
  for (double* numbers : numbers_) perfield::release_constant(numbers);
  numbers_.clear();
}

void AddedFields::add(const Conduit& conduit, Rows<conduit_node*>& domains,
                      Rows<perfield_value>& values) noexcept {
  if (!values.size() || !domains.size()) return;
  const Where where = wanted().where();
  Rows<Topology> firsts;
  int64_t most = 1;
  for (conduit_node* domain : domains) {
    Rows<Topology> all;
    topologies_of(conduit, domain, &all);
    if (!all.size() || !all[0].n_cells) continue;  // without cells, ParaView has no points either
    if (!firsts.push(all[0])) continue;
    const int64_t n = where == Where::cells ? all[0].n_cells : all[0].n_points;
    if (n > most) most = n;
  }
  for (const perfield_value& value : values) {
    double* const numbers = perfield::constant_numbers(value.value, size_t(most));
    if (!numbers) return;
    if (!numbers_.push(numbers)) return perfield::release_constant(numbers);
    char path[320];
    for (const Topology& t : firsts) {
      if (where == Where::field) {
        snprintf(path, sizeof path, "state/fields/%s", value.name);
        if (!conduit.has(t.domain, path)) conduit.set_numbers(t.domain, path, numbers, 1);
        continue;
      }
      snprintf(path, sizeof path, "fields/%s", value.name);
      const int64_t n = where == Where::cells ? t.n_cells : t.n_points;
      if (conduit.has(t.domain, path) || n <= 0) continue;  // the program's own; nothing to colour
      char* const topology = conduit.name(t.topology);
      conduit_node* const field = conduit.make(t.domain, path);
      conduit.set_text(field, "association", where == Where::cells ? "element" : "vertex");
      conduit.set_text(field, "topology", topology);
      conduit.set_numbers(field, "values", numbers, n);
      free(topology);
    }
  }
}

}  // namespace perfield::adaptors
