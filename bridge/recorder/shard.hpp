// SPDX-License-Identifier: BSD-3-Clause
//
// shard.hpp - what one thread has counted. Only that thread writes the counters, with relaxed
// atomics, and they only grow. The thread that closes a step takes their growth into the `carry`
// parts, which only it touches, until they are written. Nothing here allocates, locks or fails:
// what finds no room goes to `other` and is counted.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "format/calls.h"
#include "format/entry.hpp"
#include "recorder/activity.hpp"
#include "recorder/call_sites.hpp"
#include "recorder/counter.hpp"
#include "recorder/cpu_in_calls.hpp"
#include "recorder/frames.hpp"
#include "recorder/paths.hpp"
#include "recorder/quantities.hpp"
#include "recorder/quantity_tables.hpp"
#include "recorder/rhythm.hpp"
#include "recorder/sample_marks.hpp"
#include "recorder/source.h"
#include "recorder/step_region.hpp"
#include "recorder/touched.hpp"

namespace perfield {

inline constexpr int kDeepLevels = 1 << 16;   // further levels, for which only handles are kept
inline constexpr uint16_t kWaitedCall = 127;  // kind of the message rows that hold waits by peer
inline constexpr uint32_t kCallsPerPeer = 4;  // rows of messages, one for each call and for waits
// The rows of messages of a thread, with those of `other peers`.
inline constexpr uint32_t message_rows(uint32_t max_peers) noexcept {
  return max_peers * kCallsPerPeer + PERFIELD_CALL_LIMIT;
}

inline constexpr uint64_t bytes_of_pages(uint64_t bytes) noexcept {
  return (bytes + 4095) / 4096 * 4096;
}

// The tables of a shard that have marks; see touched.hpp.
enum class News : uint8_t {
  paths,
  other_paths,
  messages,
  calls,
  quantities,
  of_rank,
  faults,
  collectives,
  kinds
};
static_assert(int(News::kinds) <= 8);  // the closing thread takes eight marks at once
inline bool has(uint64_t news, News table) noexcept { return news >> (8 * int(table)) & 1; }

struct RegionValues {
  uint64_t count, inclusive, self;
};
// Ticks of an inclusive time that were spent in calls.
struct TicksInCalls {
  uint64_t mpi, files;
};
struct PathValues {
  uint64_t count, inclusive, self;
  TicksInCalls in_calls;
};
struct GrowingInCalls {
  Growing mpi, files;
};

// Sums of stamps of messages or operations, in ticks modulo 2^64.
struct Stamps {
  uint64_t begun, wait_begin, wait_end;
};
struct GrowingStamps {
  Wrapping begun, wait_begin, wait_end;
  Growing unknown;  // messages without their begin or wait

  // By the closing thread.
  void take_into(Stamps* carry, uint64_t* carry_unknown) noexcept {
    carry->begun += begun.take();
    carry->wait_begin += wait_begin.take();
    carry->wait_end += wait_end.take();
    *carry_unknown += unknown.take();
  }
};

// How many messages of a row one call completes: those of one MPI_Waitall waited only once. Written
// by the row's thread.
struct InOneCall {
  // A message that a call completed which was entered then, and maybe others of the row with it.
  void add(uint64_t wait_begin) noexcept {
    const uint32_t entered = uint32_t(wait_begin);
    if (__builtin_expect(call.get() != entered, 1)) {
      call.set(entered);
      n.set(1);
      return;
    }
    n.add(1);
    if (n.get() > most.get()) most.set(n.get());
  }
  // By the closing thread: the most of the written period, at least 1.
  uint32_t carried() const noexcept { return std::max(1u, carry_most); }

