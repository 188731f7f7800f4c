// SPDX-License-Identifier: BSD-3-Clause
//
// counter.hpp - a number that one thread adds to and others read, as all of a shard is made of.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfield {

// One writer: a plain load and store, no locked instruction.
class Counter {
 public:
  void add(uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void set(uint64_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
  uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// By how much a number that only grows has grown; a torn read of another thread's is nothing.
inline uint64_t growth(uint64_t later, uint64_t earlier) noexcept {
  return later > earlier ? later - earlier : 0;
}

}  // namespace perfield
