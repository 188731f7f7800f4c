// SPDX-License-Identifier: BSD-3-Clause
//
// rhythm.hpp - how the hits of one call site by one thread lie between the thread's other MPI
// calls. A halo exchange that calls MPI_Wait four times hits that site in bursts of four, with few
// other calls inside a burst and more between two. Bursts may come in bursts again, so there are
// several levels. Runs on the hot path: a few loads and stores, nothing else.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/counter.hpp"

namespace perfield {

// A number of 32 bits that one thread changes and others read.
class SmallCounter {
 public:
  void add(uint32_t n) noexcept { set(get() + n); }
  void set(uint32_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
  uint32_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> value_{0};
};

// One level: its beats are hits, or the bursts of the level below. Stamps in ticks; a thread's MPI
// calls have numbers. Statistics of bursts begin anew where a shorter gap than all before appears.
struct Rhythm {
  Counter beats, first, last;
  Counter since;            // begin of the statistics
  Counter inside, between;  // shortest time between beats of one burst, and between bursts; a busy
                            // machine only makes times longer
  SmallCounter even;        // gaps with between half and twice the calls of the one before
  SmallCounter last_call, gap, shortest;
  SmallCounter since_beat, since_call;       // where the statistics begin
  SmallCounter bursts, run, last_run, same;  // complete ones; beats in this one and in the last;
                                             // how many were as long as the one before

  // Counts a beat. Returns whether it begins a burst although an earlier one is complete.
  bool beat(uint64_t now, uint32_t call) noexcept {
    const uint64_t before = beats.get();
    beats.set(before + 1);
    if (__builtin_expect(before == 0, 0)) {
      first.set(now);
      begin(0, now, call);
      run.set(1);
      step(now, call, 0);
      return false;
    }
    const uint64_t passed = now - last.get();
    const uint32_t calls = call - last_call.get(), others = gap.get();
    if (calls <= 2 * others && 2 * uint64_t(calls) >= others) even.add(1);
    const uint64_t last_beat = last.get();
    const uint32_t from = last_call.get();
    step(now, call, calls);
    if (calls < shortest.get() || shortest.get() == 0) {
      shortest.set(calls);
      begin(uint32_t(before - 1), last_beat, from);
      inside.set(passed);
      run.set(2);
      return false;
    }
    if (calls == shortest.get()) {
      if (passed < inside.get()) inside.set(passed);
      run.add(1);
      return false;
    }
    if (bursts.get() == 0 || passed < between.get()) between.set(passed);
    if (bursts.get() && run.get() == last_run.get()) same.add(1);
    last_run.set(run.get());
    bursts.add(1);
    run.set(1);
    return true;
  }

 private:
  void step(uint64_t now, uint32_t call, uint32_t calls) noexcept {
    last.set(now);
    last_call.set(call);
    gap.set(calls);
  }
  void begin(uint32_t beat, uint64_t ticks, uint32_t call) noexcept {
    since_beat.set(beat);
    since.set(ticks);
    since_call.set(call);
    bursts.set(0);
    last_run.set(0);
    same.set(0);
  }
};

// All levels of one site. The lowest one is in every thread's table of sites; the others are
// touched only where there are bursts.
inline constexpr int kRhythmLevels = 3;

}  // namespace perfield
