// SPDX-License-Identifier: BSD-3-Clause
//
// collective_table.hpp - a thread's collective operations by kind and communicator. What finds no
// row counts in that of `other communicators` of its kind.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/calls.h"
#include "recorder/counter.hpp"
#include "recorder/dirty_rows.hpp"
#include "recorder/message_table.hpp"
#include "recorder/step_rows.hpp"
#include "recorder/thread_state.hpp"

namespace perfield {

class CollectiveTable {
 public:
  void place(Arena& arena) noexcept;
  // --- count: by the thread itself ---------------------------------------------------------------
  void count(ThreadState& thread, const perfield_collective& done, uint64_t wait_end) noexcept;
  // Operations that went to `other communicators`.
  Counter overflowed;

  // --- collect, encode, bytes: by the closing thread ---------------------------------------------
  void collect(uint32_t period) noexcept;
  // Rows of several threads stay apart: two that take part in one operation are two callers.
  static void encode(StepRows& rows) noexcept;
  // Bytes of an entry that the pending rows of the rank need.
  static size_t room(Recorder& recorder) noexcept;
  uint64_t bytes() const noexcept;
  bool has_pending() const noexcept { return n_pending_; }

 private:
  static constexpr uint32_t kRows = 512;  // with those of other communicators, by call
  static constexpr uint32_t kSlots = 1024;

  struct Row {
    uint32_t communicator;
    uint16_t call;
    MonotonicCounter count, bytes_out, bytes_in, as_root;
    WrappingCounter begun, wait_begin, wait_end;  // sums of stamps
    MonotonicCounter unknown;                     // operations without their begin or wait
    Counter number;                               // of the last one
    InOneCall in_one_call;
    ShortCounter period;  // of in_one_call, see Activity
    // By the closing thread.
    struct {
      uint64_t count, bytes_out, bytes_in, as_root, unknown;
      Stamps stamps;
    } pending;
  };

  uint32_t find(uint16_t call, uint32_t communicator) noexcept;

  Row* rows_;  // [kRows]; the first are `other communicators` by call
  std::atomic<uint32_t> size_{PERFIELD_CALL_LIMIT};
  uint16_t* slots_;  // hash table of rows; 0: free
  unsigned char* dirty_;
  Bits pending_rows_;  // closing thread only
  uint32_t n_pending_ = 0;
};

}  // namespace perfield
