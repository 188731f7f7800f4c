// SPDX-License-Identifier: BSD-3-Clause
//
// original_plugin.cpp - the calls of the original plug-in as Fortran finds them: cat_sco_run_ and
// its like, with arguments by address. A Fortran source says `call cat_sco_run(...)` or, as its
// users do, `call cat_sco_run_(...)`: compilers append one underscore, some two to names that hold
// one. C and C++ have simulation_interface.h, which calls perfield.h.
#define PERFIELD_BUILDING_LIBRARY
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>

#include "perfield.h"
#include "recorder/source.h"

namespace {

// No address of a program lies below; the numbers of its first steps do.
constexpr uintptr_t kLowestAddress = 65536;

// Whether a Fortran variable may lie there: aligned, and in memory that this process has.
bool can_be_address(const void* address, uintptr_t alignment) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident;
  if (number < kLowestAddress || number % alignment != 0) return false;
  return mincore(reinterpret_cast<void*>(number / page * page), 1, &resident) == 0 ||
         errno != ENOMEM;
}

// A C program that declared the call by itself passes the step's number where Fortran passes an
// address. Its first step shows it, and from then on no address is believed; its time is lost.
void run(const int32_t* step, const double* time) {
  static std::atomic<bool> by_value{false};
  static const bool first_by_value = !can_be_address(step, 4) || !can_be_address(time, 4);
  const auto number = reinterpret_cast<uintptr_t>(step);
  const bool seen_now = first_by_value || number < kLowestAddress;
  if (seen_now && !by_value.exchange(true))
    perfield_source_tell("cat_sco",
                         "cat_sco_run_ was called with a number where Fortran passes an address: "
                         "steps are closed, but their time is unknown; C and C++ programs include "
                         "simulation_interface.h, which passes both");
  if (by_value.load(std::memory_order_relaxed))
    perfield_step(static_cast<int32_t>(number), std::nan(""));
  else
    perfield_step(*step, *time);
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
