// SPDX-License-Identifier: BSD-3-Clause
//
// values_inside.hpp - the fields of a region's own work and its waiting, of one rank: time in calls
// inside it, by class, and without them. By the arithmetic of perfield/run/inside_values.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "format/calls.h"

namespace perfield {

// Seconds inside one region, and those of several parts of it added up.
struct SecondsInside {
  static constexpr int kFiles = kMpiClasses;  // behind the classes of MPI calls
  double of[kMpiClasses + 1] = {};
};

// What is known of a rank.
struct Watched {
  bool mpi, files, alone;
};

// Numbers in inside_fields(stem) and values of a region's fields. classes: those of which there
// was time inside any region so far, as bits; none: no fields. region_time: NaN if not entered.
std::vector<std::pair<size_t, double>> values_inside(uint32_t classes, double region_time,
                                                     const SecondsInside& seconds,
                                                     const Watched& watched);

}  // namespace perfield