  ShortCounter call;    // that came last: the lower half of when it was entered
  ShortCounter n;       // messages that it completed
  ShortCounter most;    // that one call of the period completed; 0: none completed two
  uint32_t carry_most;  // by the closing thread
};

// The messages of one call to or from one peer, or waits for it: what its thread writes.
struct alignas(64) Message {
  // A wait of so many ticks.
  void add_wait(uint64_t ticks) noexcept {
    count.add(1);
    bytes.add(ticks);
  }
  // When the program waited for a message.
  void add_awaited(uint64_t begin, uint64_t end) noexcept {
    wait_begin.add(begin);
    wait_end.add(end);
  }
  // A message with the stamp of its begin. period: see Activity. Returns whether it is the first of
  // the period.
  bool add(uint64_t size, uint64_t begin, perfield_message_id last, uint32_t period) noexcept;
  // A message without stamps.
  bool add(uint64_t size, uint32_t period) noexcept;

  uint64_t key;                         // peer and call, see key_of
  Counter count, bytes;                 // of waits: ticks
  Counter begun, wait_begin, wait_end;  // sums of stamps
  Counter last_id;                      // of the last one, see word_of
  Counter largest;                      // in the period
  ShortCounter largest_period;          // ... whose number has this lower half
  ShortCounter unknown;                 // without their begin or wait
  ShortCounter open;                    // that this rank began to send and still waits for
  ShortCounter sizes[kSizeBins + 1];    // by size; empty ones are the last
  uint32_t size_count(int bin) const noexcept {
    return sizes[bin].get() + (bin == 0 ? empty() : 0);
  }
  uint32_t empty() const noexcept { return sizes[kSizeBins].get(); }
  // By the closing thread: see MessageCarry.
  uint32_t seen_open, written_open;
  uint64_t carry_largest;
};
static_assert(sizeof(Message) == 128);

struct MessageTotals {
  uint64_t count, bytes;
  Stamps stamps;
  uint32_t empty, unknown;
};
// The closing thread's part of a row of messages. It carries what is seen and not written.
struct alignas(64) MessageCarry {
  MessageTotals seen, written;
  uint32_t written_sizes[kSizeBins];
};
static_assert(sizeof(MessageCarry) == 128);

// A message id as one word: the channel in its lower half, as it lies in memory.
inline uint64_t word_of(perfield_message_id id) noexcept {
  return id.channel | uint64_t(id.number) << 32;
}

inline perfield_message_id id_in(uint64_t word) noexcept {
  return {uint32_t(word), uint32_t(word >> 32)};
}

// What a row of messages counts: never 0.
constexpr uint64_t key_of(uint16_t call, int32_t peer) noexcept {
  return uint64_t(uint32_t(peer)) << 16 | call | uint64_t{1} << 63;
}
constexpr uint16_t call_in(uint64_t key) noexcept { return uint16_t(key); }
constexpr int32_t peer_in(uint64_t key) noexcept { return int32_t(key >> 16); }

// The counter of a message's size among those of a row: the bin, or kSizeBins if it is empty.
inline int counter_of_size(uint64_t size) noexcept {
  static constexpr auto kOf = [] {
    std::array<unsigned char, 64> of{};
    of[0] = kSizeBins;
    for (size_t bits = 1; bits < 64; ++bits) of[bits] = kBinOfBits[bits - 1];
    return of;
  }();
  return kOf[63u - unsigned(__builtin_clzll(2 * size + 1))];  // its number of binary digits
}

inline bool Message::add(uint64_t size, uint32_t period) noexcept {
  sizes[counter_of_size(size)].add(1);
  count.add(1);
  bytes.add(size);
  if (__builtin_expect(largest_period.get() != period, 0)) {
    largest_period.set(period);
    largest.set(size);
    return true;
  }
  if (size > largest.get()) largest.set(size);
  return false;
}

inline bool Message::add(uint64_t size, uint64_t begin, perfield_message_id last,
                         uint32_t period) noexcept {
  begun.add(begin);
  if (__builtin_expect(begin == 0, 0)) unknown.add(1);
  last_id.set(word_of(last));
  return add(size, period);
}

// Collective operations of one kind on one communicator.
struct Collective {
  uint32_t communicator;
  uint16_t call;
  Growing count, bytes_out, bytes_in, as_root;
  GrowingStamps stamps;
  Counter number;  // of the last one
  InOneCall in_one_call;
  ShortCounter period;  // of in_one_call, see Activity
  uint64_t carry_count, carry_bytes_out, carry_bytes_in, carry_as_root, carry_unknown;
  Stamps carry_stamps;
};
inline constexpr uint32_t kCollectiveRows = 512;  // with those of other communicators, by call
inline constexpr uint32_t kCollectiveSlots = 1024;

// What tells a send's end where its begin was counted; see Shard::token_of.
inline constexpr uint32_t kTokenOfRow = 0x80000000u;

// One thread's value of a quantity, in one region or in the rank: a sum, or a state and the period
// that set it.
struct QuantityValue {
  Growing sum;
  Counter state, period;
};
struct QuantityCarry {
  uint64_t value;
  bool is_set;  // has a value, even if 0
};

struct CallCounters {
  Growing count, ticks, bytes_out, bytes_in;
};
struct CallValues {
  uint64_t count, ticks, bytes_out, bytes_in;
};

class Counters;
class KernelReadings;
struct Carried;

class Shard {
 public:
  // Allocates tables of these sizes; nullptr if there is no memory. Freed with the recorder only:
  // other threads reuse the shards of ended threads.
  static Shard* create(const Activity& activity, const Quantities& quantities, Paths& known_paths,
                       uint32_t max_regions, uint32_t max_peers) noexcept;
  static void destroy(Shard* shard) noexcept;

