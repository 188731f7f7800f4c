// SPDX-License-Identifier: BSD-3-Clause
//
// shard.hpp - what one thread has counted. Only that thread writes the counters, with relaxed
// atomics, and they only grow. The thread that closes a step takes their growth into the `carry`
// parts, which only it touches, until they are written. Nothing here allocates, locks or fails:
// what finds no room goes to `other` and is counted.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "format/calls.h"
#include "recorder/call_sites.hpp"
#include "recorder/counter.hpp"
#include "recorder/quantities.hpp"
#include "recorder/quantity_tables.hpp"
#include "recorder/rhythm.hpp"
#include "recorder/source.h"
#include "recorder/step_region.hpp"

namespace perfield {

inline constexpr int kStackDepth = 256;
inline constexpr int kDeepLevels = 1 << 16;   // further levels, for which only handles are kept
inline constexpr uint16_t kWaitedCall = 127;  // kind of the message rows that hold waits by peer
inline constexpr uint32_t kCallsPerPeer = 4;  // rows of messages, one for each call and for waits
// The rows of messages of a thread, with those of `other peers`.
inline constexpr uint32_t message_rows(uint32_t max_peers) noexcept {
  return max_peers * kCallsPerPeer + PERFIELD_CALL_LIMIT;
}

// Set by the recorder, read by every shard.
struct Activity {
  enum State : uint32_t { asleep = 0, inactive = 1, active = 2 };
  std::atomic<uint32_t> state{asleep};
  std::atomic<uint64_t> since_ticks{0};  // begin of the present active period
  std::atomic<uint64_t> period{0};       // its number
};

struct RegionCounters {
  Growing count, inclusive, self;
};
struct RegionValues {
  uint64_t count, inclusive, self;
};

struct Message {
  int32_t peer;
  uint16_t call;
  Growing count, bytes, empty;
  Counter largest, largest_period;
  uint64_t carry_count, carry_bytes, carry_empty, carry_largest;  // taken, not yet written
};

// One thread's value of a quantity, in one region or in the rank: a sum, or a state and the period
// that set it.
struct QuantityValue {
  Growing sum;
  Counter state, period;
};
struct QuantityCarry {
  uint64_t value;
  bool is_set;    // has a value, even if 0
  uint32_t seen;  // the entry's encoding that met it last
};

struct CallCounters {
  Growing count, ticks, bytes_out, bytes_in;
};
struct CallValues {
  uint64_t count, ticks, bytes_out, bytes_in;
};

// An entered region. The caller enters and leaves with `handle`. `id` is the region that gets the
// time (a different one for an armed entry or for a block).
struct Frame {
  std::atomic<uint32_t> id, handle;
  std::atomic<uint64_t> entered;
  std::atomic<uint64_t> children, children_period;  // ticks of inner regions in that period
  std::atomic<int32_t> parent;                      // the next outer frame that counts, or -1
  // Which quantities have grown in this frame's frame_amounts, as bits, and in which period. So
  // entering a region stores one word, and leaving a region without growth reads one.
  std::atomic<uint64_t> grown, grown_period;
  std::atomic<bool> counted;
};

class Counters;
class KernelReadings;

class Shard {
 public:
  // Allocates tables of these sizes; nullptr if there is no memory. Freed with the recorder only:
  // other threads reuse the shards of ended threads.
  static Shard* create(const Activity& activity, const Quantities& quantities, uint32_t max_regions,
                       uint32_t max_peers) noexcept;
  static void destroy(Shard* shard) noexcept;

  // --- by the shard's own thread ----------------------------------------------------------------
  void enter_region(uint32_t handle, uint32_t id, bool counted, uint64_t now) noexcept;
  void leave_region(uint32_t handle, uint64_t now) noexcept;
  // Faults in the pages that entering a region at that frame will write to.
  void touch(int32_t frame, uint32_t region) noexcept {
    regions[region].count.add(0);
    volatile uint16_t& open = open_count[region];
    open = open;
    if (frame < kStackDepth) stack[frame].id.store(region, std::memory_order_relaxed);
  }

