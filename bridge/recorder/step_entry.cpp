// SPDX-License-Identifier: BSD-3-Clause
//
// step_entry.cpp - see step_entry.hpp. Takes rows shard by shard. Several threads with the same
// (peer, call) give several rows, which readers add up.
#include "recorder/step_entry.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <utility>

#include "format/json.hpp"
#include "recorder/source.h"  // kPeerOther

namespace perfield {
namespace {

constexpr size_t kTableHeaders = 5 * sizeof(TableHeader);
constexpr size_t kKeptForMessages = PERFIELD_CALL_LIMIT * sizeof(MessageRow);
constexpr size_t kKeptForWaits = sizeof(WaitRow);

template <class Visit>
void for_each_bit(uint64_t bits, Visit visit) noexcept {
  for (; bits; bits &= bits - 1) visit(uint32_t(__builtin_ctzll(bits)));
}

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

// Calls visit(shard) for the shards that carry anything.
template <class Visit>
void for_each_carrying(Recorder& r, Visit visit) noexcept {
  if (const int n = r.n_shards())
    r.carried.shards.for_each(uint32_t(n), [&](uint32_t i) { visit(r.shard_at(int(i))); });
}

void add_thread(const RegionValues& of, const Clock& clock, RegionRow* row) noexcept {
  const uint64_t inclusive = clock.span_ns(of.inclusive), self = clock.span_ns(of.self);
  row->count += of.count;
  row->inclusive_sum_ns += inclusive;
  row->self_sum_ns += self;
  row->inclusive_min_ns = row->threads ? std::min(row->inclusive_min_ns, inclusive) : inclusive;
  row->inclusive_max_ns = std::max(row->inclusive_max_ns, inclusive);
  row->self_min_ns = row->threads ? std::min(row->self_min_ns, self) : self;
  row->self_max_ns = std::max(row->self_max_ns, self);
  ++row->threads;
}

uint32_t add_regions(Recorder& r, Rows& rows, Carry carry) noexcept {
  RegionRow* const of_rank = r.carried.region_rows;
  for_each_carrying(r, [&](Shard& s) {
    s.carried_regions.for_each(r.regions.size(), [&](uint32_t id) {
      add_thread(s.carry_regions[id], r.clock, &of_rank[id]);
      if (carry == Carry::kept) return;
      s.carry_regions[id] = {};
      s.carried_regions.remove(id);
    });
  });
  if (!r.n_shards()) return 0;
  uint32_t n = 0;
  r.carried.regions.for_each(r.regions.size(), [&](uint32_t id) {
    of_rank[id].id = id;
    if (rows.add(of_rank[id])) ++n;
    of_rank[id] = {};
    if (carry == Carry::emptied) r.carried.regions.remove(id);
  });
  return n;
}

// Writes message rows (waits == false) or rows of waits by peer; each leaves the other kind in
// place. Rows without room add up in one row of `other peers` per call, for which room is reserved.
uint32_t add_messages(Recorder& r, Rows& rows, bool waits, Carry carry,
                      uint64_t* overflowed) noexcept {
  uint32_t n = 0;
  MessageRow other[PERFIELD_CALL_LIMIT];
  std::bitset<PERFIELD_CALL_LIMIT> has_other;
  auto add = [&](const MessageRow& row) {
    return waits ? rows.add(WaitRow{row.peer, 0, row.count, r.clock.span_ns(row.bytes)})
                 : rows.add(row);
  };
  for_each_carrying(r, [&](Shard& s) {
    if (!s.n_carried_messages) return;
    s.carried_messages.for_each(s.n_messages.load(std::memory_order_acquire), [&](uint32_t k) {
      Message& m = s.messages[k];
      uint16_t call = s.call_of(k);
      if ((call == kWaitedCall) != waits) return;
      r.carried.calls_of_messages.set(call);
      MessageRow row{s.peer_of(k),  call,           0, m.carry_count, m.carry_bytes,
                     m.carry_empty, m.carry_largest};
      if (add(row)) {
        ++n;
      } else {
        MessageRow& o = other[call];
        if (!has_other[call]) o = {kPeerOther, call, 0, 0, 0, 0, 0};
        has_other[call] = true;
        o.count += row.count;
        o.bytes += row.bytes;
        o.empty += row.empty;
        o.largest = std::max(o.largest, row.largest);
        *overflowed += row.count;
      }
      if (carry == Carry::kept) return;
      m.carry_count = m.carry_bytes = m.carry_empty = m.carry_largest = 0;
      s.carried_messages.remove(k);
      --s.n_carried_messages;
    });
  });
  rows.give(waits ? kKeptForWaits : kKeptForMessages);
  if (has_other.any())
    for (uint16_t call = 0; call < PERFIELD_CALL_LIMIT; ++call)
      if (has_other[call] && add(other[call])) ++n;
  return n;
}

uint32_t add_calls(Recorder& r, Rows& rows, Carry carry) noexcept {
  CallRow of_rank[PERFIELD_CALL_LIMIT];
  uint64_t carried[PERFIELD_CALL_LIMIT / 64] = {};
  const auto add_call = [&](Shard& s, uint32_t word, uint32_t call, bool is_first) {
    CallRow& row = of_rank[call];
    CallValues& v = s.carry_calls[call];
    if (is_first) row = {uint16_t(call), kTimeClassOfCall.of[call], 0, 0, 0, 0, 0};
    row.count += v.count;
    row.ns += r.clock.span_ns(v.ticks);
    row.bytes_out += v.bytes_out;
    row.bytes_in += v.bytes_in;
    if (carry == Carry::emptied) v = {};
    carried[word] |= uint64_t(1) << call % 64;
  };
  for_each_carrying(r, [&](Shard& s) {
    for (uint32_t word = 0; word < PERFIELD_CALL_LIMIT / 64; ++word) {
      const uint64_t before = carried[word];
      for_each_bit(s.carried_calls[word],
                   [&](uint32_t bit) { add_call(s, word, word * 64 + bit, !(before >> bit & 1)); });
      if (carry == Carry::emptied) s.carried_calls[word] = 0;
    }
  });
  uint32_t n = 0;
  for (uint32_t word = 0; word < PERFIELD_CALL_LIMIT / 64; ++word)
    for_each_bit(carried[word], [&](uint32_t bit) {
      const CallRow& row = of_rank[word * 64 + bit];
      // No count: the call has not returned yet, or these are late bytes of one that has.
      if ((row.count | row.ns | row.bytes_out | row.bytes_in) && rows.add(row)) ++n;
    });
  return n;
}

// Writes the rows of quantities: one number per region and quantity, combined over the threads. A
// row without room stays in carry for the next entry.
class QuantityRows {
 public:
  QuantityRows(Recorder& r, Rows& rows, Carry carry) noexcept : r_(r), rows_(rows), carry_(carry) {}