  // --- by the shard's own thread ----------------------------------------------------------------
  void enter_region(uint32_t handle, uint32_t id, bool counted, uint64_t now) noexcept;
  void leave_region(uint32_t handle, uint64_t now) noexcept;
  // The same where nothing is unusual; false: nothing was done, take the long way. Inline, without
  // calls; see usual_region.hpp.
  template <class Clock>
  bool enter_usual(uint32_t handle, Clock clock) noexcept;
  template <class Clock>
  bool enter_found(uint32_t handle, Clock clock) noexcept;
  template <class Clock>
  bool leave_usual(uint32_t handle, Clock clock) noexcept;
  // The same while nothing is counted.
  bool enter_unmeasured(uint32_t handle) noexcept;
  bool leave_unmeasured(uint32_t handle) noexcept;
  // Whether the thread is inside perfield (0: not), and whether its next region is an armed one.
  void set_unusual(uint32_t in_own_work, bool is_armed) noexcept {
    own_work = in_own_work;
    pipeline_armed = is_armed;
    usual_depth = in_own_work || is_armed ? 0 : kStackDepth;
  }
  // Faults in the pages that entering a region now will write to.
  void touch(uint32_t region) noexcept {
    const int32_t d = depth.load(std::memory_order_relaxed);
    if (d >= kStackDepth) return;
    stack[d].region.store(0, std::memory_order_relaxed);
    const uint32_t path = known_paths->inside(path_of(d - 1), region);
    paths[path].count.add(0);
    touched(path);
  }
  // Before the thread enters or leaves a region.
  void look_at_samples() noexcept { samples.look(path_now()); }
  // The row of the path that the thread is on; deeper than the stack, that of the last level.
  uint32_t path_now() const noexcept {
    return path_of(std::min(depth.load(std::memory_order_acquire), kStackDepth) - 1);
  }
  // The row of the path of a level, or of that around it if the level does not count.
  uint32_t path_of(int32_t level) const noexcept {
    return stack[level].path.load(std::memory_order_relaxed);
  }

