// SPDX-License-Identifier: BSD-3-Clause
//
// original_plugin.cpp - the calls of the original plug-in for Fortran: cat_sco_run_ and the others,
// with arguments by address. Fortran users write `call cat_sco_run(...)` or `call
// cat_sco_run_(...)`. Compilers append one underscore; some append two to names that contain one. C
// and C++ programs must include simulation_interface.h, which calls perfield.h.
#define PERFIELD_BUILDING_LIBRARY
#include <cmath>
#include <cstdint>

#include "perfield.h"
#include "recorder/source.h"

namespace {

// Below any variable's address. A C program that passes the step number by value passes less, at
// least in its first steps.
constexpr uintptr_t kLowestAddress = 65536;

void close_step(const int32_t* step, const double* time) {
  const auto number = reinterpret_cast<uintptr_t>(step);
  if (number >= kLowestAddress) return perfield_step(*step, *time);
  perfield_warn_once_per_node(
      "cat_sco",
      "cat_sco_run_ was called with a number where Fortran passes an address: the "
      "step is closed, but its time is unknown; C and C++ programs must include "
      "simulation_interface.h, which passes both");
  perfield_step(static_cast<int32_t>(number), std::nan(""));
}

}  // namespace

#define PERFIELD_EXPORT extern "C" __attribute__((visibility("default")))

#define PERFIELD_CAT_SCO(underscores)                                                      \
  PERFIELD_EXPORT void cat_sco_initialize##underscores(void) { perfield_initialize(); }    \
  PERFIELD_EXPORT void cat_sco_finalize##underscores(void) { perfield_finalize(); }        \
  PERFIELD_EXPORT void cat_sco_pipeline_next##underscores(void) {                          \
    perfield_pipeline_next_at(reinterpret_cast<uintptr_t>(__builtin_return_address(0)));   \
  }                                                                                        \
  PERFIELD_EXPORT void cat_sco_run##underscores(const int32_t* step, const double* time) { \
    close_step(step, time);                                                                \
  }

PERFIELD_CAT_SCO(_)
PERFIELD_CAT_SCO(__)
PERFIELD_CAT_SCO(___)
