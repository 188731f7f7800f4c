// SPDX-License-Identifier: BSD-3-Clause
//
// message_table.cpp - see message_table.hpp. Several threads with the same peer and call give
// several rows of an entry, which readers add up.
#include "recorder/message_table.hpp"

#include "recorder/recorder.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
// The rows of more threads may find no room, and then count as `other peers`.
constexpr size_t kThreadsWithFullTables = 4;

uint32_t power_of_two_above(uint32_t n) noexcept {
  uint32_t p = 16;
  while (p < n) p *= 2;
  return p;
}

// In which table of an entry a row of that call is written.
StepTable table_of(uint16_t call) noexcept {
  if (call == kWaitedCall) return StepTable::waits;
  return synchronises(call) ? StepTable::synchronisations : StepTable::messages;
}

SynchronisationRow synchronisation_of(const MessageRow& row) noexcept {
  return {row.peer,           row.call,         0,          row.count,  row.begun_sum,
          row.wait_begin_sum, row.wait_end_sum, row.number, row.channel};
}

// Where all messages have one size, as most often, the counters need no look.
[[gnu::noinline]] void take_sizes(const Message& m, PendingMessage& pending, bool empties,
                                  MessageRow* row) noexcept {
  for (int bin = 0; bin < kSizeBins; ++bin) {
    row->sizes[bin] = m.size_count(bin) - pending.written_sizes[bin];
    if (empties) pending.written_sizes[bin] += row->sizes[bin];
  }
}

}  // namespace

void MessageTable::place(Arena& arena, uint32_t max_peers) noexcept {
  max_rows_ = max_peers * kCallsPerPeer + PERFIELD_CALL_LIMIT;
  const uint32_t n_slots = power_of_two_above(max_peers * kCallsPerPeer * 2);
  slot_mask_ = n_slots - 1;
  rows = arena.take<Message>(max_rows_ + 1);  // the last one stays empty
  in_one_call = arena.take<InOneCall>(max_rows_);
  pending_ = arena.take<PendingMessage>(max_rows_);
  dirty_ = arena.take<unsigned char>(max_rows_);
  slots_ = arena.take<uint32_t>(n_slots);
  pending_rows_.place(arena, max_rows_);
}

uint32_t MessageTable::find(ThreadState& thread, uint16_t call, int32_t peer) noexcept {
  const uint64_t key = key_of(call, peer);
  uint32_t slot = first_slot(key);
  for (;; slot = (slot + 1) & slot_mask_) {
    const uint32_t i = slots_[slot];
    if (i == 0) break;
    if (rows[i].key == key) return i;
  }
  const uint32_t n = size_.load(relaxed);
  if (n >= max_rows_) {
    overflowed.add(1);
    thread.dirty.add(DirtyTable::messages);
    return call;  // `other peers` of this call
  }
  __atomic_store_n(&rows[n].key, key, __ATOMIC_RELAXED);
  slots_[slot] = n;
  size_.store(n + 1, std::memory_order_release);
  return n;
}

void MessageTable::collect(uint32_t period) noexcept {
  const auto look_at = [&](uint32_t i) {
    Message& m = rows[i];
    MessageTotals& seen = pending_[i].seen;
    const uint64_t count = m.count.get();
    if (count == seen.count) return false;
    seen.count = count;
    seen.bytes = m.bytes.get();
    if (call_in(known_key(i)) == kWaitedCall) return true;
    seen.stamps = {m.begun.get(), m.wait_begin.get(), m.wait_end.get()};
    seen.empty = m.empty();
    seen.unknown = m.unknown.get();
    m.seen_open = m.open.get();
    if (m.largest_period.get() == period) {
      m.pending_largest = std::max(m.pending_largest, m.largest.get());
      in_one_call[i].collect();
    }
    return true;
  };
  collect_dirty(dirty_, size_.load(relaxed), look_at, pending_rows_);
}

[[gnu::always_inline]] inline void MessageTable::make_row(uint32_t k, uint64_t key, bool empties,
                                                          StampSums& sums,
                                                          MessageRow* row) noexcept {
  Message& m = rows[k];
  PendingMessage& pending = pending_[k];
  const bool is_known = k >= PERFIELD_CALL_LIMIT;
  const MessageTotals &seen = pending.seen, &written = pending.written;
  const uint64_t count = seen.count - written.count, bytes = seen.bytes - written.bytes;
  const uint64_t largest = m.pending_largest;
  const perfield_message_id last = is_known ? id_in(m.last_id.get()) : perfield_message_id{};
  row->peer = peer_in(key);
  row->call = call_in(key);
  row->zero = 0;
  row->count = count;
  row->bytes = bytes;
  row->empty = seen.empty - written.empty;
  row->most_in_call = in_one_call[k].pending();
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
    if (empties) pending.written_sizes[bin] += uint32_t(count);
  } else {
    take_sizes(m, pending, empties, row);
  }
  if (!empties) return;
  pending.written = seen;
  m.written_open = m.seen_open;
  m.pending_largest = 0;
  in_one_call[k].pending_most = 0;
}