  void count_call(perfield_call call, uint64_t ticks, uint64_t out, uint64_t in,
                  uint64_t count = 1) noexcept {
    CallCounters& c = calls[call];
    c.count.add(count);
    c.ticks.add(ticks);
    if (__builtin_expect((out | in) != 0, 0)) {
      c.bytes_out.add(out);
      c.bytes_in.add(in);
    }
    touched(News::calls, touched_calls, call);
  }
  // caller, frame: as in perfield_call_enter, or nullptr.
  void enter_call(perfield_call call, const void* caller, const void* frame,
                  uint64_t now) noexcept {
    begin_call(call, caller, frame, now);
    if (__builtin_expect(now >= cpu.next_reading, 0)) read_cpu(*this, now);
  }
  // Of all calls so far, or nearly: what closings took ahead of an open one is in it.
  uint64_t ticks_in_calls() const noexcept {
    uint64_t sum = 0;
    for (const CallCounters& c : calls) sum += c.ticks.get();
    return sum;
  }
  // Counts the call and all its time. Closings have taken their shares ahead.
  void leave_call(perfield_call call, uint64_t entered, uint64_t now, uint64_t out,
                  uint64_t in) noexcept {
    const Period period = period_now();
    end_call();
    count_ended_call(call, entered, now, out, in);
    if (is_in_region())
      add_time_to_regions(kTimeClassOfCall.of[call], entered, now, period.number, period.since);
  }
  // The same outside all regions, of a call that moved no bytes itself.
  void leave_call(perfield_call call, uint64_t entered, uint64_t now) noexcept {
    end_call();
    count_ended_call(call, entered, now, 0, 0);
  }
  bool is_in_region() const noexcept { return depth.load(std::memory_order_relaxed) > 0; }
  // The same for an operation.
  void enter_operation(const perfield_operation* operation, const void* frame,
                       uint64_t now) noexcept {
    open_operation.store(operation, std::memory_order_relaxed);
    begin_call(perfield_call(0), nullptr, frame, now);
  }
  void leave_operation(const perfield_operation& operation, uint64_t entered, uint64_t now,
                       uint64_t bytes) noexcept {
    const Period period = period_now();
    end_call();
    open_operation.store(nullptr, std::memory_order_relaxed);
    count_operation(operation, bytes);
    add(operation.time, growth(now, entered));
    if (operation.time_inside)
      add_time_to_regions(uint16_t(number_of(operation.time_inside)), entered, now, period.number,
                          period.since);
  }
  void count_operation(const perfield_operation& operation, uint64_t bytes) noexcept {
    add(operation.count, 1);
    if (bytes) add(operation.bytes, bytes);
  }