  void count_call(perfield_call call, uint64_t ticks, uint64_t out, uint64_t in,
                  uint64_t count = 1) noexcept {
    CallCounters& c = calls[call];
    c.count.add(count);
    c.ticks.add(ticks);
    if (out) c.bytes_out.add(out);
    if (in) c.bytes_in.add(in);
    touched_calls[call >> 6].store(
        touched_calls[call >> 6].load(std::memory_order_relaxed) | (uint64_t(1) << (call & 63)),
        std::memory_order_relaxed);
  }
  // caller, frame: as in perfield_call_enter, or nullptr.
  void enter_call(perfield_call call, const void* caller, const void* frame,
                  uint64_t now) noexcept {
    begin_call(call, nullptr, caller, frame, now);
  }
  // Counts the call and all its time. Closings have taken their shares ahead.
  void leave_call(perfield_call call, uint64_t entered, uint64_t now, uint64_t out,
                  uint64_t in) noexcept {
    const Period period = period_now();
    end_call();
    count_call(call, growth(now, entered), out, in);
    add_time_to_regions(kTimeClassOfCall.of[call], entered, now, period);
  }
  // The same for an operation.
  void enter_operation(const perfield_operation* operation, const void* frame,
                       uint64_t now) noexcept {
    begin_call(perfield_call(0), operation, nullptr, frame, now);
  }
  void leave_operation(const perfield_operation& operation, uint64_t entered, uint64_t now,
                       uint64_t bytes) noexcept {
    const Period period = period_now();
    end_call();
    count_operation(operation, bytes);
    add(operation.time, growth(now, entered));
    if (operation.time_inside)
      add_time_to_regions(uint16_t(number_of(operation.time_inside)), entered, now, period);
  }
  void count_operation(const perfield_operation& operation, uint64_t bytes) noexcept {
    add(operation.count, 1);
    if (bytes) add(operation.bytes, bytes);
  }

  // Adds to a quantity of the regions that this thread is in, or of the rank.
  void add(perfield_quantity quantity, uint64_t amount) noexcept {
    if (quantity & kQuantityPerRank)
      of_rank[number_of(quantity)].sum.add(amount);
    else if (quantity && amount)
      add_to_regions(uint16_t(number_of(quantity)), amount);
  }
  void add_to_regions(uint16_t quantity, uint64_t amount) noexcept {
    add_to_regions(quantity, amount, activity->period.load(std::memory_order_relaxed));
  }
  void add_to_regions(uint16_t quantity, uint64_t amount, uint64_t period) noexcept {
    const int32_t d = std::min(depth.load(std::memory_order_relaxed), kStackDepth) - 1;
    if (d < 0) return;
    const bool counted = stack[d].counted.load(std::memory_order_relaxed);
    const int32_t f = counted ? d : stack[d].parent.load(std::memory_order_relaxed);
    if (f >= 0) add_to_frame(f, quantity, amount, period);
  }
  void set(perfield_quantity quantity, uint64_t value) noexcept;
  // Takes the reading of a source's counter.
  void stands(perfield_quantity quantity, uint64_t value) noexcept;
  // The program runs again although it never left the call: an exception or longjmp of a handler
  // left it. Its time is not known beyond what closings took.
  void forget_call() noexcept {
    end_call();
    left_calls.add(1);
  }
  // Whether the open call was left so, seen from a call whose frame this is: the frame of the open
  // call lies deeper, or no longer holds its return address.
  bool left_behind(const void* frame) const noexcept {
    if (!call_frame || !frame) return false;
    if (frame >= call_frame) return true;
    return call_caller && !is_same_code(static_cast<void* const*>(call_frame)[1], call_caller);
  }
  void count_message(uint16_t call, int32_t peer, uint64_t bytes) noexcept;
  // Counts a hit of a call site; returns how many the site has now. call: its number among the
  // thread's calls.
  uint64_t hit_site(uint32_t site, uint64_t now, uint32_t call) noexcept {
    bool begins = rhythms[0][site].beat(now, call);
    for (int level = 1; begins && level < kRhythmLevels; ++level)
      begins = beat_above(level, site, now, call);
    return rhythms[0][site].beats.get();
  }
  // The hits of site `from` become those of `to`; nobody else may read them meanwhile.
  void move_site(uint32_t from, uint32_t to) noexcept;
  void forget_sites(uint32_t from, uint32_t until) noexcept;
  // Counts this many ticks as waiting for a peer.
  void count_wait(int32_t peer, uint64_t ticks) noexcept {
    count_message(kWaitedCall, peer, ticks);
  }

  // The innermost level of the stack that was entered with that handle; -1: none. Below the levels
  // with kept handles, the top level.
  int32_t level_of(uint32_t handle) const noexcept {
    int32_t level = depth.load(std::memory_order_relaxed) - 1;
    if (__builtin_expect(level >= kStackDepth + kDeepLevels, 0)) return level;
    while (level >= 0 && handle_at(level) != handle) --level;
    return level;
  }

