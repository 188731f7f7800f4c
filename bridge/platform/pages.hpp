// SPDX-License-Identifier: BSD-3-Clause
//
// pages.hpp - memory in pages of its own. Fresh pages are zero and cost nothing until they are
// written. Never allocates by malloc, whose lock a thread of the program may hold.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace perfield {

inline constexpr uint64_t bytes_of_pages(uint64_t bytes) noexcept {
  return (bytes + 4095) / 4096 * 4096;
}

// nullptr without memory. Give it back by munmap.
inline char* map_pages(size_t bytes) noexcept {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

}  // namespace perfield