  // Adds to a quantity of the regions that this thread is in, or of the rank.
  void add(perfield_quantity quantity, uint64_t amount) noexcept {
    if (quantity & kQuantityPerRank) {
      of_rank[number_of(quantity)].sum.add(amount);
      touched(News::of_rank, touched_of_rank, uint32_t(number_of(quantity)));
    } else if (quantity && amount) {
      add_to_regions(uint16_t(number_of(quantity)), amount);
    }
  }
  void add_to_regions(uint16_t quantity, uint64_t amount) noexcept {
    add_to_regions(quantity, amount, activity->period.load(std::memory_order_relaxed));
  }
  void add_to_regions(uint16_t quantity, uint64_t amount, uint64_t period) noexcept {
    const int32_t d = std::min(depth.load(std::memory_order_relaxed), kStackDepth) - 1;
    if (d < 0) return;
    const int32_t f = stack[d].nearest.load(std::memory_order_relaxed);
    if (f >= 0) add_to_frame(f, quantity, amount, period);
  }
  void set(perfield_quantity quantity, uint64_t value) noexcept;
  // Takes the reading of a source's counter.
  void stands(perfield_quantity quantity, uint64_t value) noexcept;
  // The program runs again although it never left the call: an exception or longjmp of a handler
  // left it. Its time is not known beyond what closings took.
  void forget_call() noexcept {
    end_call();
    open_operation.store(nullptr, std::memory_order_relaxed);
    count_fault(left_calls);
  }
  // One of the numbers below that tell what went wrong.
  void count_fault(Growing& faults_of_a_kind) noexcept {
    faults_of_a_kind.add(1);
    tell(News::faults);
  }
  // Whether the open call was left so, seen from a call whose frame this is: the frame of the open
  // call lies deeper, or no longer holds its return address.
  bool left_behind(const void* frame) const noexcept {
    if (!call_frame || !frame) return false;
    if (frame >= call_frame) return true;
    return call_caller && !is_same_code(static_cast<void* const*>(call_frame)[1], call_caller);
  }
  // Counts a message without stamps.
  void count_message(uint16_t call, int32_t peer, uint64_t bytes) noexcept {
    const uint32_t row = usual_row(call, peer);
    if (__builtin_expect(row == 0, 0)) return count_elsewhere(call, peer, bytes);
    count_message_in(row, bytes);
  }
  // Counts a message that began then in its row.
  void add_message(Message& of_row, uint32_t row, uint64_t bytes, uint64_t begun,
                   perfield_message_id id, uint32_t period) noexcept {
    if (__builtin_expect(of_row.add(bytes, begun, id, period), 0)) in_one_call[row].most.set(0);
  }
  void count_message_in(uint32_t row, uint64_t bytes) noexcept {
    Message& m = messages[row];
    m.unknown.add(1);
    m.add(bytes, activity->short_period());
    touched_message(row);
  }
  // The row of its messages, which is made if it is new.
  uint32_t row_of_message(uint16_t call, int32_t peer) noexcept {
    const uint32_t row = usual_row(call, peer);
    return __builtin_expect(row == 0, 0) ? find_message(call, peer) : row;
  }
  // The row if it is in its first slot, as nearly always; else 0.
  uint32_t usual_row(uint16_t call, int32_t peer) const noexcept {
    const uint64_t key = key_of(call, peer);
    const uint32_t i = message_slots[first_slot(key)];
    if (__builtin_expect(messages[i].key != key, 0)) return 0;
    if (i == 0) __builtin_unreachable();  // its key is 0
    return i;
  }
  // Whether the row behind is that of waits for the same peer, as where its first message was
  // awaited.
  static bool waits_beside(const Message& m) noexcept {
    return (&m)[1].key == (m.key | kWaitedCall);
  }
  // After counting in a row of messages.
  void touched_message(uint32_t row) noexcept { touched(News::messages, touched_messages, row); }
  // Names the row and the present period of this thread, so that the end of a send counts beside
  // its begin or nowhere.
  uint32_t token_of(uint32_t row, uint32_t period) const noexcept {
    if (__builtin_expect(row > 0xFFFF, 0)) return 0;
    return kTokenOfRow | period_of_token(period) << 16 | row;
  }
  // The row that a token names; 0 if it is of another period or thread.
  uint32_t row_of(uint32_t token, uint16_t call, int32_t peer) const noexcept {
    const uint32_t row = token & 0xFFFF;
    const uint32_t period = period_of_token(activity->short_period());
    if ((token >> 16) != (kTokenOfRow >> 16 | period) || row >= max_messages) return 0;
    return messages[row].key == key_of(call, peer) ? row : 0;
  }
  void count_collective(const perfield_collective& done, uint64_t wait_end) noexcept;
  void count_wait_in(uint32_t row, uint64_t ticks) noexcept {
    messages[row].add_wait(ticks);
    touched_message(row);
  }
  // Gets the tables for hits of sites; false if there is no memory.
  bool follow_sites() noexcept;
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
    const uint32_t row = usual_row(kWaitedCall, peer);
    if (__builtin_expect(row == 0, 0)) return count_wait_elsewhere(peer, ticks);
    count_wait_in(row, ticks);
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
    return !counts(d - 1) && stack[d - 1].handle() == handle;
  }

