// SPDX-License-Identifier: BSD-3-Clause
//
// meshes.cpp - how many cells and points the meshes of this rank have. OpenFOAM sets the sizes of
// every mesh, also after refinement and redistribution, by primitiveMesh::reset. A program with
// several regions has several meshes, which add up.
#include <atomic>
#include <cstdint>

#include "recorder/source.h"
#include "sources/next.hpp"

namespace {

using perfield::Next;

perfield_quantity cells, points;

struct Meshes {
  static constexpr int kMost = 256;

  struct {
    const void* mesh;
    uint64_t cells, points;
  } rows[kMost];
  int size;
  bool incomplete;  // a mesh found no room
  // Read by the thread that closes a step.
  std::atomic<uint64_t> all_cells, all_points;
  std::atomic<bool> are_known;

  void note(const void* mesh, int64_t n_points, int64_t n_cells) noexcept {
    int i = 0;
    while (i < size && rows[i].mesh != mesh) ++i;
    if (i == kMost) {
      incomplete = true;
    } else {
      if (i == size) ++size;
      rows[i] = {mesh, uint64_t(n_cells > 0 ? n_cells : 0), uint64_t(n_points > 0 ? n_points : 0)};
    }
    add_up();
  }

  void forget(const void* mesh) noexcept {
    for (int i = 0; i < size; ++i) {
      if (rows[i].mesh != mesh) continue;
      rows[i] = rows[--size];
      return add_up();
    }
  }

  void add_up() noexcept {
    uint64_t n_cells = 0, n_points = 0;
    for (int i = 0; i < size; ++i) {
      n_cells += rows[i].cells;
      n_points += rows[i].points;
    }
    all_cells.store(n_cells, std::memory_order_relaxed);
    all_points.store(n_points, std::memory_order_relaxed);
    are_known.store(size && !incomplete, std::memory_order_relaxed);
  }
};

Meshes meshes;

void before_close() {
  if (!meshes.are_known.load(std::memory_order_relaxed)) return;
  perfield_quantity_set(cells, meshes.all_cells.load(std::memory_order_relaxed));
  perfield_quantity_set(points, meshes.all_points.load(std::memory_order_relaxed));
}

__attribute__((constructor)) void announce() {
  const auto define = [](const char* name, const char* help) {
    return perfield_quantity_define(name, "1", PERFIELD_PER_RANK, PERFIELD_STEPS_LAST,
                                    PERFIELD_THREADS_MAX, help);
  };
  cells = define("cells", "cells of the rank's mesh, over all blocks and regions");
  points = define("points", "points of the rank's mesh, over all blocks and regions");
  perfield_source_before_close(before_close);
}

}  // namespace

// --- what the program calls instead of libOpenFOAM.so -------------------------------------------
// Foam::label has 32 bits (i) or 64 (l). The other reset, with a list of cells, calls this one.
#define PERFIELD_MESH_SIZES(function, Label, symbol)                                              \
  void function(void* mesh, Label n_points, Label n_internal_faces, Label n_faces, Label n_cells) \
      PERFIELD_HOOK(symbol);                                                                      \
  void function(void* mesh, Label n_points, Label n_internal_faces, Label n_faces,                \
                Label n_cells) {                                                                  \
    static Next<void(void*, Label, Label, Label, Label)> real{#symbol};                           \
    real.get()(mesh, n_points, n_internal_faces, n_faces, n_cells);                               \
    meshes.note(mesh, n_points, n_cells);                                                         \
  }
#define PERFIELD_MESH_END(function, symbol)        \
  void function(void* mesh) PERFIELD_HOOK(symbol); \
  void function(void* mesh) {                      \
    static Next<void(void*)> real{#symbol};        \
    meshes.forget(mesh);                           \
    real.get()(mesh);                              \
  }

PERFIELD_MESH_SIZES(reset_i, int32_t, _ZN4Foam13primitiveMesh5resetEiiii)
PERFIELD_MESH_SIZES(reset_l, int64_t, _ZN4Foam13primitiveMesh5resetEllll)
PERFIELD_MESH_SIZES(mesh_i_c1, int32_t, _ZN4Foam13primitiveMeshC1Eiiii)
PERFIELD_MESH_SIZES(mesh_i_c2, int32_t, _ZN4Foam13primitiveMeshC2Eiiii)
PERFIELD_MESH_SIZES(mesh_l_c1, int64_t, _ZN4Foam13primitiveMeshC1Ellll)
PERFIELD_MESH_SIZES(mesh_l_c2, int64_t, _ZN4Foam13primitiveMeshC2Ellll)
PERFIELD_MESH_END(mesh_d1, _ZN4Foam13primitiveMeshD1Ev)
PERFIELD_MESH_END(mesh_d2, _ZN4Foam13primitiveMeshD2Ev)
