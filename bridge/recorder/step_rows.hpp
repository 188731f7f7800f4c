// SPDX-License-Identifier: BSD-3-Clause
//
// step_rows.hpp - what the tables of a step's entry are written with: the rows, and sums of stamps
// on the rank's clock.
#pragma once

#include <cstring>
#include <new>

#include "format/entry.hpp"
#include "platform/clock.hpp"
#include "recorder/counter.hpp"

namespace perfield {

class Recorder;

// Sums of stamps of messages or operations, in ticks modulo 2^64.
struct Stamps {
  uint64_t begun, wait_begin, wait_end;
};

// Turns sums of stamps in ticks into sums of ns on the rank's clock. A stamp of another thread that
// was counted while the step closed may have come apart from its message; then the sum is far off,
// and counts as unknown.
class StampSums {
 public:
  // until: the ticks until which counts were collected. begin_ns: of the step.
  StampSums(const Clock& clock, uint64_t until, uint64_t begin_ns) noexcept
      : clock_(clock),
        until_(until),
        until_ns_(clock_.since_start_ns(until_)),
        slack_(clock_.ticks_of_ns(kSlack_ns)),
        since_start_(clock_.ticks_of_ns(until_ns_)),
        in_step_(clock_.ticks_of_ns(growth(until_ns_, begin_ns))) {}

  // Of the `row->count` messages between two sums of ticks, with all their begins; ended: and all
  // their waits.
  template <class Row>
  [[gnu::noinline]] void into(Row* row, const Stamps& seen, const Stamps& written,
                              bool ended) noexcept {
    if (__builtin_expect(row->count != of_.count, 0)) take_count(row->count);
    row->begun_sum = sum_ns(seen.begun - written.begun, of_.since_start);
    row->wait_begin_sum = ended ? sum_ns(seen.wait_begin - written.wait_begin, of_.since_start) : 0;
    row->wait_end_sum = ended ? sum_ns(seen.wait_end - written.wait_end, of_.in_step) : 0;
  }

 private:
  static constexpr uint64_t kSlack_ns = 10'000'000;  // of each stamp

  // most: ticks from the earliest stamps to the end, added up, with the slack on both sides.
  uint64_t sum_ns(uint64_t ticks, uint64_t most) const noexcept {
    const uint64_t before = of_.until - ticks;  // of the end, added up
    if (!ticks || before + of_.slack > most) return 0;
    return of_.until_ns - uint64_t(clock_.difference_ns(int64_t(before)));
  }
  // So many messages: as often as not, those of all rows.
  void take_count(uint64_t count) noexcept {
    const auto times = [count](uint64_t ticks) {
      uint64_t all;
      return __builtin_mul_overflow(count, ticks, &all) ? ~uint64_t{0} : all;
    };
    of_ = {count,
           count * until_,
           count * until_ns_,
           times(slack_),
           times(since_start_ + 2 * slack_),
           times(in_step_ + 2 * slack_)};
  }

  const Clock& clock_;
  uint64_t until_, until_ns_;
  uint64_t slack_, since_start_, in_step_;  // ticks
  struct {
    uint64_t count, until, until_ns, slack, since_start, in_step;
  } of_{};  // of so many messages
};

// A step's entry, which tables write their rows into.
class StepRows {
 public:
  // empties: what is written is pending no more; else the step goes on.
  StepRows(Recorder& recorder, StepBody& body, StampSums& sums, bool empties, unsigned char* at,
           size_t room) noexcept
      : recorder(recorder), body(body), sums(sums), empties(empties), at_(at), end_(at + room) {}

  // Reserves this many bytes, and releases them again.
  void keep(size_t bytes) noexcept { end_ -= bytes; }
  void give(size_t bytes) noexcept { end_ += bytes; }
  // The next row, to be filled in; nullptr if there is no room.
  template <typename Row>
  Row* next() noexcept {
    if (at_ + sizeof(Row) > end_) return nullptr;
    void* const row = at_;
    at_ += sizeof(Row);
    return new (row) Row;
  }
  template <typename Row>
  bool add(const Row& row) noexcept {
    Row* const to = next<Row>();
    if (to) *to = row;
    return to;
  }
  // Writes a table. add_rows(): adds its rows, and returns how many. A table without rows takes no
  // room.
  template <typename Row, class AddRows>
  void table(StepTable number, AddRows add_rows) noexcept {
    unsigned char* const begin = at_;
    at_ += sizeof(TableHeader);
    const uint32_t rows = add_rows();
    if (!rows) {
      at_ = begin;
      return;
    }
    const TableHeader header = {uint16_t(number), uint16_t(sizeof(Row)), rows};
    memcpy(begin, &header, sizeof header);
    ++body.n_tables;
  }
  unsigned char* at() const noexcept { return at_; }

  Recorder& recorder;
  StepBody& body;
  StampSums& sums;
  const bool empties;

 private:
  unsigned char *at_, *end_;
};

}  // namespace perfield