  // Whether that level of the stack is open and was entered with that handle, as far as known.
  bool is_open(int32_t level, uint32_t handle) const noexcept {
    if (level < 0 || level >= depth.load(std::memory_order_relaxed)) return false;
    return level >= kStackDepth + kDeepLevels || handle_at(level) == handle;
  }

  // Whether leaving this region leaves the innermost one, and the configuration deselects it. That
  // needs no clock.
  bool leaves_uncounted(uint32_t handle) const noexcept {
    int32_t d = depth.load(std::memory_order_relaxed);
    if (d <= 0 || d > kStackDepth) return false;
    const Frame& top = stack[d - 1];
    return !top.counted.load(std::memory_order_relaxed) &&
           top.handle.load(std::memory_order_relaxed) == handle;
  }

  // --- by the thread that closes a step ---------------------------------------------------------
  // Takes the counts up to `now` into carry.
  void fold(const Counters& counters, uint64_t now, uint32_t n_regions) noexcept;
  // Starts counting at `now`; earlier time is not credited.
  void open(const Counters& counters, uint64_t now, uint32_t n_regions) noexcept;
  // Open regions and the open call get time from `until` on only, and the call's owner counts it
  // from there. Call it right after open(), while that thread does not run.
  void hold(uint64_t until) noexcept;
  // Whether a frame of the stack counts and no outer frame has the same region.
  bool is_outermost(int32_t frame) const noexcept;

  // Index of the first used message row. Rows of `other peers` count only once they hold something.
  uint32_t first_message() const noexcept { return overflowed.get() ? 1 : PERFIELD_CALL_LIMIT; }
  // What a row stands for. Rows of `other peers` are identified by their position.
  int32_t peer_of(uint32_t row) const noexcept {
    return row < PERFIELD_CALL_LIMIT ? kPeerOther : messages[row].peer;
  }
  uint16_t call_of(uint32_t row) const noexcept {
    return row < PERFIELD_CALL_LIMIT ? uint16_t(row) : messages[row].call;
  }

  // --- state -------------------------------------------------------------------------------------
  const Activity* activity;
  uint32_t max_regions, max_messages;
  uint32_t inside_call = 0;           // the thread is inside a wrapped MPI call
  const void* call_frame = nullptr;   // ... and this is its wrapper's frame, if known
  const void* call_caller = nullptr;  // ... and where that returns to, if known
  uint32_t own_work = 0;              // the thread is inside perfield
  bool count_messages = true;         // the configuration's `messages`
  bool pipeline_armed = false;
  uintptr_t pipeline_armed_at = 0;
  std::atomic<bool> in_use{true};

  Growing faults;               // ends without begin, begins without end
  Growing left_calls;           // calls that were never left
  Growing overflowed;           // events that went to `other peers`
  Counter overflowed_quantity;  // amounts that went to `other regions`

  std::atomic<int32_t> depth{0};
  Frame stack[kStackDepth];
  uint32_t* deep_handles;  // [kDeepLevels], for regions beyond the stack
  Counter untimed;         // those that are not open further out too: they get no time

  StepEntries step_entries;

  RegionCounters* regions;  // [max_regions]
  uint16_t* open_count;     // [max_regions], own thread only
  RegionValues* carry_regions;

  const Quantities* quantities;
  std::atomic<KernelReadings*> kernel{nullptr};  // set where kernel counters are chosen
  RegionQuantities<QuantityValue> of_regions;
  RegionQuantities<QuantityCarry> carry_of_regions;
  QuantityValue of_rank[kMostQuantities];
  QuantityCarry carry_of_rank[kMostQuantities];
  Counter (*frame_amounts)[kMostQuantities];  // [kStackDepth], growth inside each frame
  uint64_t stood[kMostQuantities];  // last reading of a source's counters, own thread only
  uint64_t told = 0;                // quantities with such a reading, as bits

  CallCounters calls[PERFIELD_CALL_LIMIT];
  CallValues carry_calls[PERFIELD_CALL_LIMIT];
  std::atomic<uint16_t> open_call{0};  // kind of the call that the thread is inside
  std::atomic<const perfield_operation*> open_operation{nullptr};  // if it is an operation
  std::atomic<uint64_t> call_since{0};                             // when that began; 0: none
  Rhythm* rhythms[kRhythmLevels];  // hits of call sites, [kMostSites] per level
  uint32_t followed_calls = 0;     // own thread only
  bool follows_sites = false;      // has told CallSites that it hits sites
  std::atomic<uint64_t> touched_calls[PERFIELD_CALL_LIMIT / 64];