// Rows without room add up in one row of `other peers` per call, for which room is reserved.
class MessageTable::OtherPeers {
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
  Calls has_;
  MessageRow rows_[PERFIELD_CALL_LIMIT];
};

// Leaves the rows of other tables in place.
[[gnu::noinline]] uint32_t MessageTable::encode_messages(StepRows& to, Calls& calls,
                                                         OtherPeers& others) noexcept {
  uint32_t n = 0;
  uint16_t last_call = kWaitedCall;
  MessageRow spare;
  pending_rows_.filter(size(), [&](uint32_t k) {
    const uint64_t key = known_key(k);
    if (table_of(call_in(key)) != StepTable::messages) return true;
    if (call_in(key) != last_call) calls.set(last_call = call_in(key));
    MessageRow* const row = to.next<MessageRow>();
    n += row != nullptr;
    make_row(k, key, to.empties, to.sums, row ? row : &spare);
    if (__builtin_expect(!row, 0)) others.add(spare);
    return !to.empties;
  });
  return n;
}

void MessageTable::encode(StepRows& to) noexcept {
  Recorder& r = to.recorder;
  to.table<MessageRow>(StepTable::messages, [&] {
    uint32_t n = 0;
    OtherPeers others;
    r.for_each_pending([&](ThreadProfile& s) {
      n += s.messages.encode_messages(to, r.pending.calls_of_messages, others);
    });
    to.give(PERFIELD_CALL_LIMIT * sizeof(MessageRow));
    to.body.overflowed += others.count;
    return n + others.for_each([&](const MessageRow& row) { return to.add(row); });
  });
  to.table<WaitRow>(StepTable::waits, [&] {
    uint32_t n = 0;
    WaitRow others{kPeerOther, 0, 0, 0};
    r.for_each_pending([&](ThreadProfile& s) {
      MessageTable& m = s.messages;
      m.pending_rows_.filter(m.size(), [&](uint32_t k) {
        const uint64_t key = m.known_key(k);
        if (call_in(key) != kWaitedCall) return true;
        MessageTotals &seen = m.pending_[k].seen, &written = m.pending_[k].written;
        const WaitRow row = {peer_in(key), 0, seen.count - written.count,
                             r.clock.span_ns(seen.bytes - written.bytes)};
        if (to.add(row)) {
          ++n;
        } else {
          others.count += row.count;
          others.ns += row.ns;
        }
        if (to.empties) written = seen;
        return !to.empties;
      });
    });
    to.give(sizeof(WaitRow));
    to.body.overflowed += others.count;
    return n + (others.count && to.add(others));
  });
  to.table<SynchronisationRow>(StepTable::synchronisations, [&] {
    uint32_t n = 0;
    OtherPeers others;
    r.for_each_pending([&](ThreadProfile& s) {
      MessageTable& m = s.messages;
      m.pending_rows_.filter(m.size(), [&](uint32_t k) {
        const uint64_t key = m.known_key(k);
        if (table_of(call_in(key)) != StepTable::synchronisations) return true;
        MessageRow row;
        m.make_row(k, key, to.empties, to.sums, &row);
        if (to.add(synchronisation_of(row)))
          ++n;
        else
          others.add(row);
        return !to.empties;
      });
    });
    to.give(PERFIELD_CALL_LIMIT * sizeof(SynchronisationRow));
    to.body.overflowed += others.count;
    return n +
           others.for_each([&](const MessageRow& row) { return to.add(synchronisation_of(row)); });
  });
}

size_t MessageTable::room(Recorder& r) noexcept {
  size_t rows = 0, most = 0;
  r.for_each_pending([&](ThreadProfile& s) {
    rows += s.messages.size_.load(relaxed);
    most = std::max<size_t>(most, s.messages.max_rows_);
  });
  return std::min(rows, kThreadsWithFullTables * most) * sizeof(MessageRow);
}

uint64_t MessageTable::bytes() const noexcept {
  const uint64_t n = size_.load(relaxed), slots = (slot_mask_ + 1) * sizeof(uint32_t);
  return bytes_of_pages(n * sizeof(Message)) + bytes_of_pages(n * sizeof(InOneCall)) +
         bytes_of_pages(n * sizeof(PendingMessage)) + bytes_of_pages(n) +
         std::min(bytes_of_pages(slots), (n - PERFIELD_CALL_LIMIT) * bytes_of_pages(1));
}

uint64_t MessageTable::by_partner() const noexcept {
  uint64_t sum = 0;
  for (uint32_t row = PERFIELD_CALL_LIMIT; row < size(); ++row) {
    const uint16_t call = call_in(rows[row].key);
    if (call != kWaitedCall && call != PERFIELD_CALL_recv)
      sum += rows[row].count.get() * (rows[row].key * 0x9E3779B97F4A7C15u);
  }
  return sum;
}

uint64_t MessageTable::n_pairs() const noexcept {
  uint64_t pairs = 0;
  // Rows of `other peers` count only once they hold something.
  for (uint32_t k = overflowed.get() ? 1 : PERFIELD_CALL_LIMIT; k < size(); ++k)
    pairs += call_in(known_key(k)) != kWaitedCall;
  return pairs;
}

}  // namespace perfield
