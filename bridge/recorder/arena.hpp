// SPDX-License-Identifier: BSD-3-Clause
//
// arena.hpp - memory for tables: one mapping, of which each table takes its arrays. Fresh pages are
// zero and cost nothing until they are written.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace perfield {

inline constexpr uint64_t bytes_of_pages(uint64_t bytes) noexcept {
  return (bytes + 4095) / 4096 * 4096;
}

class Arena {
 public:
  // place(arena) takes all arrays. It is called twice: first to measure them, with arrays at
  // nullptr. Returns whether there was memory.
  template <class Place>
  bool map(Place place) noexcept {
    place(*this);
    bytes_ = used_;
    memory_ = map_pages(bytes_);
    if (!memory_) return false;
    used_ = 0;
    place(*this);
    return true;
  }
  void unmap() noexcept {
    if (memory_) munmap(memory_, bytes_);
    memory_ = nullptr;
  }
  // The next n elements, zeroed, in cache lines of their own.
  template <class T>
  T* take(size_t n) noexcept {
    char* const at = memory_ ? memory_ + used_ : nullptr;
    used_ += (n * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(at);
  }
  explicit operator bool() const noexcept { return memory_; }

  static char* map_pages(size_t bytes) noexcept {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
  }

 private:
  char* memory_ = nullptr;
  size_t bytes_ = 0, used_ = 0;
};

}  // namespace perfield
