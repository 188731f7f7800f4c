// SPDX-License-Identifier: BSD-3-Clause
//
// perfield_constant.hpp - an array of any length that holds one constant, in a small share of its
// memory: a few pages hold the number and are mapped again and again, side by side. Readers see an
// ordinary array; a write stays in the page written to. Linux only. If the kernel cannot share
// pages, the memory is filled instead.
//
// It takes 1/64 of the array, or 64 kB if that is more. VmRSS counts each mapping of a page that
// was read; Pss and the kernel's limits count the page once. A process may have about 65,000
// mappings, and the program needs some itself: once constants use a quarter of them, further
// arrays are filled.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <new>

namespace perfield {
namespace detail {

// Header of an array, in the page before its numbers.
struct ConstantHead {
  std::size_t bytes;     // mapped, this page included
  std::size_t mappings;  // of shared pages
  std::atomic<int> users;
};

inline std::atomic<std::size_t>& mappings_in_use() noexcept {
  static std::atomic<std::size_t> n{0};
  return n;
}
inline bool take_mappings(std::size_t n) noexcept {
  constexpr std::size_t most = 16384;
  if ((mappings_in_use() += n) <= most) return true;
  mappings_in_use() -= n;
  return false;
}

inline std::size_t page_bytes() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

inline ConstantHead* head_of(void* numbers) noexcept {
  return reinterpret_cast<ConstantHead*>(static_cast<char*>(numbers) - page_bytes());
}

// A memory file of `bytes` bytes that repeats the number; -1 if the kernel cannot make one.
inline int file_of(double value, std::size_t bytes) noexcept {
#ifdef SYS_memfd_create
  rlimit limit;  // writing beyond it raises a signal
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < bytes) return -1;
  int file = static_cast<int>(syscall(SYS_memfd_create, "perfield", 1u /* close on exec */));
  if (file < 0) return -1;
  double numbers[512];
  std::fill(std::begin(numbers), std::end(numbers), value);
  for (std::size_t at = 0; at < bytes; at += sizeof numbers) {
    if (pwrite(file, numbers, sizeof numbers, static_cast<off_t>(at)) == sizeof numbers) continue;
    close(file);
    return -1;
  }
  return file;
#else
  (void)value;
  (void)bytes;
  return -1;
#endif
}

}  // namespace detail

// n times the number; nullptr without memory. Give it back with release_constant.
inline double* constant_numbers(double value, std::size_t n) noexcept {
  constexpr std::size_t least = 64 * 1024, share = 64;
  const std::size_t page = detail::page_bytes();
  auto whole = [](std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; };
  const std::size_t bytes = whole(std::max<std::size_t>(n, 1) * sizeof(double), page);
  const std::size_t unit = whole(std::max(least, bytes / share), std::max<std::size_t>(page, 4096));
  constexpr int rights = PROT_READ | PROT_WRITE, kept = MAP_PRIVATE | MAP_NORESERVE;
  void* base = mmap(nullptr, page + bytes, rights, kept | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  const std::size_t parts = (bytes + unit - 1) / unit;
  const bool shared = parts > 2 && detail::take_mappings(parts);
  new (base) detail::ConstantHead{page + bytes, shared ? parts : 0, {1}};
  char* numbers = static_cast<char*>(base) + page;
  std::size_t mapped = 0;
  const int file = shared ? detail::file_of(value, unit) : -1;
  while (file >= 0 && mapped < bytes) {
    const std::size_t part = std::min(unit, bytes - mapped);
    if (mmap(numbers + mapped, part, rights, kept | MAP_FIXED, file, 0) == MAP_FAILED) break;
    mapped += part;
  }
  if (file >= 0) close(file);
  auto* first = reinterpret_cast<double*>(numbers);
  if (mapped < bytes) std::fill(first + mapped / sizeof(double), first + n, value);
  return first;
}

// Adds a user of the numbers, who calls release_constant too.
inline void share_constant(double* numbers) noexcept { ++detail::head_of(numbers)->users; }

inline void release_constant(void* numbers) noexcept {
  detail::ConstantHead* head = detail::head_of(numbers);
  if (--head->users != 0) return;
  detail::mappings_in_use() -= head->mappings;
  munmap(head, head->bytes);
}

}  // namespace perfield
