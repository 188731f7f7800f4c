// SPDX-License-Identifier: BSD-3-Clause
//
// step_entry.cpp - see step_entry.hpp. Takes rows shard by shard. Several threads with the same
// (peer, call) give several rows, which readers add up.
#include "recorder/step_entry.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>

#include "format/json.hpp"
#include "recorder/source.h"  // kPeerOther

namespace perfield {
namespace {

constexpr size_t kTableHeaders = 5 * sizeof(TableHeader);
constexpr size_t kKeptForMessages = PERFIELD_CALL_LIMIT * sizeof(MessageRow);
constexpr size_t kKeptForWaits = sizeof(WaitRow);

class Rows {
 public:
  Rows(unsigned char* at, size_t room) : at_(at), end_(at + room) {}
  // Reserves this many bytes, and releases them again.
  void keep(size_t bytes) noexcept { end_ -= bytes; }
  void give(size_t bytes) noexcept { end_ += bytes; }
  template <typename Row>
  bool add(const Row& row) noexcept {
    if (at_ + sizeof row > end_) return false;
    memcpy(at_, &row, sizeof row);
    at_ += sizeof row;
    return true;
  }
  // Begins a table; its rows follow, and end_table notes their number. A table without rows takes
  // no room.
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

// Writes message rows (waits == false) or rows of waits by peer; each leaves the other kind in
// place. Rows without room add up in one row of `other peers` per call, for which room is reserved.
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

uint32_t add_calls(Recorder& r, Rows& rows, Carry carry) noexcept {
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
    // No count: the call has not returned yet, or these are late bytes of one that has.
    if (!(row.count | row.ns | row.bytes_out | row.bytes_in)) continue;
    if (rows.add(row)) ++n;
  }
  return n;
}

// Writes the rows of quantities: one number per region and quantity, combined over the threads. A
// row without room stays in carry for the next entry.
class QuantityRows {
 public:
  QuantityRows(Recorder& r, Rows& rows, Carry carry) noexcept
      : r_(r), rows_(rows), carry_(carry), encoding_(++encodings_) {}

  uint32_t add() noexcept {
    for (int q = 0; q < r_.quantities.size(); ++q)
      if (r_.quantities[q].scope == PERFIELD_PER_RANK)
        add_row(kOfRank, uint16_t(q), [q](Shard& s) { return &s.carry_of_rank[q]; });
    for (int i = 0; i < r_.n_shards(); ++i)
      r_.shard_at(i).carry_of_regions.for_each([this](auto& row) {
        if (row.value.seen == encoding_ || (!row.value.value && !row.value.is_set)) return;
        if (r_.quantities.longest() >> row.quantity & 1)
          add_longest(row.region);
        else
          add_of_region(row.region, row.quantity);
      });
    return n_;
  }

 private:
  static QuantityCarry* carry_of(Shard& s, uint32_t region, uint16_t quantity) noexcept {
    auto* row = s.carry_of_regions.find(region, quantity);
    return row ? &row->value : nullptr;
  }

  void add_of_region(uint32_t region, uint16_t quantity) noexcept {
    add_row(region, quantity, [=](Shard& s) { return carry_of(s, region, quantity); });
  }

  // carry_of(shard): the thread's carry of this quantity, or nullptr.
  template <class CarryOf>
  void add_row(uint32_t region, uint16_t quantity, CarryOf of) noexcept {
    const Quantity& about = r_.quantities[quantity];
    uint64_t sum = 0, most = 0;
    bool is_set = false;
    for (int i = 0; i < r_.n_shards(); ++i) {
      QuantityCarry* carry = of(r_.shard_at(i));
      if (!carry) continue;
      carry->seen = encoding_;
      is_set |= carry->is_set;
      sum += carry->value;
      most = std::max(most, carry->value);
    }
    if (!sum && !is_set) return;
    if (!put(region, quantity, about.over_threads == PERFIELD_THREADS_MAX ? most : sum)) return;
    if (carry_ == Carry::kept) return;
    for (int i = 0; i < r_.n_shards(); ++i)
      if (QuantityCarry* carry = of(r_.shard_at(i))) empty(carry);
  }

  // Takes all times of a region from the thread that spent most in them, so that they fit together
  // and into the region's time.
  void add_longest(uint32_t region) noexcept {
    Shard* longest = nullptr;
    uint64_t most = 0;
    for (int i = 0; i < r_.n_shards(); ++i) {
      uint64_t sum = 0;
      for_each_longest([&](uint16_t q) {
        const QuantityCarry* carry = carry_of(r_.shard_at(i), region, q);
        if (carry) sum += carry->value;
      });
      if (sum <= most) continue;
      most = sum;
      longest = &r_.shard_at(i);
    }
    for_each_longest([&](uint16_t q) {
      const QuantityCarry* own = longest ? carry_of(*longest, region, q) : nullptr;
      const bool is_done = !own || !own->value || put(region, q, own->value);
      for (int i = 0; i < r_.n_shards(); ++i) {
        QuantityCarry* carry = carry_of(r_.shard_at(i), region, q);
        if (!carry) continue;
        carry->seen = encoding_;
        if (is_done && carry_ == Carry::emptied) empty(carry);
      }
    });
  }

