// SPDX-License-Identifier: BSD-3-Clause
//
// step_entry.cpp - see step_entry.hpp. Takes rows shard by shard. Several threads with the same
// (peer, call) give several rows, which readers add up.
#include "recorder/step_entry.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <new>
#include <utility>

#include "format/json.hpp"
#include "recorder/source.h"  // kPeerOther

namespace perfield {
namespace {

constexpr size_t kTableHeaders = kStepTables * sizeof(TableHeader);
constexpr size_t kKeptForMessages = PERFIELD_CALL_LIMIT * sizeof(MessageRow);
constexpr size_t kKeptForWaits = sizeof(WaitRow);
constexpr size_t kKeptForSynchronisations = PERFIELD_CALL_LIMIT * sizeof(SynchronisationRow);
constexpr size_t kKeptForRows = kKeptForMessages + kKeptForWaits + kKeptForSynchronisations;
// More go to `overflowed`, with their counts.
constexpr size_t kThreadsWithFullTables = 4;
constexpr size_t kRowsOfCollectives = kCollectiveRows * sizeof(CollectiveRow);

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
  if (!row->threads) {
    *row = {row->id, 1, of.count, inclusive, inclusive, inclusive, self, self, self};
    return;
  }
  ++row->threads;
  row->count += of.count;
  row->inclusive_sum_ns += inclusive;
  row->inclusive_min_ns = std::min(row->inclusive_min_ns, inclusive);
  row->inclusive_max_ns = std::max(row->inclusive_max_ns, inclusive);
  row->self_sum_ns += self;
  row->self_min_ns = std::min(row->self_min_ns, self);
  row->self_max_ns = std::max(row->self_max_ns, self);
}

uint32_t add_regions(Recorder& r, Rows& rows, Carry carry) noexcept {
  RegionRow* const of_rank = r.carried.region_rows;
  for_each_carrying(r, [&](Shard& s) {
    s.carried_regions.filter(r.regions.size(), [&](uint32_t id) {
      add_thread(s.carry_regions[id], r.clock, &of_rank[id]);
      if (carry == Carry::emptied) s.carry_regions[id] = {};
      return carry == Carry::kept;
    });
  });
  if (!r.n_shards()) return 0;
  uint32_t n = 0;
  r.carried.regions.filter(r.regions.size(), [&](uint32_t id) {
    of_rank[id].id = id;
    if (rows.add(of_rank[id])) ++n;
    of_rank[id].threads = 0;
    return carry == Carry::kept;
  });
  return n;
}

// Which paths have rows: those of regions with several paths; of regions with one, the path alone
// unless it is outside of all other regions.
class PathRows {
 public:
  PathRows(Recorder& r, Rows& rows) noexcept : r_(r), rows_(rows) {}

  uint32_t add() noexcept {
    if (!r_.n_shards()) return 0;
    Carried& carried = r_.carried;
    carried.paths.for_each(r_.paths.n_rows(), [&](uint32_t path) {
      uint32_t& only = carried.only_path[r_.paths.region_of(path)];
      only = only || r_.paths.is_other(path) ? kSeveral : path;
    });
    carried.paths.for_each(r_.paths.n_rows(), [&](uint32_t path) { add(path); });
    carried.paths.filter(r_.paths.n_rows(), [&](uint32_t path) {
      carried.only_path[r_.paths.region_of(path)] = 0;
      return false;
    });
    for_each_carrying(r_, [&](Shard& s) {
      s.carried_paths.filter(r_.paths.n_rows(), [&](uint32_t path) {
        s.carry_paths[path] = {};
        return false;
      });
    });
    return n_;
  }

 private:
  static constexpr uint32_t kSeveral = ~uint32_t(0);

  void add(uint32_t path) noexcept {
    const uint32_t region = r_.paths.region_of(path);
    const bool is_other = r_.paths.is_other(path);
    PathRow row = {is_other ? 0 : path, region, 0, 0, 0, 0, 0, 0};
    const bool is_only = r_.carried.only_path[region] == path;
    if (is_only && r_.paths.outer_of(path) == Paths::kOutside) return;
    if (!is_only) for_each_carrying(r_, [&](Shard& s) { add_thread(s.carry_paths[path], &row); });
    n_ += rows_.add(row);
  }
  void add_thread(const PathValues& of, PathRow* row) const noexcept {
    const uint64_t inclusive = r_.clock.span_ns(of.inclusive);
    row->count += of.count;
    row->inclusive_sum_ns += inclusive;
    row->inclusive_max_ns = std::max(row->inclusive_max_ns, inclusive);
    row->self_sum_ns += r_.clock.span_ns(of.self);
    row->mpi_ns += r_.clock.span_ns(of.in_calls.mpi);
    row->file_ns += r_.clock.span_ns(of.in_calls.files);
  }

