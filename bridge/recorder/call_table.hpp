// SPDX-License-Identifier: BSD-3-Clause
//
// call_table.hpp - how often a thread made each kind of MPI call, and what that took. A call counts
// when it exits. A step that closes before gets its share of the time in advance.
#pragma once

#include <cstdint>

#include "format/calls.h"
#include "recorder/counter.hpp"
#include "recorder/dirty_rows.hpp"
#include "recorder/step_rows.hpp"
#include "recorder/thread_state.hpp"

namespace perfield {

class CallTable {
 public:
  // --- count: by the thread itself ---------------------------------------------------------------
  void count(ThreadState& thread, perfield_call call, uint64_t ticks, uint64_t out, uint64_t in,
             uint64_t count = 1) noexcept {
    Counters& c = of_[call];
    c.count.add(count);
    c.ticks.add(ticks);
    if (__builtin_expect((out | in) != 0, 0)) {
      c.bytes_out.add(out);
      c.bytes_in.add(in);
    }
    mark_dirty(dirty_, call, thread.dirty, DirtyTable::calls);
  }
  // Of all calls so far; what closings took in advance of an open one is in it.
  uint64_t ticks() const noexcept {
    uint64_t sum = 0;
    for (const Counters& c : of_) sum += c.ticks.get();
    return sum;
  }

  // --- collect, encode: by the closing thread ----------------------------------------------------
  void collect() noexcept;
  // The open part of the call that the thread is inside.
  void collect_open(perfield_call call, uint64_t ticks) noexcept { pending(call).ticks += ticks; }
  // The step has taken these ticks of the open call already, or no step gets them.
  void advance(perfield_call call, uint64_t ticks) noexcept {
    advanced_[call / 64] |= uint64_t(1) << call % 64;
    of_[call].ticks.advance(ticks);
  }
  // What was taken in advance of this call, or of all, will never be added.
  void cancel(perfield_call call) noexcept { of_[call].ticks.cancel(); }
  void cancel_all() noexcept;
  // So much at most of the time since the last closing belongs to no step.
  void skip(uint64_t most) noexcept;
  static void encode(StepRows& rows) noexcept;
  // Bytes of an entry that its rows may take.
  static constexpr size_t kRoom = PERFIELD_CALL_LIMIT * sizeof(CallRow);
  struct Values {
    uint64_t count, ticks, bytes_out, bytes_in;
  };
  const Values& pending_of(perfield_call call) const noexcept { return pending_[call]; }

 private:
  struct Counters {
    MonotonicCounter count, ticks, bytes_out, bytes_in;
  };
  Values& pending(uint32_t call) noexcept {
    pending_calls_[call / 64] |= uint64_t(1) << call % 64;
    return pending_[call];
  }

  Counters of_[PERFIELD_CALL_LIMIT];
  alignas(kDirtyRowsInChunk) unsigned char dirty_[PERFIELD_CALL_LIMIT] = {};
  // Closing thread only. As bits: calls with something pending, and with time taken in advance.
  Values pending_[PERFIELD_CALL_LIMIT] = {};
  uint64_t pending_calls_[PERFIELD_CALL_LIMIT / 64] = {}, advanced_[PERFIELD_CALL_LIMIT / 64] = {};
};

}  // namespace perfield