  Message* messages;  // [max_messages]; the first PERFIELD_CALL_LIMIT are `other peers` by call
  std::atomic<uint32_t> n_messages{PERFIELD_CALL_LIMIT};
  uint32_t* message_slots;  // hash table of indices into messages; 0: free
  uint32_t slot_mask;
  uint32_t last_message = 0;  // most messages go where the last one went
  size_t memory_bytes;        // size of the shard and its tables

 private:
  Shard() = default;
  ~Shard() = default;
  uint32_t find_message(uint16_t call, int32_t peer) noexcept;
  bool beat_above(int level, uint32_t site, uint64_t now, uint32_t call) noexcept;
  void enter_deep(uint32_t handle, uint32_t id, bool counted) noexcept;
  void leave_top(uint64_t now) noexcept;
  uint32_t handle_at(int32_t level) const noexcept {
    return level < kStackDepth ? stack[level].handle.load(std::memory_order_relaxed)
                               : deep_handles[level - kStackDepth];
  }

  void begin_call(perfield_call call, const perfield_operation* operation, const void* caller,
                  const void* frame, uint64_t now) noexcept {
    inside_call = 1;
    call_frame = frame;
    call_caller = caller;
    open_call.store(call, std::memory_order_relaxed);
    open_operation.store(operation, std::memory_order_relaxed);
    call_since.store(now, std::memory_order_release);
  }
  // The call ends first, then its time is added: who finds the call open has not read its time.
  void end_call() noexcept {
    inside_call = 0;
    call_since.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }
  // On some machines a stored return address carries a signature in its upper bits.
  static bool is_same_code(const void* stored, const void* address) noexcept {
    return (reinterpret_cast<uintptr_t>(stored) ^ reinterpret_cast<uintptr_t>(address)) << 16 == 0;
  }

  // The active period and its begin. Amounts that are computed with the one belong to the other: if
  // the next period begins meanwhile, the closing has taken them already.
  struct Period {
    uint64_t number, since;
  };
  Period period_now() const noexcept {
    const uint64_t number = activity->period.load(std::memory_order_acquire);
    return {number, activity->since_ticks.load(std::memory_order_relaxed)};
  }
  void add_time_to_regions(uint16_t quantity, uint64_t entered, uint64_t now,
                           const Period& period) noexcept {
    const uint64_t spent = growth(now, std::max(entered, period.since));
    if (spent) add_to_regions(quantity, spent, period.number);
  }

  // shard_fold.cpp
  struct OpenCall {
    uint64_t since;  // its time before is in a step already, or in none; 0: no call is open
    perfield_call call;
    const perfield_operation* operation;
  };
  // The call that the thread has been inside since before `now`.
  OpenCall open_call_at(uint64_t now) noexcept;
  // The sum that gets the time of that call; nullptr if none does.
  Growing* time_of(const OpenCall& open) noexcept;
  void skip_calls(uint64_t now) noexcept;
  template <class Visit>
  void for_each_touched_call(Visit visit) noexcept {
    for (uint32_t word = 0; word < PERFIELD_CALL_LIMIT / 64; ++word)
      for (uint64_t bits = touched_calls[word].load(std::memory_order_relaxed); bits;
           bits &= bits - 1)
        visit(word * 64 + uint32_t(__builtin_ctzll(bits)));
  }

  // shard_quantities.cpp
  void add_to_frame(int32_t frame, uint16_t quantity, uint64_t amount, uint64_t period) noexcept;
  void hand_outward(int32_t frame, bool outermost) noexcept;
  void set(QuantityValue& value, uint16_t quantity, uint64_t state) noexcept;
  void fold_quantities(uint32_t n_regions, bool forgives) noexcept;
  void fold_frames(const Counters& counters, uint32_t n_regions, uint64_t now,
                   const OpenCall& open) noexcept;
  void carry_value(QuantityValue& value, uint16_t quantity, QuantityCarry* carry) noexcept;
  QuantityValue& value_of(uint32_t region, uint16_t quantity) noexcept {
    bool full = false;
    QuantityValue& value = of_regions.of(region, quantity, &full).value;
    if (__builtin_expect(full, 0)) overflowed_quantity.add(1);
    return value;
  }
  QuantityCarry& carry_of(uint32_t region, uint16_t quantity) noexcept {
    bool full = false;  // no more so than of_regions, and counted there
    return carry_of_regions.of(region, quantity, &full).value;
  }

  // Closing thread only.
  uint64_t folded_until_ = 0;  // the last closing
  uint64_t call_seen_ = 0;     // begin of the open call that it saw last
  uint64_t call_taken_until_ = 0;
  OpenCall last_open_{};
  uint64_t forgiven_ = 0;  // of left_calls
};

}  // namespace perfield
