// SPDX-License-Identifier: BSD-3-Clause
//
// thread.cpp - finds the thread of an event; asks Score-P once per thread.
#include "sources/scorep/thread.hpp"

#include "recorder/source.h"
#include "sources/scorep/regions.hpp"
#include "sources/scorep/score_p.hpp"

namespace perfield::scorep {
namespace {

std::atomic<uint64_t> of_no_thread{0};

}  // namespace

__thread Thread this_thread __attribute__((tls_model("initial-exec")));

void start_looking() noexcept {
  source_state = perfield_source_state();
  perfield_source_counts_dropped("before_waking",
                                 "regions were over before MPI_Init, where Score-P lets perfield "
                                 "begin: they are not measured",
                                 &EarlyRegions::left_out);
  perfield_source_counts_dropped("of_no_thread",
                                 "events of devices or metrics are not measured: perfield's "
                                 "Score-P plugin follows the program's threads",
                                 &of_no_thread);
}

bool is_cpu_thread(Location* location) noexcept {
  return ask<int>(kLocationGetType, kCpuThread, location) == kCpuThread;
}

bool take_location(Location* location) noexcept {
  if (!is_cpu_thread(location)) {
    of_no_thread.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  has_woken.store(true, std::memory_order_relaxed);
  this_thread.location = location;
  this_thread.stamps = Stamps();
  enter_early_regions();
  return true;
}

}  // namespace perfield::scorep
