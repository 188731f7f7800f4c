// SPDX-License-Identifier: BSD-3-Clause
//
// activity.hpp - what every event of every thread reads of its recorder: one cache line, which
// changes only where measuring begins, pauses or ends, and when a step closes. The kernel fills it
// with zeros in a child process, which is not this rank: there the recorder is inactive, also where
// the child was made past the C library.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/clock.hpp"

namespace perfield {

// Set by the recorder, read by every thread.
struct alignas(64) Activity {
  enum State : uint32_t { inactive = 0, paused = 1, active = 2 };
  std::atomic<uint32_t> state{inactive};
  // What an event of a region may take for granted; see fast_path.hpp.
  enum FastPath : uint32_t {
    none = 0,                // inactive, or kernel counters are read as well
    no_time = 1,             // paused: begins and ends are matched
    sampled_given_time = 2,  // as below, but samples need a look
    sampled_counter = 3,
    given_time = 4,  // active; events bring their time
    counter = 5      // active; the clock is the processor's counter
  };
  std::atomic<uint32_t> fast_path{none};
  bool by_counter = false;  // ticks are those of the processor's counter
  bool sampled = false;     // events of regions look at SampleMarks
  // How messages are counted, as bits. None set: in rows alone, and the clock is the counter.
  enum Messages : uint8_t { logged = 1, other_clock = 2, not_counted = 4 };
  std::atomic<uint8_t> messages{0};
  // What entering a call may not take for granted, as bits. None set: it counts, by the counter,
  // and nobody follows its site (see CallSites).
  enum Calls : uint8_t { by_other_clock = 1, not_active = 2, followed = 4 };
  std::atomic<uint8_t> calls{not_active};
  std::atomic<uint64_t> since_ticks{0};  // begin of the present active period
  std::atomic<uint64_t> period{0};       // its number
  // Its lower half, which is enough to distinguish periods.
  uint32_t short_period() const noexcept {
    return uint32_t(period.load(std::memory_order_relaxed));
  }

  // Whether each event of this step is kept; see EventLog.
  bool logs(std::memory_order order = std::memory_order_relaxed) const noexcept {
    return messages.load(order) & logged;
  }
  bool counts_messages() const noexcept {
    return !(messages.load(std::memory_order_relaxed) & not_counted);
  }
  // The recorder's clock.
  uint64_t ticks() const noexcept { return by_counter ? read_counter() : monotonic_ns(); }

  // In a page of its own. Without memory for one, and in kernels before 4.14, a child keeps it.
  static Activity& create() noexcept;
  static void destroy(Activity& activity) noexcept;
};

}  // namespace perfield
