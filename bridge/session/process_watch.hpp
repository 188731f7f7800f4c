// SPDX-License-Identifier: BSD-3-Clause
//
// process_watch.hpp - what the kernel says of this process from entry to entry: CPU time, switches,
// faults, resident memory and the CPUs that it may use. Used under the session's lock.
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
  // On the main thread of the program.
  void start(uint64_t now);
  // elsewhere: the calling thread is not the program's.
  void fill(StepBody* body, const Clock& clock, uint64_t now, bool elsewhere) noexcept;
  // What fill said last belongs to an entry that is closed now.
  void entry_written() noexcept { begin_ = last_; }

  const std::string& cpus() const noexcept { return cpus_; }
  // Whether these have changed; looks once a second at most.
  bool cpus_changed(const Clock& clock, uint64_t now);

 private:
  ProcessFigures begin_, last_;
  uint64_t resident_ = 0, resident_ticks_ = 0, cpus_ticks_ = 0;
  pid_t main_thread_ = 0;
  std::string cpus_;
};

}  // namespace perfield
