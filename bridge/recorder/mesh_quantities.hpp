// SPDX-License-Identifier: BSD-3-Clause
//
// mesh_quantities.hpp - the quantities of the rank that say how large its piece of the mesh is. The
// session sets them before each step is written, so a step without a new mesh keeps the values of
// the last one. They are defined once a size is known: a rank without a mesh has no number.
#pragma once

#include "recorder/source.h"

namespace perfield {

struct MeshQuantities {
  perfield_quantity cells = 0, points = 0, ghost_cells = 0;
};

// define(name, unit, scope, over steps, over threads, help): like perfield_quantity_define.
template <class Define>
MeshQuantities define_mesh_quantities(Define define) noexcept {
  const auto number_of = [&define](const char* name, const char* help) {
    return define(name, "1", PERFIELD_PER_RANK, PERFIELD_STEPS_LAST, PERFIELD_THREADS_MAX, help);
  };
  return {number_of("cells", "cells of the rank's piece of the mesh, without ghost cells"),
          number_of("points", "points of the rank's piece of the mesh, without ghost points"),
          number_of("ghost_cells", "ghost cells beside the rank's own")};
}

}  // namespace perfield
