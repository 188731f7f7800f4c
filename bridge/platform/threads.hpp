// SPDX-License-Identifier: BSD-3-Clause
//
// threads.hpp - the threads of this process as the kernel lists them, and the CPU time of each. The
// list is kept open, so reading it again needs no path. Used by one thread at a time; never throws.
#pragma once

#include <dirent.h>
#include <time.h>

#include <cstdint>
#include <cstdlib>

#include "platform/kept_file.hpp"
#include "platform/kernel_calls.hpp"

namespace perfield {

// The CPU time that a thread has used; 0 if there is no such thread. Its clock is what
// pthread_getcpuclockid makes of a thread's number in the kernel.
inline uint64_t cpu_time_ns(pid_t thread) noexcept {
  timespec t;
  if (clock_gettime(clockid_t((~unsigned(thread) << 3) | 6), &t) != 0) return 0;
  return uint64_t(t.tv_sec) * 1'000'000'000u + uint64_t(t.tv_nsec);
}

class ThreadList {
 public:
  // The number of threads; 0 if the kernel does not list them.
  uint64_t count() noexcept {
    struct stat about;
    const int list = open();
    if (list < 0 || fstat(list, &about) != 0 || about.st_nlink < 2) return 0;
    return about.st_nlink - 2;  // without "." and ".."
  }

  // Calls see(thread) for each thread.
  template <class See>
  void each(See see) noexcept {
    alignas(dirent64) char room[4096];
    const int list = open();
    if (list < 0 || lseek(list, 0, SEEK_SET) != 0) return;
    for (ssize_t n; (n = read_directory(list, room, sizeof room)) > 0;)
      for (ssize_t at = 0; at < n;) {
        const auto* entry = reinterpret_cast<const dirent64*>(room + at);
        if (const int id = atoi(entry->d_name)) see(pid_t(id));
        at += entry->d_reclen;
      }
  }

 private:
  int open() noexcept { return list_.descriptor("/proc/self/task", O_DIRECTORY); }

  KeptFile list_;
};

}  // namespace perfield
