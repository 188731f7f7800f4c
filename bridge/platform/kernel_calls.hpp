// SPDX-License-Identifier: BSD-3-Clause
//
// kernel_calls.hpp - system calls that older C libraries do not offer: glibc has getrandom
// from 2.25, gettid and getdents64 from 2.30 on. Any thread.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

namespace perfield {

inline pid_t thread_number() noexcept { return pid_t(syscall(SYS_gettid)); }

// Stores entries of an open directory as dirent64; returns their bytes, 0 at its end, -1 on an
// error.
inline ssize_t read_directory(int directory, void* entries, size_t size) noexcept {
  return ssize_t(syscall(SYS_getdents64, directory, entries, size));
}

// Fills `bytes` at random, without waiting. False: the kernel is not ready, or too old for that.
inline bool try_random(void* bytes, size_t size) noexcept {
#ifdef SYS_getrandom
  constexpr unsigned kNonblock = 1;  // GRND_NONBLOCK
  return syscall(SYS_getrandom, bytes, size, kNonblock) == long(size);
#else
  return (void)bytes, (void)size, false;
#endif
}

}  // namespace perfield
