// SPDX-License-Identifier: BSD-3-Clause
//
// step_entry.cpp - see step_entry.hpp. Rows are taken shard by shard; the same (peer, call) seen by
// several threads gives several rows, which add up.
#include "recorder/step_entry.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>

#include "format/json.hpp"
#include "recorder/region_counts.hpp"
#include "recorder/source.h"  // kPeerOther

namespace perfield {
namespace {

constexpr size_t kTableHeaders = 5 * sizeof(TableHeader);
constexpr size_t kKeptForMessages = PERFIELD_CALL_LIMIT * sizeof(MessageRow);
constexpr size_t kKeptForWaits = sizeof(WaitRow);

class Rows {
 public:
  Rows(unsigned char* at, size_t room) : at_(at), end_(at + room) {}
  // Keeps so many bytes back, and gives them free again.
  void keep(size_t bytes) noexcept { end_ -= bytes; }
  void give(size_t bytes) noexcept { end_ += bytes; }
  template <typename Row>
  bool add(const Row& row) noexcept {
    if (at_ + sizeof row > end_) return false;
    memcpy(at_, &row, sizeof row);
    at_ += sizeof row;
    return true;
  }
  // Begins a table, whose rows follow; end_table notes how many there are. A table without rows
  // takes no place.
  void begin_table() noexcept {
    table_ = at_;
    at_ += sizeof(TableHeader);
  }
  void end_table(StepTable table, size_t row_bytes, uint32_t rows, StepBody* body) noexcept {
    if (!rows) {
      at_ = table_;
      return;
    }
    const TableHeader header = {uint16_t(table), uint16_t(row_bytes), rows};
    memcpy(table_, &header, sizeof header);
    ++body->n_tables;
  }
  unsigned char* at() const noexcept { return at_; }

