// SPDX-License-Identifier: BSD-3-Clause
//
// counter.hpp - a number that one thread adds to and others read. Shards are made of these.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace perfield {

// Adds to a number that only this thread writes: a plain load and store, no locked instruction. As
// one instruction where compilers do not make it one by themselves, and no sanitizer watches.
template <class Number>
[[gnu::always_inline]] inline void add_alone(std::atomic<Number>& value, Number n) noexcept {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  static_assert(sizeof(Number) == 8 || sizeof(Number) == 4);
  if (sizeof(Number) == 8)
    asm("addq %1, %0" : "+m"(reinterpret_cast<Number&>(value)) : "er"(n) : "cc");
  else
    asm("addl %1, %0" : "+m"(reinterpret_cast<Number&>(value)) : "ir"(n) : "cc");
#else
  value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
#endif
}

class Counter {
 public:
  void add(uint64_t n) noexcept { add_alone(value_, n); }
  void set(uint64_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
  uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// Growth of a number that only grows. A torn read of another thread's number counts as no growth.
inline uint64_t growth(uint64_t later, uint64_t earlier) noexcept {
  uint64_t grown;
  return __builtin_sub_overflow(later, earlier, &grown) ? 0 : grown;
}

// A number that only grows, by its own thread. The thread that closes steps takes each step's
// growth. Nobody ever resets it.
// What lasts is added when it ends. A step that closes before takes its share in advance, and
// growth counts only beyond that.
class MonotonicCounter {
 public:
  void add(uint64_t n) noexcept { now_.add(n); }
  uint64_t get() const noexcept { return now_.get(); }

  // By the closing thread: the growth since it last took or skipped.
  uint64_t grown() const noexcept { return growth(now_.get(), taken_); }
  // The same growth, but marked as taken.
  uint64_t take() noexcept {
    const uint64_t grown_by = grown();
    taken_ += grown_by;
    return grown_by;
  }
  // Takes growth in advance that will be added later.
  void advance(uint64_t n) noexcept { taken_ += n; }
  // What was taken in advance will never be added.
  void cancel() noexcept { taken_ = std::min(taken_, now_.get()); }
  // The growth until now belongs to no step; or at most so much of it.
  void skip() noexcept { take(); }
  void skip(uint64_t most) noexcept { taken_ += std::min(grown(), most); }

 private:
  Counter now_;
  uint64_t taken_ = 0;  // closing thread only
};

// A sum modulo 2^64, of stamps; else as MonotonicCounter.
class WrappingCounter {
 public:
  void add(uint64_t n) noexcept { now_.add(n); }
  // By the closing thread: what was added since it last took.
  uint64_t take() noexcept {
    const uint64_t before = taken_;
    taken_ = now_.get();
    return taken_ - before;
  }

 private:
  Counter now_;
  uint64_t taken_ = 0;  // closing thread only
};

// A number modulo 2^32.
class ShortCounter {
 public:
  void add(uint32_t n) noexcept { add_alone(value_, n); }
  void set(uint32_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
  uint32_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> value_{0};
};

}  // namespace perfield