  // --- by the thread that closes a step ---------------------------------------------------------
  // The marks of the tables that have changed. Together with a look at what is open they tell
  // whether the thread has done anything since the last closing.
  uint64_t take_news() noexcept {
    return has_news()
               ? __atomic_exchange_n(reinterpret_cast<EightMarks*>(news), 0, __ATOMIC_ACQ_REL)
               : 0;
  }
  uint64_t has_news() const noexcept {
    return __atomic_load_n(reinterpret_cast<const EightMarks*>(news), __ATOMIC_ACQUIRE);
  }
  // Whether the thread is inside a region or call.
  bool is_inside() const noexcept {
    return depth.load(std::memory_order_acquire) > 0 || is_inside_call();
  }
  bool is_inside_call() const noexcept { return call_since.load(std::memory_order_relaxed) != 0; }
  // Takes the counts up to `now` into carry, and notes in `all` which rows carry something.
  // news: what take_news() returned. n_regions: asked for after that.
  void fold(Carried& all, uint64_t news, const Counters& counters, uint64_t now,
            uint32_t n_regions) noexcept;
  // Starts counting at `now`. Time between the last fold, `gap` ticks ago, and then is not
  // credited.
  void open(const Counters& counters, uint64_t now, uint64_t gap, uint32_t n_regions) noexcept;
  // The carry of a quantity, which will hold something: of a region, or of the rank.
  QuantityCarry& carry_of(Carried& all, uint32_t region, uint16_t quantity) noexcept;
  QuantityCarry& carry_of(Carried& all, uint16_t quantity) noexcept;
  // Open regions and the open call get time from `until` on only, and the call's owner counts it
  // from there. Call it right after open(), while that thread does not run.
  void hold(uint64_t until) noexcept;
  // Whether a frame of the stack counts; and also no outer frame has the same region.
  bool counts(int32_t frame) const noexcept {
    return stack[frame].nearest.load(std::memory_order_relaxed) == frame;
  }
  bool is_outermost(int32_t frame) const noexcept;

  // What the shard's tables have touched, in bytes.
  uint64_t bytes_used(uint32_t n_regions, uint64_t n_sites) const noexcept;

  // Index of the first used message row. Rows of `other peers` count only once they hold something.
  uint32_t first_message() const noexcept { return overflowed.get() ? 1 : PERFIELD_CALL_LIMIT; }
  // What a row stands for. Rows of `other peers` are identified by their position. The closing
  // thread asks while the thread of the shard may enter a row.
  uint64_t known_key(uint32_t row) const noexcept {
    return row < PERFIELD_CALL_LIMIT ? key_of(uint16_t(row), kPeerOther)
                                     : __atomic_load_n(&messages[row].key, __ATOMIC_RELAXED);
  }
  uint16_t call_of(uint32_t row) const noexcept { return call_in(known_key(row)); }

  // --- state -------------------------------------------------------------------------------------
  // First, in one cache line, what tells whether the thread has done anything.
  const Activity* activity;
  alignas(8) unsigned char news[8] = {};  // marks of tables, see News
  std::atomic<int32_t> depth{0};
  uint32_t usual_depth = kStackDepth;  // 0 in own work or if the next region is armed
  PathCounters* paths;                 // [known_paths->n_rows()]
  unsigned char* touched_paths;
  std::atomic<uint16_t> open_call{0};  // kind of the call that the thread is inside
  std::atomic<const perfield_operation*> open_operation{nullptr};  // if it is an operation
  std::atomic<uint64_t> call_since{0};                             // when that began; 0: none
  uint32_t max_regions, max_messages;
  uint32_t own_work = 0;        // the thread is inside perfield; set it by set_unusual()
  bool pipeline_armed = false;  // the same
  uintptr_t pipeline_armed_at = 0;
  const void* call_frame = nullptr;   // frame of the wrapper of the open call, if known
  const void* call_caller = nullptr;  // ... and where that returns to, if known
  // Ticks in calls that found nothing, since the last call of another kind, or the closing of a
  // step; own thread only.
  uint64_t polled = 0;
  CpuReading cpu;
  std::atomic<bool> in_use{true};

  Growing faults;               // ends without begin, begins without end
  Growing left_calls;           // calls that were never left
  Growing overflowed;           // events that went to `other peers`
  Counter overflowed_quantity;  // amounts that went to `other regions`
  // Operations that went to `other communicators`.
  Counter overflowed_collective;

