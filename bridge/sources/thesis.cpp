// SPDX-License-Identifier: BSD-3-Clause
//
// thesis.cpp - the calls of the original plug-in as Fortran finds them: cat_sco_run_ and its like,
// with arguments by address. A Fortran source says `call cat_sco_run(...)` or, as its users do,
// `call cat_sco_run_(...)`: compilers append one underscore, some two to names that hold one. C and
// C++ have simulation_interface.h, which calls perfield.h.
#define PERFIELD_BUILDING_LIBRARY
#include <atomic>
#include <cmath>

#include "perfield.h"
#include "recorder/events.h"

namespace {

// No address of a program lies below; the numbers of its first steps do.
constexpr uintptr_t kLowestAddress = 65536;

// A C program that declared the call by itself passes the step's number where Fortran passes an
// address. Its first step shows it, and from then on no address is believed; its time is lost.
void run(const int32_t* step, const double* time) {
  static std::atomic<bool> by_value{false};
  const auto number = reinterpret_cast<uintptr_t>(step);
  if (number < kLowestAddress && !by_value.exchange(true))
    perfield_source_tell("cat_sco",
                         "cat_sco_run_ was called with a number where Fortran passes an address: "
                         "steps are closed, but their time is unknown; C and C++ programs include "
                         "simulation_interface.h, which passes both");
  if (by_value.load(std::memory_order_relaxed))
    perfield_run(static_cast<int32_t>(number), std::nan(""));
  else
    perfield_run(*step, *time);
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
    run(step, time);                                                                       \
  }

PERFIELD_CAT_SCO(_)
PERFIELD_CAT_SCO(__)
PERFIELD_CAT_SCO(___)