  Recorder& r_;
  Rows& rows_;
  uint32_t n_ = 0;
};

// Turns sums of stamps in ticks into sums of ns on the rank's clock. A stamp of another thread that
// was counted while the step closed may have come apart from its message; then the sum is far off,
// and counts as unknown.
class StampSums {
 public:
  StampSums(Recorder& r, const StepBody& body) noexcept
      : clock_(r.clock),
        until_(r.folded_until()),
        until_ns_(clock_.since_start_ns(until_)),
        slack_(clock_.ticks_of_ns(kSlack_ns)),
        since_start_(clock_.ticks_of_ns(until_ns_)),
        in_step_(clock_.ticks_of_ns(growth(until_ns_, body.begin_ns))) {}

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

// Where all messages have one size, as most often, the counters need no look.
[[gnu::noinline]] void take_sizes(const Message& m, MessageCarry& carried, bool emptied,
                                  MessageRow* row) noexcept {
  for (int bin = 0; bin < kSizeBins; ++bin) {
    row->sizes[bin] = m.size_count(bin) - carried.written_sizes[bin];
    if (emptied) carried.written_sizes[bin] += row->sizes[bin];
  }
}

[[gnu::always_inline]] inline void make_row(Shard& s, uint32_t k, uint64_t key, bool emptied,
                                            StampSums& sums, MessageRow* row) noexcept {
  Message& m = s.messages[k];
  MessageCarry& carried = s.carry_messages[k];
  const bool is_known = k >= PERFIELD_CALL_LIMIT;
  const MessageTotals &seen = carried.seen, &written = carried.written;
  const uint64_t count = seen.count - written.count, bytes = seen.bytes - written.bytes;
  const uint64_t largest = m.carry_largest;
  const perfield_message_id last = is_known ? id_in(m.last_id.get()) : perfield_message_id{};
  row->peer = peer_in(key);
  row->call = call_in(key);
  row->zero = 0;
  row->count = count;
  row->bytes = bytes;
  row->empty = seen.empty - written.empty;
  row->most_in_call = s.in_one_call[k].carried();
  row->largest = largest;
  row->number = last.number;
  row->channel = last.channel;
  memset(row->sizes, 0, sizeof row->sizes);
  if (seen.unknown == written.unknown)
    sums.into(row, seen.stamps, written.stamps, m.seen_open == m.written_open);
  else
    row->begun_sum = row->wait_begin_sum = row->wait_end_sum = 0;
  if (bytes == count * largest) {
    const int bin = size_bin(largest);
    row->sizes[bin] = uint32_t(count);
    if (emptied) carried.written_sizes[bin] += uint32_t(count);
  } else {
    take_sizes(m, carried, emptied, row);
  }
  if (!emptied) return;
  carried.written = seen;
  m.written_open = m.seen_open;
  m.carry_largest = 0;
  s.in_one_call[k].carry_most = 0;
}

// Rows without room add up in one row of `other peers` per call, for which room is reserved.
class OtherPeers {
 public:
  uint64_t count = 0;  // of messages in them

  [[gnu::noinline]] void add(const MessageRow& row) noexcept {
    MessageRow& sum = rows_[row.call];
    const bool is_first = !has_[row.call];
    has_[row.call] = true;
    count += row.count;
    if (is_first) {
      sum = row;
      sum.peer = kPeerOther;
      sum.number = sum.channel = 0;
      return;
    }
    sum.count += row.count;
    sum.bytes += row.bytes;
    sum.empty += row.empty;
    sum.largest = std::max(sum.largest, row.largest);
    sum.most_in_call = std::max(sum.most_in_call, row.most_in_call);
    for (uint64_t MessageRow::*stamps :
         {&MessageRow::begun_sum, &MessageRow::wait_begin_sum, &MessageRow::wait_end_sum})
      sum.*stamps = sum_of_known(sum.*stamps, row.*stamps);
    for (int bin = 0; bin < kSizeBins; ++bin) sum.sizes[bin] += row.sizes[bin];
  }
  // Calls write(row), which returns whether it is written. Returns how many are.
  template <class Write>
  uint32_t for_each(Write write) const noexcept {
    uint32_t n = 0;
    for (uint16_t call = 0; has_.any() && call < PERFIELD_CALL_LIMIT; ++call)
      n += has_[call] && write(rows_[call]);
    return n;
  }

