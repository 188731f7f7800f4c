// SPDX-License-Identifier: BSD-3-Clause
//
// call_table.cpp - see call_table.hpp.
#include "recorder/call_table.hpp"

#include "recorder/recorder.hpp"

namespace perfield {

void CallTable::collect() noexcept {
  for_each_dirty<Marks::taken>(dirty_, PERFIELD_CALL_LIMIT, [&](uint32_t call) {
    Values& values = pending(call);
    values.count += of_[call].count.take();
    values.ticks += of_[call].ticks.take();
    values.bytes_out += of_[call].bytes_out.take();
    values.bytes_in += of_[call].bytes_in.take();
  });
}

void CallTable::cancel_all() noexcept {
  for (uint32_t word = 0; word < PERFIELD_CALL_LIMIT / 64; ++word) {
    for_each_bit(advanced_[word], [&](uint32_t bit) { of_[word * 64 + bit].ticks.cancel(); });
    advanced_[word] = 0;
  }
}

void CallTable::skip(uint64_t most) noexcept {
  for_each_dirty<Marks::kept>(dirty_, PERFIELD_CALL_LIMIT,
                              [&](uint32_t call) { of_[call].ticks.skip(most); });
}

void CallTable::encode(StepRows& to) noexcept {
  CallRow of_rank[PERFIELD_CALL_LIMIT];
  uint64_t written[PERFIELD_CALL_LIMIT / 64] = {};
  Recorder& r = to.recorder;
  const auto add = [&](Values& values, uint32_t call, bool is_first) {
    CallRow& row = of_rank[call];
    if (is_first) row = {uint16_t(call), kTimeClassOfCall.of[call], 0, 0, 0, 0, 0};
    row.count += values.count;
    row.ns += r.clock.span_ns(values.ticks);
    row.bytes_out += values.bytes_out;
    row.bytes_in += values.bytes_in;
    if (to.empties) values = {};
  };
  r.for_each_pending([&](ThreadProfile& s) {
    CallTable& calls = s.calls;
    for (uint32_t word = 0; word < PERFIELD_CALL_LIMIT / 64; ++word) {
      const uint64_t before = written[word];
      for_each_bit(calls.pending_calls_[word], [&](uint32_t bit) {
        add(calls.pending_[word * 64 + bit], word * 64 + bit, !(before >> bit & 1));
      });
      written[word] |= calls.pending_calls_[word];
      if (to.empties) calls.pending_calls_[word] = 0;
    }
  });
  to.table<CallRow>(StepTable::calls, [&] {
    uint32_t n = 0;
    for (uint32_t word = 0; word < PERFIELD_CALL_LIMIT / 64; ++word)
      for_each_bit(written[word], [&](uint32_t bit) {
        const CallRow& row = of_rank[word * 64 + bit];
        // No count: the call has not exited yet, or these are late bytes of one that has.
        if ((row.count | row.ns | row.bytes_out | row.bytes_in) && to.add(row)) ++n;
      });
    return n;
  });
}

}  // namespace perfield
