// SPDX-License-Identifier: BSD-3-Clause
//
// kernel_counters.hpp - one thread's kernel counters (perf_event_open). The thread itself reads
// them without a system call where processor and kernel allow that, else with one read for all. The
// thread that closes a step always reads them with read. Allocates nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "configuration/kernel_events.hpp"

struct perf_event_mmap_page;

namespace perfield {

class Counters;

class KernelCounters {
 public:
  // Whether this thread can count such events: 0, or the errno. user_mode_only: set if the kernel
  // allows counting in user mode only.
  static int try_out(const KernelEvent& event, bool* user_mode_only) noexcept;

  // --- by the thread itself -------------------------------------------------------------------
  bool is_open() const noexcept { return is_open_; }
  // Opens the chosen counters on this thread and starts counting.
  void open(const Counters& counters) noexcept;
  void close() noexcept;
  // Writes each value to its counter's number. Leaves values that cannot be read unchanged.
  void read(uint64_t* values) noexcept;

  // --- by another thread ----------------------------------------------------------------------
  void read_from_outside(uint64_t* values) noexcept;

  // Counters shared the processor's registers, so their values are estimates.
  bool shared_registers() const noexcept { return shared_.load(std::memory_order_relaxed); }

  // Threads without counters: their descriptors would be too many for the process.
  static uint64_t refused_threads() noexcept;

 private:
  struct Event {
    int descriptor;
    int number;  // of the counter
    perf_event_mmap_page* page;
  };
  // Events that count together and are read by one call: [first, end) of events_.
  struct Group {
    int first, end;
  };

  bool add(const KernelEvent& event, bool user_mode_only, int number) noexcept;
  void read_groups(uint64_t* values) noexcept;
  bool read_registers(uint64_t* values) const noexcept;

  Event events_[kMostChosenCounters] = {};
  Group groups_[kMostChosenCounters] = {};
  int n_events_ = 0, n_groups_ = 0;
  bool is_open_ = false;
  bool by_registers_ = false;
  std::atomic<bool> shared_{false};
};

}  // namespace perfield