 private:
  std::bitset<PERFIELD_CALL_LIMIT> has_;
  MessageRow rows_[PERFIELD_CALL_LIMIT];
};

// In which table a row of messages of that call is written.
StepTable table_of(uint16_t call) noexcept {
  if (call == kWaitedCall) return StepTable::waits;
  return synchronises(call) ? StepTable::synchronisations : StepTable::messages;
}

// Leaves the rows of other tables in place.
[[gnu::noinline]] uint32_t add_messages_of(Shard& s, Rows& rows, Carry carry, StampSums& sums,
                                           std::bitset<PERFIELD_CALL_LIMIT>& calls,
                                           OtherPeers& others) noexcept {
  const bool emptied = carry == Carry::emptied;
  uint32_t n = 0;
  uint16_t last_call = kWaitedCall;
  MessageRow spare;
  s.carried_messages.filter(s.n_messages.load(std::memory_order_acquire), [&](uint32_t k) {
    const uint64_t key = s.known_key(k);
    if (table_of(call_in(key)) != StepTable::messages) return true;
    if (call_in(key) != last_call) calls.set(last_call = call_in(key));
    MessageRow* const row = rows.next<MessageRow>();
    n += row != nullptr;
    make_row(s, k, key, emptied, sums, row ? row : &spare);
    if (__builtin_expect(!row, 0)) others.add(spare);
    return !emptied;
  });
  return n;
}

uint32_t add_messages(Recorder& r, Rows& rows, Carry carry, StampSums& sums,
                      uint64_t* overflowed) noexcept {
  uint32_t n = 0;
  OtherPeers others;
  for_each_carrying(r, [&](Shard& s) {
    n += add_messages_of(s, rows, carry, sums, r.carried.calls_of_messages, others);
  });
  rows.give(kKeptForMessages);
  *overflowed += others.count;
  return n + others.for_each([&](const MessageRow& row) { return rows.add(row); });
}

// Waits by peer. Rows without room add up in one of `other peers`.
uint32_t add_waits(Recorder& r, Rows& rows, Carry carry, uint64_t* overflowed) noexcept {
  uint32_t n = 0;
  WaitRow others{kPeerOther, 0, 0, 0};
  for_each_carrying(r, [&](Shard& s) {
    s.carried_messages.filter(s.n_messages.load(std::memory_order_acquire), [&](uint32_t k) {
      const uint64_t key = s.known_key(k);
      if (call_in(key) != kWaitedCall) return true;
      MessageTotals &seen = s.carry_messages[k].seen, &written = s.carry_messages[k].written;
      const WaitRow row = {peer_in(key), 0, seen.count - written.count,
                           r.clock.span_ns(seen.bytes - written.bytes)};
      if (rows.add(row)) {
        ++n;
      } else {
        others.count += row.count;
        others.ns += row.ns;
      }
      if (carry == Carry::emptied) written = seen;
      return carry == Carry::kept;
    });
  });
  rows.give(kKeptForWaits);
  *overflowed += others.count;
  return n + (others.count && rows.add(others));
}

SynchronisationRow synchronisation_of(const MessageRow& row) noexcept {
  return {row.peer,           row.call,         0,          row.count,  row.begun_sum,
          row.wait_begin_sum, row.wait_end_sum, row.number, row.channel};
}

uint32_t add_synchronisations(Recorder& r, Rows& rows, Carry carry, StampSums& sums,
                              uint64_t* overflowed) noexcept {
  uint32_t n = 0;
  OtherPeers others;
  for_each_carrying(r, [&](Shard& s) {
    s.carried_messages.filter(s.n_messages.load(std::memory_order_acquire), [&](uint32_t k) {
      const uint64_t key = s.known_key(k);
      if (table_of(call_in(key)) != StepTable::synchronisations) return true;
      MessageRow row;
      make_row(s, k, key, carry == Carry::emptied, sums, &row);
      if (rows.add(synchronisation_of(row)))
        ++n;
      else
        others.add(row);
      return carry == Carry::kept;
    });
  });
  rows.give(kKeptForSynchronisations);
  *overflowed += others.count;
  return n +
         others.for_each([&](const MessageRow& row) { return rows.add(synchronisation_of(row)); });
}

// Rows of several threads stay apart: two that take part in one operation are two callers.
uint32_t add_collectives(Recorder& r, Rows& rows, Carry carry, StampSums& sums) noexcept {
  uint32_t n = 0;
  for_each_carrying(r, [&](Shard& s) {
    if (!s.n_carried_collectives) return;
    s.carried_collectives.for_each(kCollectiveRows, [&](uint32_t k) {
      Collective& c = s.collectives[k];
      const bool is_named = k >= PERFIELD_CALL_LIMIT;
      CollectiveRow row{};
      row.communicator = is_named ? c.communicator : 0;
      row.call = is_named ? c.call : uint16_t(k);
      row.flags = c.carry_as_root != 0;
      row.count = c.carry_count;
      row.bytes_out = c.carry_bytes_out;
      row.bytes_in = c.carry_bytes_in;
      if (!c.carry_unknown) sums.into(&row, c.carry_stamps, Stamps{}, true);
      row.number = uint32_t(c.number.get());
      row.most_in_call = c.in_one_call.carried();
      if (!rows.add(row)) return;  // of a fifth thread with a full table: the next entry has it
      ++n;
      if (carry == Carry::kept) return;
      c.carry_count = c.carry_bytes_out = c.carry_bytes_in = c.carry_as_root = c.carry_unknown = 0;
      c.carry_stamps = {};
      c.in_one_call.carry_most = 0;
      s.carried_collectives.remove(k);
      --s.n_carried_collectives;
    });
  });
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
void forget_empty_shards(Recorder& r) noexcept {
  Carried& carried = r.carried;
  if (carried.quantity_rows || carried.of_rank || !r.n_shards()) return;
  carried.shards.for_each(uint32_t(r.n_shards()), [&](uint32_t i) {
    if (!r.shard_at(int(i)).n_carried_collectives) carried.shards.remove(i);
  });
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

// The same for collective operations, of at most four threads with full tables.
size_t room_needed_for_collectives(Recorder& r) noexcept {
  size_t rows = 0;
  for_each_carrying(r, [&](Shard& s) { rows += s.n_carried_collectives; });
  return std::min(rows * sizeof(CollectiveRow), kThreadsWithFullTables * kRowsOfCollectives);
}

// Whether any region has time in that quantity in the step about to be written.
bool carries_time(Recorder& r, uint16_t quantity) noexcept {
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

StepRoom step_body_room(Recorder& r) noexcept {
  size_t messages = 0, most = 0;
  for_each_carrying(r, [&](Shard& s) {
    messages += s.n_messages.load(std::memory_order_relaxed);
    most = std::max<size_t>(most, s.max_messages);
  });
  messages = std::min(messages, kThreadsWithFullTables * most);
  const size_t least = sizeof(StepBody) + 2 * kTableHeaders + kKeptForRows +
                       PERFIELD_CALL_LIMIT * sizeof(CallRow) + room_needed_for_quantities(r) +
                       room_needed_for_collectives(r);
  return {least, least + r.regions.size() * sizeof(RegionRow) +
                     (r.paths.size() + r.regions.size()) * sizeof(PathRow) +
                     messages * sizeof(MessageRow)};
}

namespace {

// Calls visit for a path and those around it, from inside outwards; for other paths only for them.
template <class Visit>
void for_each_around(const Paths& paths, uint32_t path, Visit visit) {
  while (path != Paths::kOutside) {
    visit(path);
    path = paths.is_other(path) ? Paths::kOutside : paths.outer_of(path);
  }
}

}  // namespace

std::string with_id(uint32_t id, const std::string& json) {
  return "{\"id\":" + std::to_string(id) + "," + json.substr(1);
}

void define_regions(Recorder& r,
                    const std::function<bool(uint32_t id, const std::string& json)>& write) {
  if (!r.n_shards()) return;
  Bits& defined = r.carried.defined_regions;
  const auto define = [&](uint32_t id) {
    const RegionDefinition& d = r.regions[id];
    JsonObject json;
    json.text("name", d.name).text("file", d.file);
    json.integer("line", d.line).integer("block", d.block).natural("armed_at", d.place);
    if (write(id, json.str())) defined.add(id);
  };
  r.carried.regions.for_each_beside(defined, r.regions.size(), define);
  r.carried.sampled_paths.for_each(r.paths.n_rows(), [&](uint32_t path) {
    for_each_around(r.paths, path, [&](uint32_t around) {
      const uint32_t region = r.paths.region_of(around);
      if (!defined.has(region)) define(region);
    });
  });
}

void define_paths(Recorder& r,
                  const std::function<bool(const std::vector<PathDefinition>& rows)>& write) {
  if (!r.n_shards()) return;
  Bits& defined = r.carried.defined_paths;
  std::vector<PathDefinition> rows;
  const auto add = [&](uint32_t path) {
    const auto before = std::ptrdiff_t(rows.size());
    for_each_around(r.paths, path, [&](uint32_t around) {
      if (r.paths.is_other(around) || !defined.add(around)) return;
      rows.push_back({around, r.paths.outer_of(around), r.paths.region_of(around), 0});
    });
    std::reverse(rows.begin() + before, rows.end());
  };
  r.carried.paths.for_each(r.paths.size(), add);
  r.carried.sampled_paths.for_each(r.paths.n_rows(), add);
  if (!rows.empty() && !write(rows))
    for (const PathDefinition& row : rows) defined.remove(row.path);
  r.carried.sampled_paths.for_each(r.paths.n_rows(),
                                   [&](uint32_t path) { r.carried.sampled_paths.remove(path); });
}

void define_quantities(Recorder& r,
                       const std::function<bool(uint32_t id, const std::string& json)>& write) {
  static constexpr const char* kScopes[] = {"region", "rank"};
  static constexpr const char* kOverSteps[] = {"sum", "max", "last"};
  static constexpr const char* kOverThreads[] = {"sum", "max", "longest"};
  // A time inside regions waits for the step that has some.
  const uint64_t waiting = r.quantities.longest() & ~r.carried.quantities;
  for_each_bit(r.quantities.all() & ~r.quantities_defined & ~waiting, [&](uint32_t number) {
    const Quantity& q = r.quantities[int(number)];
    if (q.waits_for_use() && !carries_time(r, uint16_t(number))) return;
    JsonObject json;
    json.text("name", q.name).text("unit", q.unit->stored);
    json.text("scope", kScopes[q.scope]).text("over_steps", kOverSteps[q.over_steps]);
    json.text("over_threads", kOverThreads[q.over_threads]).text("help", q.help);
    if (write(number, json.str())) r.quantities_defined |= uint64_t(1) << number;
  });
}

size_t encode_step(Recorder& r, StepBody body, unsigned char* at, size_t room,
                   Carry carry) noexcept {
  for_each_carrying(r, [&](Shard& s) {
    body.faults += carry == Carry::kept ? s.faults.grown() : s.faults.take();
    body.faults += carry == Carry::kept ? s.left_calls.grown() : s.left_calls.take();
    body.overflowed += carry == Carry::kept ? s.overflowed.grown() : s.overflowed.take();
  });
  // Reserves room for calls and quantities first: they are few and always fit.
  const size_t kept = PERFIELD_CALL_LIMIT * sizeof(CallRow) + room_needed_for_quantities(r) +
                      room_needed_for_collectives(r);
  StampSums sums(r, body);
  Rows rows(at + sizeof body, room - sizeof body - kept);
  rows.keep(kKeptForRows + kTableHeaders);
  rows.begin_table();
  rows.end_table(StepTable::regions, sizeof(RegionRow), add_regions(r, rows, carry), &body);
  rows.begin_table();
  rows.end_table(StepTable::messages, sizeof(MessageRow),
                 add_messages(r, rows, carry, sums, &body.overflowed), &body);
  rows.begin_table();
  rows.end_table(StepTable::waits, sizeof(WaitRow), add_waits(r, rows, carry, &body.overflowed),
                 &body);
  rows.begin_table();
  rows.end_table(StepTable::synchronisations, sizeof(SynchronisationRow),
                 add_synchronisations(r, rows, carry, sums, &body.overflowed), &body);
  if (carry == Carry::emptied) {  // nobody looks at those of a step that goes on
    rows.begin_table();
    rows.end_table(StepTable::paths, sizeof(PathRow), PathRows(r, rows).add(), &body);
  }
  Rows last(rows.at(), kept + kTableHeaders);
  last.begin_table();
  last.end_table(StepTable::calls, sizeof(CallRow), add_calls(r, last, carry), &body);
  last.begin_table();
  last.end_table(StepTable::quantities, sizeof(QuantityRow), QuantityRows(r, last, carry).add(),
                 &body);
  last.begin_table();
  last.end_table(StepTable::collectives, sizeof(CollectiveRow),
                 add_collectives(r, last, carry, sums), &body);
  if (carry == Carry::emptied) forget_empty_shards(r);
  memcpy(at, &body, sizeof body);
  return size_t(last.at() - at);
}

}  // namespace perfield
