// SPDX-License-Identifier: BSD-3-Clause
//
// process_watch.hpp - the kernel's figures of this process from entry to entry: CPU time, context
// switches, page faults, resident memory and the allowed CPUs; how long threads waited for a CPU,
// how long a quota kept them from running, and how long a hypervisor took their CPUs. Used under
// the session's lock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "format/entry.hpp"
#include "platform/cpu_quota.hpp"
#include "platform/process.hpp"
#include "platform/stolen_time.hpp"
#include "recorder/recorder.hpp"
#include "session/thread_watch.hpp"

namespace perfield {

class ProcessWatch {
 public:
  // Call it on the program's main thread, once the recorder has started.
  void start(Recorder& r, uint64_t now);
  // Reads all that is due; at the end, everything.
  void look(Recorder& r, uint64_t now, bool is_end) noexcept;
  // elsewhere: the calling thread is not one of the program's.
  void fill(StepBody* body, bool elsewhere) noexcept;
  // Closes the interval: what look found last belongs to the entry that closes now.
  void entry_written() noexcept;

  const std::string& cpus() const noexcept { return threads_.cpus(); }
  const std::vector<std::string>& cpus_of_threads() const noexcept {
    return threads_.cpus_of_threads();
  }
  // Whether the allowed CPUs have changed; looks once a second, and at the end.
  bool cpus_changed(const Clock& clock, uint64_t now, bool is_end);

 private:
  // A time that only grows, which becomes a quantity of the rank.
  struct GrowingTime {
    perfield_quantity quantity = 0;  // 0: the kernel does not report it
    uint64_t begin_ns = 0, last_ns = 0;
    uint64_t due_ticks = 0;
  };
  template <class Read>
  void look(Recorder& r, GrowingTime* time, uint64_t now, bool is_end, Read read) noexcept;

  pid_t main_thread_ = 0;
  ThreadWatch threads_;
  CpuQuota quota_;
  StolenTime stolen_;
  GrowingTime run_delay_, throttled_, stolen_time_;
  ProcessFigures begin_, last_;
  KeptFile statm_, stat_;  // of the process, and of its main thread
  uint64_t resident_ = 0, resident_ticks_ = 0, cpus_ticks_ = 0;
};

}  // namespace perfield
