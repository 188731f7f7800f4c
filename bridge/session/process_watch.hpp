// SPDX-License-Identifier: BSD-3-Clause
//
// process_watch.hpp - the kernel's figures of this process from entry to entry: CPU time, context
// switches, page faults, resident memory and the allowed CPUs. Used under the session's lock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "format/entry.hpp"
#include "platform/clock.hpp"
#include "platform/process.hpp"

namespace perfield {

class ProcessWatch {
 public:
  // Call it on the program's main thread.
  void start(uint64_t now);
  // elsewhere: the calling thread is not one of the program's.
  void fill(StepBody* body, const Clock& clock, uint64_t now, bool elsewhere) noexcept;
  // Closes the interval: what fill reported last belongs to the entry that closes now.
  void entry_written() noexcept { begin_ = last_; }

  const std::string& cpus() const noexcept { return cpus_; }
  // Whether the allowed CPUs have changed; looks once a second at most.
  bool cpus_changed(const Clock& clock, uint64_t now);

 private:
  ProcessFigures begin_, last_;
  KeptFile statm_, stat_;  // of the process, and of its main thread
  uint64_t resident_ = 0, resident_ticks_ = 0, cpus_ticks_ = 0;
  pid_t main_thread_ = 0;
  std::string cpus_;
};

}  // namespace perfield
