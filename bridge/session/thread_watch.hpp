// SPDX-License-Identifier: BSD-3-Clause
//
// thread_watch.hpp - the threads of the program that compute: on which CPUs each may run, and how
// long they were ready to run but had no CPU (the kernel's run delay). Used under the session's
// lock. Never fails: what the kernel does not report is not known. Wall time minus CPU time would
// not do: it also holds sleep.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "platform/process.hpp"
#include "platform/threads.hpp"

namespace perfield {

class ThreadWatch {
 public:
  // Call it on the program's main thread.
  void start();

  // Reads the main thread's run delay, where it may have grown; every 10 ms, and at the end, also
  // that of the others and which of them compute. n_switches: context switches of the process so
  // far, read before.
  void look(uint64_t now_ns, bool by_main_thread, uint64_t n_switches, bool is_end) noexcept;
  // Whether the kernel counts run delays; and that of the thread that has most of it since start(),
  // which only grows.
  bool counts_delay() const noexcept { return counts_delay_; }
  uint64_t run_delay_ns() const noexcept { return delay_ns_; }

  // The CPUs on which one thread or more that computes may run, also as a list; and the lists of
  // each of several threads. As of the last look_at_cpus().
  const CpuMask& mask() const noexcept { return mask_; }
  const std::string& cpus() const noexcept { return cpus_; }
  const std::vector<std::string>& cpus_of_threads() const noexcept { return of_threads_; }
  // Looks again; returns whether they have changed.
  bool look_at_cpus();

 private:
  struct Thread {
    pid_t id;
    uint64_t used_before_ns, used_ns, delay_before_ns;
    bool is_there;
    KeptFile schedstat;
  };
  void list_threads() noexcept;
  // The main thread, and those that used at least a tenth of the CPU time of the busiest.
  bool computes(const Thread& thread) const noexcept;
  bool read_delay(Thread* thread, uint64_t* delay_ns) noexcept;
  void note_delay(Thread* thread) noexcept;

  ThreadList list_;
  std::vector<Thread> threads_;  // the main thread first
  uint64_t n_listed_ = 0, busiest_ns_ = 0;
  uint64_t looked_ns_ = 0, delay_ns_ = 0;
  static constexpr uint64_t kUnknown = UINT64_MAX;
  uint64_t n_switches_ = kUnknown;  // when the main thread looked last
  bool counts_delay_ = false;
  CpuMask mask_;
  std::string cpus_;
  std::vector<std::string> of_threads_;
};

}  // namespace perfield