  uint32_t add() noexcept {
    if (!r_.n_shards()) return 0;
    Carried& carried = r_.carried;
    for_each_bit(carried.of_rank, [&](uint32_t q) {
      const auto of_rank = [q](Shard& s) { return &s.carry_of_rank[q]; };
      if (!add_row(kOfRank, uint16_t(q), of_rank) || carry_ == Carry::kept) return;
      for_each_carrying(r_, [&](Shard& s) { *of_rank(s) = {}; });
      carried.of_rank &= ~(uint64_t(1) << q);
    });
    if (!carried.quantity_rows) return n_;
    for_each_carrying(r_, [&](Shard& s) {
      s.carried_quantities.for_each(s.carry_of_regions.size(), [&](uint32_t place) {
        const auto& row = s.carry_of_regions.row(place);
        carried.quantities_of[row.region] |= uint64_t(1) << row.quantity;
        carried.regions_with_quantities.add(row.region);
      });
    });
    carried.regions_with_quantities.for_each(r_.regions.capacity(), [&](uint32_t region) {
      add_region(region, std::exchange(carried.quantities_of[region], 0));
      carried.regions_with_quantities.remove(region);
    });
    if (!carried.quantity_rows) carried.quantities = 0;
    return n_;
  }

 private:
  void add_region(uint32_t region, uint64_t quantities) noexcept {
    const uint64_t longest = quantities & r_.quantities.longest();
    Shard* const one = longest ? longest_in(region, longest) : nullptr;
    for_each_bit(quantities, [&](uint32_t bit) {
      const auto q = uint16_t(bit);
      const bool done = longest >> q & 1
                            ? add_longest(region, q, one)
                            : add_row(region, q, [=](Shard& s) { return carry_of(s, region, q); });
      if (!done || carry_ == Carry::kept) return;
      for_each_carrying(r_, [&](Shard& s) { empty(s, region, q); });
    });
  }

  static QuantityCarry* carry_of(Shard& s, uint32_t region, uint16_t quantity) noexcept {
    auto* row = s.carry_of_regions.find(region, quantity);
    return row ? &row->value : nullptr;
  }

  void empty(Shard& s, uint32_t region, uint16_t quantity) noexcept {
    auto* const row = s.carry_of_regions.find(region, quantity);
    if (!row) return;
    row->value = {};
    if (s.carried_quantities.remove(s.carry_of_regions.place_of(*row))) --r_.carried.quantity_rows;
  }