  template <class Visit>
  void for_each_longest(Visit visit) noexcept {
    for (uint64_t bits = r_.quantities.longest(); bits; bits &= bits - 1)
      visit(uint16_t(__builtin_ctzll(bits)));
  }

  static void empty(QuantityCarry* carry) noexcept {
    carry->value = 0;
    carry->is_set = false;
  }

  // Returns false if there is no room.
  bool put(uint32_t region, uint16_t quantity, uint64_t value) noexcept {
    if (r_.quantities[quantity].is_ticks()) {
      value = r_.clock.span_ns(value);
      if (!value) return true;  // too short to report
    }
    if (!rows_.add(QuantityRow{region, quantity, 0, value})) return false;
    r_.quantities_used |= uint64_t(1) << quantity;
    ++n_;
    return true;
  }

  static inline uint32_t encodings_ = 0;
  Recorder& r_;
  Rows& rows_;
  Carry carry_;
  uint32_t encoding_, n_ = 0;
};

// Bytes for the rows of one thread's full table and those of the rank. More rows occur only where
// threads enter different regions.
size_t room_for_quantities(uint32_t max_regions) noexcept {
  return (RegionQuantities<QuantityCarry>::capacity(max_regions) + kMostQuantities) *
         sizeof(QuantityRow);
}

// The bytes that the present rows need.
size_t room_needed_for_quantities(Recorder& r) noexcept {
  size_t rows = kMostQuantities;
  for (int i = 0; i < r.n_shards(); ++i) rows += r.shard_at(i).carry_of_regions.size();
  return std::min(rows * sizeof(QuantityRow), room_for_quantities(r.regions.capacity()));
}

// Whether any region has time in that quantity in the step about to be written.
bool carries_time(Recorder& r, uint16_t quantity) noexcept {
  bool found = false;
  for (int i = 0; i < r.n_shards() && !found; ++i)
    r.shard_at(i).carry_of_regions.for_each([&](const auto& row) {
      found |= row.quantity == quantity && r.clock.span_ns(row.value.value) > 0;
    });
  return found;
}

}  // namespace

size_t largest_step_body(uint32_t max_regions, uint32_t max_peers) noexcept {
  constexpr size_t threads_with_full_tables = 4;  // more go to `overflowed`, with their counts
  return sizeof(StepBody) + kTableHeaders + PERFIELD_CALL_LIMIT * sizeof(CallRow) +
         max_regions * sizeof(RegionRow) + room_for_quantities(max_regions) +
         threads_with_full_tables * message_rows(max_peers) * sizeof(MessageRow);
}

void define_regions(Recorder& r,
                    const std::function<bool(uint32_t id, const std::string& json)>& write) {
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
    d.written = write(id, json.str());
  }
}

void define_quantities(Recorder& r,
                       const std::function<bool(uint32_t id, const std::string& json)>& write) {
  static constexpr const char* kScopes[] = {"region", "rank"};
  static constexpr const char* kOverSteps[] = {"sum", "max", "last"};
  static constexpr const char* kOverThreads[] = {"sum", "max", "longest"};
  for (int number = 0; number < r.quantities.size(); ++number) {
    Quantity& q = r.quantities[number];
    if (q.written || (q.waits_for_use() && !carries_time(r, uint16_t(number)))) continue;
    JsonObject json;
    json.integer("id", number).text("name", q.name).text("unit", q.unit->stored);
    json.text("scope", kScopes[q.scope]).text("over_steps", kOverSteps[q.over_steps]);
    json.text("over_threads", kOverThreads[q.over_threads]).text("help", q.help);
    q.written = write(uint32_t(number), json.str());
  }
}

size_t encode_step(Recorder& r, StepBody body, unsigned char* at, size_t room,
                   Carry carry) noexcept {
  for (int i = 0; i < r.n_shards(); ++i) {
    Shard& s = r.shard_at(i);
    body.faults += carry == Carry::kept ? s.faults.grown() : s.faults.take();
    body.faults += carry == Carry::kept ? s.left_calls.grown() : s.left_calls.take();
    body.overflowed += carry == Carry::kept ? s.overflowed.grown() : s.overflowed.take();
  }
  // Reserves room for calls and quantities first: they are few and always fit.
  const size_t kept = PERFIELD_CALL_LIMIT * sizeof(CallRow) + room_needed_for_quantities(r);
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
  last.end_table(StepTable::calls, sizeof(CallRow), add_calls(r, last, carry), &body);
  last.begin_table();
  last.end_table(StepTable::quantities, sizeof(QuantityRow), QuantityRows(r, last, carry).add(),
                 &body);
  memcpy(at, &body, sizeof body);
  return size_t(last.at() - at);
}

}  // namespace perfield