  Stack stack;
  uint32_t* deep_handles;  // [kDeepLevels], for regions beyond the stack
  Counter untimed;         // those that are not open further out too: they get no time

  StepEntries step_entries;

  Paths* known_paths;
  SampleMarks samples;
  std::atomic<int> thread_id{0};   // the kernel's
  GrowingInCalls* calls_of_paths;  // likewise
  RegionValues* carry_regions;
  PathValues* carry_paths;

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
  Rhythm* rhythms[kRhythmLevels] = {};  // hits of call sites, [kMostSites] per level
  uint32_t followed_calls = 0;          // own thread only
  bool follows_sites = false;           // has told CallSites that it hits sites

  // [max_messages]; the first PERFIELD_CALL_LIMIT are `other peers` by call.
  Message* messages;
  InOneCall* in_one_call;  // of each of these rows
  MessageCarry* carry_messages;
  std::atomic<uint32_t> n_messages{PERFIELD_CALL_LIMIT};
  uint32_t* message_slots;  // hash table of indices into messages; 0: free
  uint32_t slot_mask;
  size_t memory_bytes;  // size of the shard and its tables

  Collective* collectives;  // [kCollectiveRows]; the first are `other communicators` by call
  std::atomic<uint32_t> n_collectives{PERFIELD_CALL_LIMIT};
  uint16_t* collective_slots;       // [kCollectiveSlots], as message_slots
  uint32_t number = 0;              // of the shard
  std::atomic<bool> in_log{false};  // the thread may be writing to the EventLog

  // Marks of rows, see touched.hpp.
  alignas(kMarksInChunk) unsigned char touched_calls[PERFIELD_CALL_LIMIT] = {};
  unsigned char touched_of_rank[kMostQuantities] = {};
  unsigned char *touched_messages, *touched_quantities, *touched_collectives;

  // Rows with something in carry; closing thread only.
  Bits carried_regions, carried_paths, carried_messages, carried_quantities, carried_collectives;
  uint32_t n_carried_collectives = 0;
  uint64_t carried_calls[PERFIELD_CALL_LIMIT / 64] = {};
  uint64_t bytes_counted = 0;  // of bytes_used, in the sum of all shards

 private:
  Shard() = default;
  ~Shard() = default;
  // After counting in a row: marks it and its table, in this order.
  void touched(News table, unsigned char* marks, uint32_t row) noexcept {
    set_mark(marks + row);
    tell(table);
  }
  void touched(uint32_t path) noexcept {
    touched(known_paths->is_other(path) ? News::other_paths : News::paths, touched_paths, path);
  }
  void tell(News table) noexcept { set_mark(news + int(table)); }
  uint32_t first_slot(uint64_t key) const noexcept {
    return uint32_t((key * 0x9E3779B97F4A7C15u) >> 32) & slot_mask;
  }
  void count_wait_elsewhere(int32_t peer, uint64_t ticks) noexcept;
  void count_elsewhere(uint16_t call, int32_t peer, uint64_t bytes) noexcept;
  uint32_t find_message(uint16_t call, int32_t peer) noexcept;
  uint32_t find_collective(uint16_t call, uint32_t communicator) noexcept;
  uint32_t period_of_token(uint32_t period) const noexcept {
    return (period + number * 64) & 0x7FFF;
  }
  bool beat_above(int level, uint32_t site, uint64_t now, uint32_t call) noexcept;
  template <class Clock>
  bool enter_path(uint32_t d, uint32_t path, uint32_t handle, Clock clock) noexcept;
  void enter_deep(uint32_t handle, uint32_t id, bool counted) noexcept;
  void leave_top(uint64_t now) noexcept;
  bool is_open_on_stack(uint32_t id) const noexcept;
  int32_t outer_of(int32_t frame) const noexcept {
    return frame > 0 ? stack[frame - 1].nearest.load(std::memory_order_relaxed) : -1;
  }
  uint32_t handle_at(int32_t level) const noexcept {
    return level < kStackDepth ? stack[level].handle() : deep_handles[level - kStackDepth];
  }