  // carry_of(shard): the thread's carry of this quantity, or nullptr. Returns whether it is done.
  template <class CarryOf>
  bool add_row(uint32_t region, uint16_t quantity, CarryOf of) noexcept {
    uint64_t sum = 0, most = 0;
    bool is_set = false;
    for_each_carrying(r_, [&](Shard& s) {
      const QuantityCarry* carry = of(s);
      if (!carry) return;
      is_set |= carry->is_set;
      sum += carry->value;
      most = std::max(most, carry->value);
    });
    const Quantity& about = r_.quantities[quantity];
    return (!sum && !is_set) ||
           put(region, quantity, about.over_threads == PERFIELD_THREADS_MAX ? most : sum);
  }

  // All times of a region come from the thread that spent most in them, so that they fit together
  // and into the region's time.
  Shard* longest_in(uint32_t region, uint64_t longest) noexcept {
    Shard* found = nullptr;
    uint64_t most = 0;
    for_each_carrying(r_, [&](Shard& s) {
      uint64_t sum = 0;
      for_each_bit(longest, [&](uint32_t q) {
        const QuantityCarry* carry = carry_of(s, region, uint16_t(q));
        if (carry) sum += carry->value;
      });
      if (sum <= most) return;
      most = sum;
      found = &s;
    });
    return found;
  }

  bool add_longest(uint32_t region, uint16_t quantity, Shard* longest) noexcept {
    const QuantityCarry* own = longest ? carry_of(*longest, region, quantity) : nullptr;
    return !own || !own->value || put(region, quantity, own->value);
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

  Recorder& r_;
  Rows& rows_;
  Carry carry_;
  uint32_t n_ = 0;
};

// Of what found no room in the entry, the shards stay.
void forget_empty_shards(Carried& carried, int n_shards) noexcept {
  if (carried.quantity_rows || carried.of_rank || !n_shards) return;
  carried.shards.for_each(uint32_t(n_shards), [&](uint32_t i) { carried.shards.remove(i); });
}

// Bytes for the rows of one thread's full table and those of the rank. More rows occur only where
// threads enter different regions.
size_t room_for_quantities(uint32_t max_regions) noexcept {
  return (RegionQuantities<QuantityCarry>::capacity(max_regions) + kMostQuantities) *
         sizeof(QuantityRow);
}

// The bytes that the present rows need.
size_t room_needed_for_quantities(Recorder& r) noexcept {
  const size_t rows = kMostQuantities + r.carried.quantity_rows;
  return std::min(rows * sizeof(QuantityRow), room_for_quantities(r.regions.capacity()));
}

// Whether any region has time in that quantity in the step about to be written.
bool carries_time(Recorder& r, uint16_t quantity) noexcept {
  if (!(r.carried.quantities >> quantity & 1)) return false;
  bool found = false;
  for_each_carrying(r, [&](Shard& s) {
    s.carried_quantities.for_each(s.carry_of_regions.size(), [&](uint32_t place) {
      const auto& row = s.carry_of_regions.row(place);
      found |= row.quantity == quantity && r.clock.span_ns(row.value.value) > 0;
    });
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

std::string with_id(uint32_t id, const std::string& json) {
  return "{\"id\":" + std::to_string(id) + "," + json.substr(1);
}

void define_regions(Recorder& r,
                    const std::function<bool(uint32_t id, const std::string& json)>& write) {
  if (!r.n_shards()) return;
  r.carried.regions.for_each(r.regions.size(), [&](uint32_t id) {
    RegionDefinition& d = r.regions[id];
    if (d.written) return;
    JsonObject json;
    json.text("name", d.name).text("file", d.file);
    json.integer("line", d.line).integer("block", d.block).natural("armed_at", d.place);
    d.written = write(id, json.str());
  });
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
    json.text("name", q.name).text("unit", q.unit->stored);
    json.text("scope", kScopes[q.scope]).text("over_steps", kOverSteps[q.over_steps]);
    json.text("over_threads", kOverThreads[q.over_threads]).text("help", q.help);
    q.written = write(uint32_t(number), json.str());
  }
}

size_t encode_step(Recorder& r, StepBody body, unsigned char* at, size_t room,
                   Carry carry) noexcept {
  for_each_carrying(r, [&](Shard& s) {
    body.faults += carry == Carry::kept ? s.faults.grown() : s.faults.take();
    body.faults += carry == Carry::kept ? s.left_calls.grown() : s.left_calls.take();
    body.overflowed += carry == Carry::kept ? s.overflowed.grown() : s.overflowed.take();
  });
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
  if (carry == Carry::emptied) forget_empty_shards(r.carried, r.n_shards());
  memcpy(at, &body, sizeof body);
  return size_t(last.at() - at);
}

}  // namespace perfield
