// SPDX-License-Identifier: BSD-3-Clause
//
// arena.hpp - memory for tables: one mapping, of which each table takes its arrays.
#pragma once

#include <cstddef>

#include "platform/pages.hpp"

namespace perfield {

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

 private:
  char* memory_ = nullptr;
  size_t bytes_ = 0, used_ = 0;
};

}  // namespace perfield