  void begin_call(perfield_call call, const void* caller, const void* frame,
                  uint64_t now) noexcept {
    call_frame = frame;
    call_caller = caller;
    open_call.store(call, std::memory_order_relaxed);
    call_since.store(now, std::memory_order_release);
  }
  // The call ends first, then its time is added: who finds the call open has not read its time.
  void end_call() noexcept {
    call_since.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }
  // One comparison finds long calls, and those whose stamps go back: their difference wraps.
  void count_ended_call(perfield_call call, uint64_t entered, uint64_t now, uint64_t out,
                        uint64_t in) noexcept {
    polled = 0;
    const uint64_t ticks = now - entered;
    if (__builtin_expect(ticks >= cpu.long_call, 0))
      return count_unusual_call(call, entered, now, out, in);
    count_call(call, ticks, out, in);
  }
  void count_unusual_call(perfield_call call, uint64_t entered, uint64_t now, uint64_t out,
                          uint64_t in) noexcept;
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
  // Six arguments at most, so that it can end a function.
  [[gnu::noinline]] void add_time_to_regions(uint16_t quantity, uint64_t entered, uint64_t now,
                                             uint64_t period, uint64_t since) noexcept {
    const uint64_t spent = growth(now, std::max(entered, since));
    if (spent) add_to_regions(quantity, spent, period);
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
  void skip_calls(uint64_t now, uint64_t gap) noexcept;
  void take_ahead(const OpenCall& open, uint64_t ticks) noexcept;
  void fold_paths(Carried& all, uint64_t news, uint32_t n_regions) noexcept;
  void fold_stack(Carried& all, uint64_t now) noexcept;
  void fold_messages() noexcept;
  void fold_collectives() noexcept;
  void fold_calls() noexcept;
  void forgive_left_calls() noexcept;
  // Return whether there was anything to carry.
  bool carry_region(uint32_t region, const RegionValues& more) noexcept;
  bool carry_path(uint32_t path, const PathValues& more) noexcept;
  void note_path(Carried& all, uint32_t path) noexcept;
  // Notes the region, not the path.
  bool carry_both(Carried& all, uint32_t path, bool is_outermost, const PathValues& more) noexcept;
  CallValues& carry_of_call(uint32_t call) noexcept;

  // shard_quantities.cpp
  void add_to_frame(int32_t frame, uint16_t quantity, uint64_t amount, uint64_t period) noexcept;
  // Returns the ticks in calls among what it hands outward.
  TicksInCalls hand_outward(int32_t frame, bool outermost) noexcept;
  void add_call(uint16_t quantity, uint64_t ticks, TicksInCalls* in_calls) const noexcept;
  void set(QuantityValue& value, uint16_t quantity, uint64_t state) noexcept;
  void fold_quantities(Carried& all, uint64_t news) noexcept;
  void fold_frames(Carried& all, const Counters& counters, uint64_t now,
                   const OpenCall& open) noexcept;
  bool is_new(const QuantityValue& value, uint16_t quantity) const noexcept;
  void carry_value(QuantityValue& value, uint16_t quantity, QuantityCarry* carry) noexcept;
  // Calls change(value) for that quantity of a region.
  template <class Change>
  void change_value(uint32_t region, uint16_t quantity, Change change) noexcept {
    bool full = false;
    const uint32_t row = of_regions.place_of(region, quantity, &full);
    if (__builtin_expect(full, 0)) overflowed_quantity.add(1);
    change(of_regions.row(row).value);
    touched(News::quantities, touched_quantities, row);
  }

  // Closing thread only.
  uint64_t owed_calls_[PERFIELD_CALL_LIMIT / 64] = {};  // with time taken ahead, as bits
  uint64_t call_seen_ = 0;                              // begin of the open call that it saw last
  uint64_t call_taken_until_ = 0;
  OpenCall last_open_{};
  uint64_t forgiven_ = 0;  // of left_calls
};

}  // namespace perfield
