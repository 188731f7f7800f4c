// SPDX-License-Identifier: BSD-3-Clause
//
// sample_marks.hpp - on which path of regions a thread was when the kernel took each sample of it.
// The kernel counts the bytes that it has written about the thread into rings. At each begin and
// end of a region the thread looks whether it wrote any, and if so, marks on which path it was
// until then. So nothing but a comparison is added to an event.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/arena.hpp"

namespace perfield {

// What the kernel has written so far, in bytes, into each of a thread's two rings.
struct SampleHeads {
  const uint64_t* of[2] = {&kNothing, &kNothing};
  static constexpr uint64_t kNothing = 0;
};

struct SampleMark {
  uint64_t heads[2];
  uint32_t path;
};

class SampleMarks {
 public:
  static constexpr uint32_t kMost = 2048;  // a power of two
  static constexpr uint32_t kUnknown = ~uint32_t(0);

  void place(Arena& arena) noexcept { marks_ = arena.take<SampleMark>(kMost); }

  // --- by the thread itself ----------------------------------------------------------------------
  // path: the row of the path that it has been on since the last look.
  [[gnu::always_inline]] void look(uint32_t path) noexcept {
    const uint64_t written = head(0) + head(1);
    if (__builtin_expect(written != seen_, 0)) mark(written, path);
  }
  // The thread ends.
  void end() noexcept { watch({}); }

  // --- by whoever reads the rings, one thread at a time ------------------------------------------
  // From now on these are the thread's rings. What was marked before is forgotten.
  void begin(const SampleHeads& heads) noexcept {
    n_taken_.store(n_made_.load(std::memory_order_acquire), std::memory_order_relaxed);
    watch(heads);
  }
  // The path of the sample that ends at this byte of a ring; kUnknown if a mark found no room. Ask
  // for samples in their order. now(): on which path the thread is.
  template <class Now>
  uint32_t path_at(int ring, uint64_t end, Now now) noexcept {
    for (uint32_t made = n_made_.load(std::memory_order_acquire);;) {
      uint32_t taken = n_taken_.load(std::memory_order_relaxed);
      while (taken != made && marks_[taken % kMost].heads[ring] < end) ++taken;
      n_taken_.store(taken, std::memory_order_release);
      if (taken != made) return marks_[taken % kMost].path;
      // It has come to no begin or end of a region since, unless it makes a mark right now.
      const uint32_t path = is_late_.load(std::memory_order_relaxed) ? kUnknown : now();
      std::atomic_thread_fence(std::memory_order_acquire);
      const uint32_t before = made;
      made = n_made_.load(std::memory_order_acquire);
      if (made == before) return path;
    }
  }

 private:
  uint64_t head(int ring) const noexcept {
    return __atomic_load_n(heads_[ring].load(std::memory_order_relaxed), __ATOMIC_RELAXED);
  }
  void watch(const SampleHeads& heads) noexcept {
    for (int ring = 0; ring < 2; ++ring)
      heads_[ring].store(heads.of[ring], std::memory_order_relaxed);
  }
  // Out of line: as rare as samples.
  [[gnu::noinline]] void mark(uint64_t written, uint32_t path) noexcept {
    seen_ = written;
    const uint32_t made = n_made_.load(std::memory_order_relaxed);
    if (made - n_taken_.load(std::memory_order_acquire) >= kMost) {
      is_late_.store(true, std::memory_order_relaxed);
      return;
    }
    const bool is_late = is_late_.load(std::memory_order_relaxed);
    marks_[made % kMost] = {{head(0), head(1)}, is_late ? kUnknown : path};
    if (is_late) is_late_.store(false, std::memory_order_relaxed);
    n_made_.store(made + 1, std::memory_order_release);
  }

  std::atomic<const uint64_t*> heads_[2] = {{&SampleHeads::kNothing}, {&SampleHeads::kNothing}};
  uint64_t seen_ = 0;  // own thread only
  SampleMark* marks_ = nullptr;
  std::atomic<uint32_t> n_made_{0}, n_taken_{0};
  std::atomic<bool> is_late_{false};  // since a mark found no room
};

}  // namespace perfield