 private:
  unsigned char *at_, *end_, *table_ = nullptr;
};

uint32_t add_regions(Recorder& r, Rows& rows, Carry carry) noexcept {
  uint32_t n = 0;
  for (uint32_t id = 0; id < r.regions.size(); ++id) {
    RegionRow row{};
    row.id = id;
    for (int i = 0; i < r.n_shards(); ++i) {
      RegionValues& v = r.shard_at(i).carry_regions[id];
      if (!v.count && !v.inclusive && !v.self) continue;
      uint64_t inclusive = r.clock.span_ns(v.inclusive), self = r.clock.span_ns(v.self);
      row.count += v.count;
      row.inclusive_sum_ns += inclusive;
      row.self_sum_ns += self;
      row.inclusive_min_ns = row.threads ? std::min(row.inclusive_min_ns, inclusive) : inclusive;
      row.inclusive_max_ns = std::max(row.inclusive_max_ns, inclusive);
      row.self_min_ns = row.threads ? std::min(row.self_min_ns, self) : self;
      row.self_max_ns = std::max(row.self_max_ns, self);
      ++row.threads;
      if (carry == Carry::emptied) v = {};
    }
    if (row.threads && rows.add(row)) ++n;
  }
  return n;
}

// Message rows (waits == false) or rows of waits by peer; both leave the other kind in place. What
// finds no room adds up in one row of `other peers` for each call, for which room is kept.
uint32_t add_messages(Recorder& r, Rows& rows, bool waits, Carry carry,
                      uint64_t* overflowed) noexcept {
  uint32_t n = 0;
  MessageRow other[PERFIELD_CALL_LIMIT] = {};
  auto add = [&](const MessageRow& row) {
    return waits ? rows.add(WaitRow{row.peer, 0, row.count, r.clock.span_ns(row.bytes)})
                 : rows.add(row);
  };
  for (int i = 0; i < r.n_shards(); ++i) {
    Shard& s = r.shard_at(i);
    uint32_t end = s.n_messages.load(std::memory_order_acquire);
    for (uint32_t k = s.first_message(); k < end; ++k) {
      Message& m = s.messages[k];
      uint16_t call = s.call_of(k);
      if (!m.carry_count || (call == kWaitedCall) != waits) continue;
      MessageRow row{s.peer_of(k),  call,           0, m.carry_count, m.carry_bytes,
                     m.carry_empty, m.carry_largest};
      if (add(row)) {
        ++n;
      } else {
        MessageRow& o = other[call];
        o = {kPeerOther,
             call,
             0,
             o.count + row.count,
             o.bytes + row.bytes,
             o.empty + row.empty,
             std::max(o.largest, row.largest)};
        *overflowed += row.count;
      }
      if (carry == Carry::emptied)
        m.carry_count = m.carry_bytes = m.carry_empty = m.carry_largest = 0;
    }
  }
  rows.give(waits ? kKeptForWaits : kKeptForMessages);
  for (const MessageRow& o : other)
    if (o.count && add(o)) ++n;
  return n;
}

// Rows of calls; what was read and written is also added up in the body.
uint32_t add_calls(Recorder& r, Rows& rows, Carry carry, StepBody* body) noexcept {
  uint32_t n = 0;
  for (uint16_t c = 0; c < PERFIELD_CALL_LIMIT; ++c) {
    CallRow row{c, kTimeClassOfCall.of[c], 0, 0, 0, 0, 0};
    for (int i = 0; i < r.n_shards(); ++i) {
      CallValues& v = r.shard_at(i).carry_calls[c];
      row.count += v.count;
      row.ns += r.clock.span_ns(v.ticks);
      row.bytes_out += v.bytes_out;
      row.bytes_in += v.bytes_in;
      if (carry == Carry::emptied) v = {};
    }
    // No count: a call that has not returned yet, or the late bytes of one that has.
    if (!(row.count | row.ns | row.bytes_out | row.bytes_in)) continue;
    if (rows.add(row)) ++n;
    if (row.time_class != PERFIELD_CLASS_io && row.time_class != PERFIELD_CLASS_file) continue;
    body->io_read_bytes += row.bytes_in;
    body->io_write_bytes += row.bytes_out;
  }
  return n;
}

// Rows of time in calls inside a region: those of the thread that spent most there in calls, so
// that they fit together and into the region's time.
uint32_t add_times_inside(Recorder& r, Rows& rows, uint32_t region, Carry carry) noexcept {
  InsideValues longest = {};
  uint64_t most = 0;
  for (int i = 0; i < r.n_shards(); ++i) {
    Inside& inside = r.shard_at(i).inside;
    if (!inside.carries(region)) continue;
    const InsideValues& own = inside.carry_of(region);
    const uint64_t all = std::accumulate(std::begin(own.of), std::end(own.of), uint64_t{0});
    if (all > most) longest = own;
    most = std::max(most, all);
    if (carry == Carry::emptied) inside.empty(region);
  }
  uint32_t n = 0;
  for (uint16_t time_class = 0; most && time_class < kOwnClasses; ++time_class) {
    const uint64_t ns = r.clock.span_ns(longest.of[time_class]);
    if (!ns || !rows.add(InsideRow{region, time_class, 0, ns})) continue;
    r.classes_inside |= uint32_t{1} << time_class;
    ++n;
  }
  return n;
}

// Rows of what counters came to inside a region, in all threads.
uint32_t add_counts_inside(Recorder& r, Rows& rows, uint32_t region, Carry carry) noexcept {
  RegionCounts::Values sums = {};
  for (int i = 0; i < r.n_shards(); ++i) {
    RegionCounts* counts = r.shard_at(i).counts.load(std::memory_order_acquire);
    const RegionCounts::Values* own = counts ? counts->carry_of(region) : nullptr;
    for (int c = 0; own && c < kMostFollowed; ++c) sums[c] += (*own)[c];
    if (own && carry == Carry::emptied) counts->empty(region);
  }
  uint32_t n = 0;
  for (uint16_t c = 0; c < kMostFollowed; ++c)
    if (sums[c] && rows.add(InsideRow{region, uint16_t(kInsideCounter + c), 0, sums[c]})) ++n;
  return n;
}

uint32_t add_inside(Recorder& r, Rows& rows, Carry carry) noexcept {
  const bool has_counters = r.counters.any();
  uint32_t n = 0;
  for (uint32_t region = 0; region < r.regions.size(); ++region)
    n += add_times_inside(r, rows, region, carry) +
         (has_counters ? add_counts_inside(r, rows, region, carry) : 0);
  return n;
}

// A region's rows: its times and counters.
constexpr size_t room_for_inside(uint32_t max_regions) noexcept {
  return size_t{max_regions} * (kOwnClasses + kMostFollowed) * sizeof(InsideRow);
}

}  // namespace

size_t largest_step_body(uint32_t max_regions, uint32_t max_peers) noexcept {
  constexpr size_t threads_with_full_tables = 4;  // more go to `overflowed`, with their counts
  return sizeof(StepBody) + kTableHeaders + PERFIELD_CALL_LIMIT * sizeof(CallRow) +
         max_regions * sizeof(RegionRow) + room_for_inside(max_regions) +
         threads_with_full_tables * (max_peers + PERFIELD_CALL_LIMIT) * sizeof(MessageRow);
}

void define_regions(Recorder& r,
                    const std::function<void(uint32_t id, const std::string& json)>& write) {
  for (uint32_t id = 0; id < r.regions.size(); ++id) {
    RegionDefinition& d = r.regions[id];
    if (d.written) continue;
    bool used = false;
    for (int i = 0; i < r.n_shards() && !used; ++i) {
      const RegionValues& v = r.shard_at(i).carry_regions[id];
      used = v.count || v.inclusive;
    }
    if (!used) continue;
    JsonObject json;
    json.natural("id", id).text("name", d.name).text("file", d.file);
    json.integer("line", d.line).integer("block", d.block).natural("armed_at", d.place);
    write(id, json.str());
    d.written = true;
  }
}

size_t encode_step(Recorder& r, StepBody body, unsigned char* at, size_t room,
                   Carry carry) noexcept {
  for (int i = 0; i < r.n_shards(); ++i) {
    Shard& s = r.shard_at(i);
    uint64_t faults = s.faults.get(), overflowed = s.overflowed.get();
    body.faults += faults - s.closed_faults;
    body.overflowed += overflowed - s.closed_overflowed;
    if (carry == Carry::kept) continue;
    s.closed_faults = faults;
    s.closed_overflowed = overflowed;
  }
  // Calls and what is inside regions first in the reckoning of room: they are few and always fit.
  const size_t kept = PERFIELD_CALL_LIMIT * sizeof(CallRow) + room_for_inside(r.regions.size());
  Rows rows(at + sizeof body, room - sizeof body - kept);
  rows.keep(kKeptForMessages + kKeptForWaits + kTableHeaders);
  rows.begin_table();
  rows.end_table(StepTable::regions, sizeof(RegionRow), add_regions(r, rows, carry), &body);
  rows.begin_table();
  rows.end_table(StepTable::messages, sizeof(MessageRow),
                 add_messages(r, rows, false, carry, &body.overflowed), &body);
  rows.begin_table();
  rows.end_table(StepTable::waits, sizeof(WaitRow),
                 add_messages(r, rows, true, carry, &body.overflowed), &body);
  Rows last(rows.at(), kept + kTableHeaders);
  last.begin_table();
  last.end_table(StepTable::calls, sizeof(CallRow), add_calls(r, last, carry, &body), &body);
  last.begin_table();
  last.end_table(StepTable::inside, sizeof(InsideRow), add_inside(r, last, carry), &body);
  memcpy(at, &body, sizeof body);
  return size_t(last.at() - at);
}

}  // namespace perfield
