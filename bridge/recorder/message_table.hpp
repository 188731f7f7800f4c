// SPDX-License-Identifier: BSD-3-Clause
//
// message_table.hpp - a thread's messages by call and peer, and its waits by peer: a row for each
// pair that occurs. What finds no row counts in that of `other peers` of its call.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>

#include "format/calls.h"
#include "recorder/counter.hpp"
#include "recorder/dirty_rows.hpp"
#include "recorder/step_rows.hpp"
#include "recorder/thread_state.hpp"

namespace perfield {

inline constexpr uint16_t kWaitedCall = 127;  // kind of the rows that hold waits by peer
// Where a send's begin was counted, for its completion; see MessageTable::token_of.
inline constexpr uint32_t kTokenOfRow = 0x80000000u;

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
  // By the closing thread: `most` is of the present period.
  void collect() noexcept { pending_most = std::max(pending_most, most.get()); }
  // By the closing thread: the most of the pending period, at least 1.
  uint32_t pending() const noexcept { return std::max(1u, pending_most); }

  ShortCounter call;      // that came last: the lower half of when it was entered
  ShortCounter n;         // messages that it completed
  ShortCounter most;      // that one call of the period completed; 0: none completed two
  uint32_t pending_most;  // by the closing thread
};

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
  // A message without stamps. period: see Activity. Returns whether it is the first of the period.
  bool add(uint64_t size, uint32_t period) noexcept {
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
  // A message with the stamp of its begin.
  bool add(uint64_t size, uint64_t begin, perfield_message_id id, uint32_t period) noexcept {
    begun.add(begin);
    if (__builtin_expect(begin == 0, 0)) unknown.add(1);
    last_id.set(word_of(id));
    return add(size, period);
  }

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
  // By the closing thread: see PendingMessage.
  uint32_t seen_open, written_open;
  uint64_t pending_largest;
};
static_assert(sizeof(Message) == 128);

struct MessageTotals {
  uint64_t count, bytes;
  Stamps stamps;
  uint32_t empty, unknown;
};
// The closing thread's part of a row of messages: what is seen and not written is pending.
struct alignas(64) PendingMessage {
  MessageTotals seen, written;
  uint32_t written_sizes[kSizeBins];
};
static_assert(sizeof(PendingMessage) == 128);

class MessageTable {
 public:
  static constexpr uint32_t kCallsPerPeer = 4;  // rows, one for each call and for waits
  // Bytes of an entry that its rows of `other peers` need.
  static constexpr size_t kReserved =
      PERFIELD_CALL_LIMIT * (sizeof(MessageRow) + sizeof(SynchronisationRow)) + sizeof(WaitRow);
  // The calls of all rows that were ever written with a message.
  using Calls = std::bitset<PERFIELD_CALL_LIMIT>;

  void place(Arena& arena, uint32_t max_peers) noexcept;

