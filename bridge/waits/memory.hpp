// SPDX-License-Identifier: BSD-3-Clause
//
// memory.hpp - memory for millions of events. Throws only std::bad_alloc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include "platform/large_pages.hpp"

namespace perfield::waits {

// Room for all vectors of one analysis, which is given back when that ends. Vectors that grow leave
// their smaller copies behind. One thread at a time.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    for (const Block& block : blocks_) LargePages<char>().deallocate(block.begin, block.bytes);
  }

  // Aligned to a line of the cache within its block.
  void* allocate(size_t bytes) {
    constexpr size_t kLine = 64;
    if (bytes > std::numeric_limits<size_t>::max() / 2) throw std::bad_alloc();
    bytes = (bytes + kLine - 1) / kLine * kLine;
    if (bytes > left_) add_block(std::max(bytes, next_));
    left_ -= bytes;
    return blocks_.back().begin + left_;
  }

 private:
  struct Block {
    char* begin;
    size_t bytes;
  };
  void add_block(size_t bytes) {
    blocks_.reserve(blocks_.size() + 1);
    blocks_.push_back({LargePages<char>().allocate(bytes), bytes});
    left_ = bytes;
    next_ = std::max(next_, std::min(2 * bytes, kMostAhead));
  }

  static constexpr size_t kMostAhead = size_t{32} << 20;
  size_t left_ = 0, next_ = size_t{64} << 10;
  std::vector<Block> blocks_;  // the last is being filled, from its end
};

template <typename T>
struct InArena {
  using value_type = T;

  InArena(Arena& of) noexcept : arena(&of) {}
  template <typename U>
  InArena(const InArena<U>& other) noexcept : arena(other.arena) {}

  T* allocate(size_t n) {
    if (n > std::numeric_limits<size_t>::max() / 2 / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(arena->allocate(n * sizeof(T)));
  }
  void deallocate(T*, size_t) noexcept {}

  template <typename U>
  bool operator==(const InArena<U>& other) const noexcept {
    return arena == other.arena;
  }
  template <typename U>
  bool operator!=(const InArena<U>& other) const noexcept {
    return arena != other.arena;
  }

  Arena* arena;
};

template <typename T>
using ArenaVector = std::vector<T, InArena<T>>;

}  // namespace perfield::waits
