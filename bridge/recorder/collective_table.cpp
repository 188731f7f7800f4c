// SPDX-License-Identifier: BSD-3-Clause
//
// collective_table.cpp - see collective_table.hpp.
#include "recorder/collective_table.hpp"

#include <algorithm>

#include "recorder/recorder.hpp"

namespace perfield {
namespace {

// Rows of more threads wait for the next entry.
constexpr size_t kThreadsWithFullTables = 4;

}  // namespace

void CollectiveTable::place(Arena& arena) noexcept {
  rows_ = arena.take<Row>(kRows);
  slots_ = arena.take<uint16_t>(kSlots);
  dirty_ = arena.take<unsigned char>(kRows);
  pending_rows_.place(arena, kRows);
}

uint32_t CollectiveTable::find(uint16_t call, uint32_t communicator) noexcept {
  uint32_t slot = (communicator ^ uint32_t(call) * 0x9E3779B9u) % kSlots;
  for (;; slot = (slot + 1) % kSlots) {
    const uint32_t i = slots_[slot];
    if (i == 0) break;
    if (rows_[i].communicator == communicator && rows_[i].call == call) return i;
  }
  const uint32_t n = size_.load(std::memory_order_relaxed);
  if (n >= kRows) {
    overflowed.add(1);
    return call;  // `other communicators` of this call
  }
  rows_[n].communicator = communicator;
  rows_[n].call = call;
  slots_[slot] = uint16_t(n);
  size_.store(n + 1, std::memory_order_release);
  return n;
}

void CollectiveTable::count(ThreadState& thread, const perfield_collective& done,
                            uint64_t wait_end) noexcept {
  if (done.call >= PERFIELD_CALL_LIMIT) return;
  const uint32_t row = done.communicator ? find(done.call, done.communicator) : uint32_t(done.call);
  Row& c = rows_[row];
  c.in_one_call.add(done.wait_begin);
  if (const uint32_t period = thread.activity->short_period(); c.period.get() != period) {
    c.period.set(period);
    c.in_one_call.most.set(0);
  }
  c.bytes_out.add(done.bytes_out);
  c.bytes_in.add(done.bytes_in);
  if (done.flags & PERFIELD_COLLECTIVE_ROOT) c.as_root.add(1);
  c.begun.add(done.begun);
  c.wait_begin.add(done.wait_begin);
  c.wait_end.add(wait_end);
  if (!done.begun || !done.wait_begin) c.unknown.add(1);
  c.number.set(row < PERFIELD_CALL_LIMIT ? 0 : done.number);
  c.count.add(1);
  mark_dirty(dirty_, row, thread.dirty, DirtyTable::collectives);
}

void CollectiveTable::collect(uint32_t period) noexcept {
  const uint32_t n = size_.load(std::memory_order_relaxed);
  for_each_dirty<Marks::taken>(dirty_, n, [&](uint32_t i) {
    Row& c = rows_[i];
    const uint64_t count = c.count.take();
    if (!count) return;
    c.pending.count += count;
    c.pending.bytes_out += c.bytes_out.take();
    c.pending.bytes_in += c.bytes_in.take();
    c.pending.as_root += c.as_root.take();
    c.pending.stamps.begun += c.begun.take();
    c.pending.stamps.wait_begin += c.wait_begin.take();
    c.pending.stamps.wait_end += c.wait_end.take();
    c.pending.unknown += c.unknown.take();
    if (c.period.get() == period) c.in_one_call.collect();
    if (pending_rows_.add(i)) ++n_pending_;
  });
}

void CollectiveTable::encode(StepRows& to) noexcept {
  to.table<CollectiveRow>(StepTable::collectives, [&] {
    uint32_t n = 0;
    to.recorder.for_each_pending([&](ThreadProfile& s) {
      CollectiveTable& table = s.collectives;
      if (!table.n_pending_) return;
      table.pending_rows_.for_each(kRows, [&](uint32_t k) {
        Row& c = table.rows_[k];
        const bool is_named = k >= PERFIELD_CALL_LIMIT;
        CollectiveRow row{};
        row.communicator = is_named ? c.communicator : 0;
        row.call = is_named ? c.call : uint16_t(k);
        row.flags = c.pending.as_root != 0;
        row.count = c.pending.count;
        row.bytes_out = c.pending.bytes_out;
        row.bytes_in = c.pending.bytes_in;
        if (!c.pending.unknown) to.sums.into(&row, c.pending.stamps, Stamps{}, true);
        row.number = uint32_t(c.number.get());
        row.most_in_call = c.in_one_call.pending();
        if (!to.add(row)) return;  // of a fifth thread with a full table: the next entry has it
        ++n;
        if (!to.empties) return;
        c.pending = {};
        c.in_one_call.pending_most = 0;
        table.pending_rows_.remove(k);
        --table.n_pending_;
      });
    });
    return n;
  });
}

size_t CollectiveTable::room(Recorder& r) noexcept {
  size_t rows = 0;
  r.for_each_pending([&](ThreadProfile& s) { rows += s.collectives.n_pending_; });
  return std::min(rows, kThreadsWithFullTables * kRows) * sizeof(CollectiveRow);
}

uint64_t CollectiveTable::bytes() const noexcept {
  const uint64_t n = size_.load(std::memory_order_relaxed) - PERFIELD_CALL_LIMIT;
  return n ? bytes_of_pages(n * sizeof(Row)) + bytes_of_pages(kSlots * sizeof(uint16_t)) +
                 bytes_of_pages(kRows)
           : 0;
}

}  // namespace perfield