  // --- count: by the thread itself ---------------------------------------------------------------
  // The row if it is in its first slot, as nearly always; else 0.
  uint32_t predicted_row(uint16_t call, int32_t peer) const noexcept {
    const uint64_t key = key_of(call, peer);
    const uint32_t i = slots_[first_slot(key)];
    if (__builtin_expect(rows[i].key != key, 0)) return 0;
    if (i == 0) __builtin_unreachable();  // its key is 0
    return i;
  }
  // The row, which is made if it is new.
  uint32_t row_of(ThreadState& thread, uint16_t call, int32_t peer) noexcept {
    const uint32_t row = predicted_row(call, peer);
    return __builtin_expect(row == 0, 0) ? find(thread, call, peer) : row;
  }
  // Whether the row behind is that of waits for the same peer, as where its first message was
  // awaited.
  static bool waits_beside(const Message& m) noexcept {
    return (&m)[1].key == (m.key | kWaitedCall);
  }
  // Counts a message without stamps.
  void count(ThreadState& thread, uint16_t call, int32_t peer, uint64_t bytes) noexcept {
    const uint32_t row = row_of(thread, call, peer);
    rows[row].unknown.add(1);
    rows[row].add(bytes, thread.activity->short_period());
    mark(thread, row);
  }
  // Counts a message that began then in its row.
  void add(Message& of_row, uint32_t row, uint64_t bytes, uint64_t begun, perfield_message_id id,
           uint32_t period) noexcept {
    if (__builtin_expect(of_row.add(bytes, begun, id, period), 0)) in_one_call[row].most.set(0);
  }
  // Counts this many ticks as waiting for a peer.
  void count_wait(ThreadState& thread, int32_t peer, uint64_t ticks) noexcept {
    const uint32_t row = row_of(thread, kWaitedCall, peer);
    rows[row].add_wait(ticks);
    mark(thread, row);
  }
  // After counting in a row.
  void mark(ThreadState& thread, uint32_t row) noexcept {
    mark_dirty(dirty_, row, thread.dirty, DirtyTable::messages);
  }
  // Names the row and the present period of the thread with this number, so that the completion of
  // a send counts beside its begin or nowhere.
  static uint32_t token_of(uint32_t row, uint32_t period, uint32_t thread) noexcept {
    if (__builtin_expect(row > 0xFFFF, 0)) return 0;
    return kTokenOfRow | period_of_token(period, thread) << 16 | row;
  }
  // The row that a token names; 0 if it is of another period or thread.
  uint32_t row_of_token(uint32_t token, uint16_t call, int32_t peer, uint32_t period,
                        uint32_t thread) const noexcept {
    const uint32_t row = token & 0xFFFF;
    if ((token >> 16) != (kTokenOfRow >> 16 | period_of_token(period, thread)) || row >= max_rows_)
      return 0;
    return rows[row].key == key_of(call, peer) ? row : 0;
  }

  // --- collect, encode, bytes: by the closing thread ---------------------------------------------
  void collect(uint32_t period) noexcept;
  // Adds the tables of messages, waits and synchronisations, of all threads.
  static void encode(StepRows& rows) noexcept;
  // Bytes of an entry that all pending rows of the rank may take, beside kReserved.
  static size_t room(Recorder& recorder) noexcept;
  uint64_t bytes() const noexcept;
  // How many pairs of call and peer the thread has had messages of.
  uint64_t n_pairs() const noexcept;
  // By the thread itself: a sum over all messages that it has sent, of a number for each kind of
  // call and partner.
  uint64_t by_partner() const noexcept;
  // Messages and waits that went to `other peers`.
  MonotonicCounter overflowed;

  // [max_rows_]; the first PERFIELD_CALL_LIMIT are `other peers` by call.
  Message* rows;
  InOneCall* in_one_call;  // of each of these rows

 private:
  class OtherPeers;

  uint32_t find(ThreadState& thread, uint16_t call, int32_t peer) noexcept;
  uint32_t first_slot(uint64_t key) const noexcept {
    return uint32_t((key * 0x9E3779B97F4A7C15u) >> 32) & slot_mask_;
  }
  static uint32_t period_of_token(uint32_t period, uint32_t thread) noexcept {
    return (period + thread * 64) & 0x7FFF;
  }
  uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  // What a row stands for. Rows of `other peers` are identified by their position. The closing
  // thread asks while the table's thread may enter a row.
  uint64_t known_key(uint32_t row) const noexcept {
    return row < PERFIELD_CALL_LIMIT ? key_of(uint16_t(row), kPeerOther)
                                     : __atomic_load_n(&rows[row].key, __ATOMIC_RELAXED);
  }
  void make_row(uint32_t k, uint64_t key, bool empties, StampSums& sums, MessageRow* row) noexcept;
  uint32_t encode_messages(StepRows& to, Calls& calls, OtherPeers& others) noexcept;

  unsigned char* dirty_;
  uint32_t* slots_;  // hash table of rows; 0: free
  uint32_t slot_mask_, max_rows_;
  std::atomic<uint32_t> size_{PERFIELD_CALL_LIMIT};
  PendingMessage* pending_;  // of each row; closing thread only
  Bits pending_rows_;        // those with something pending
};

}  // namespace perfield
