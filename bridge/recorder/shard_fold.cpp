// SPDX-License-Identifier: BSD-3-Clause
//
// shard_fold.cpp - reads a thread's counts from the thread that closes a step. A region's value at
// a moment is its completed time plus the open part of its present entries. Steps are differences
// of such values, so errors never add up.
#include <algorithm>

#include "recorder/carried.hpp"
#include "recorder/kernel_readings.hpp"
#include "recorder/shard.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

void Shard::fold(Carried& all, uint64_t news, const Counters& counters, uint64_t now,
                 uint32_t n_regions) noexcept {
  fold_paths(all, news, n_regions);
  fold_stack(all, now);
  if (has(news, News::messages)) fold_messages();
  if (has(news, News::collectives)) fold_collectives();
  if (has(news, News::faults)) forgive_left_calls();
  if (has(news, News::calls)) fold_calls();
  fold_quantities(all, news);
  // The open part of the call that the thread is inside. Leaving the call adds all its time.
  const OpenCall open = open_call_at(now);
  if (open.since) {
    const uint64_t part = now - open.since;
    if (!open.operation) {
      carry_of_call(open.call).ticks += part;
    } else if (open.operation->time) {
      carry_of(all, uint16_t(number_of(open.operation->time))).value += part;
    }
    take_ahead(open, part);
    call_taken_until_ = now;
  }
  fold_frames(all, counters, now, open);
}

bool Shard::carry_region(uint32_t region, const RegionValues& more) noexcept {
  if (!(more.count | more.inclusive | more.self)) return false;
  RegionValues& carry = carry_regions[region];
  carry.count += more.count;
  carry.inclusive += more.inclusive;
  carry.self += more.self;
  return true;
}

bool Shard::carry_path(uint32_t path, const PathValues& more) noexcept {
  if (!(more.count | more.inclusive | more.self | more.in_calls.mpi | more.in_calls.files))
    return false;
  PathValues& carry = carry_paths[path];
  carry.count += more.count;
  carry.inclusive += more.inclusive;
  carry.self += more.self;
  carry.in_calls.mpi += more.in_calls.mpi;
  carry.in_calls.files += more.in_calls.files;
  return true;
}

void Shard::note_path(Carried& all, uint32_t path) noexcept {
  carried_paths.add(path);
  all.paths.add(path);
}

// The time of a region is that of its paths which are in no other of them; rows of other paths hold
// no more than that.
bool Shard::carry_both(Carried& all, uint32_t path, bool is_outermost,
                       const PathValues& more) noexcept {
  if (!carry_path(path, more)) return false;
  const uint32_t region = known_paths->region_of(path);
  if (carry_region(region, {more.count, is_outermost ? more.inclusive : 0, more.self})) {
    carried_regions.add(region);
    all.regions.add(region);
  }
  return true;
}

void Shard::fold_paths(Carried& all, uint64_t news, uint32_t n_regions) noexcept {
  const auto take = [&](uint32_t path, bool is_outermost) {
    PathCounters& row = paths[path];
    GrowingInCalls& calls = calls_of_paths[path];
    const bool in_calls = calls.mpi.grown() | calls.files.grown();  // else no page is touched
    return carry_both(
        all, path, is_outermost,
        {row.count.take(), row.inclusive.take(), row.self.take(),
         in_calls ? TicksInCalls{calls.mpi.take(), calls.files.take()} : TicksInCalls{}});
  };
  if (has(news, News::paths))
    carry_marked(
        touched_paths, known_paths->size(),
        [&](uint32_t path) { return take(path, known_paths->is_outermost(path)); }, carried_paths,
        all.paths);
  if (!has(news, News::other_paths)) return;
  const uint32_t other = known_paths->other(0);
  for_each_mark<Marks::taken>(touched_paths + other, n_regions, [&](uint32_t region) {
    if (take(other + region, true)) note_path(all, other + region);
  });
}

// The open part of present entries, and their count: entering a region marks nothing.
void Shard::fold_stack(Carried& all, uint64_t now) noexcept {
  const uint64_t since = activity->since_ticks.load(relaxed);
  const uint64_t period = activity->period.load(relaxed);
  const int32_t d = std::min(depth.load(std::memory_order_acquire), kStackDepth);
  for (int32_t i = 0; i < d; ++i) {
    const Frame& f = stack[i];
    const uint32_t path = path_of(i);
    if (!counts(i) || !path || path >= known_paths->n_rows()) continue;
    const uint64_t begin = std::max(f.entered.load(relaxed), since);
    uint64_t until = now;  // own time ends where the next inner counted region begins
    for (int32_t j = i + 1; j < d; ++j) {
      if (counts(j)) {
        until = std::max(stack[j].entered.load(relaxed), since);
        break;
      }
    }
    const bool outermost = is_outermost(i);
    const bool counts_all = outermost || !known_paths->is_other(path);
    if (carry_both(all, path, outermost,
                   {paths[path].count.take(),
                    counts_all ? growth(now, begin) : 0,
                    growth(growth(until, begin), f.children_in(period)),
                    {}}))
      note_path(all, path);
  }
}

namespace {

void take_most(InOneCall& row) noexcept {
  row.carry_most = std::max(row.carry_most, row.most.get());
}

}  // namespace

void Shard::fold_messages() noexcept {
  const uint32_t period = activity->short_period();
  const auto look_at = [&](uint32_t i) {
    Message& m = messages[i];
    MessageTotals& seen = carry_messages[i].seen;
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
      m.carry_largest = std::max(m.carry_largest, m.largest.get());
      take_most(in_one_call[i]);
    }
    return true;
  };
  carry_marked(touched_messages, n_messages.load(relaxed), look_at, carried_messages);
}

void Shard::fold_collectives() noexcept {
  for_each_mark<Marks::taken>(touched_collectives, n_collectives.load(relaxed), [&](uint32_t i) {
    Collective& c = collectives[i];
    const uint64_t count = c.count.take();
    if (!count) return;
    c.carry_count += count;
    c.carry_bytes_out += c.bytes_out.take();
    c.carry_bytes_in += c.bytes_in.take();
    c.carry_as_root += c.as_root.take();
    c.stamps.take_into(&c.carry_stamps, &c.carry_unknown);
    if (c.period.get() == activity->short_period()) take_most(c.in_one_call);
    if (carried_collectives.add(i)) ++n_carried_collectives;
  });
}

void Shard::fold_calls() noexcept {
  for_each_mark<Marks::taken>(touched_calls, PERFIELD_CALL_LIMIT, [&](uint32_t c) {
    CallValues& carry = carry_of_call(c);
    carry.count += calls[c].count.take();
    carry.ticks += calls[c].ticks.take();
    carry.bytes_out += calls[c].bytes_out.take();
    carry.bytes_in += calls[c].bytes_in.take();
  });
}

CallValues& Shard::carry_of_call(uint32_t call) noexcept {
  carried_calls[call / 64] |= uint64_t(1) << call % 64;
  return carry_calls[call];
}

// What was taken ahead for calls that were left will not be added.
void Shard::forgive_left_calls() noexcept {
  const uint64_t left = left_calls.get();
  if (left == forgiven_) return;
  forgiven_ = left;
  for (uint32_t word = 0; word < PERFIELD_CALL_LIMIT / 64; ++word) {
    for (uint64_t bits = owed_calls_[word]; bits; bits &= bits - 1)
      calls[word * 64 + uint32_t(__builtin_ctzll(bits))].ticks.forgive();
    owed_calls_[word] = 0;
  }
  for (QuantityValue& value : of_rank) value.sum.forgive();
}

// The sums were read before. A call that ended meanwhile goes to the next step as a whole.
Shard::OpenCall Shard::open_call_at(uint64_t now) noexcept {
  std::atomic_thread_fence(std::memory_order_acquire);
  const uint64_t begun = call_since.load(std::memory_order_acquire);
  const OpenCall open = {begun, perfield_call(open_call.load(relaxed)),
                         open_operation.load(relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  if (!begun || begun >= now || call_since.load(relaxed) != begun) return {};
  if (begun != call_seen_) call_taken_until_ = call_seen_ = begun;
  return last_open_ = {std::min(call_taken_until_, now), open.call, open.operation};
}

void Shard::take_ahead(const OpenCall& open, uint64_t ticks) noexcept {
  if (!open.operation) owed_calls_[open.call / 64] |= uint64_t(1) << open.call % 64;
  if (Growing* time = time_of(open)) time->take_ahead(ticks);
}

Growing* Shard::time_of(const OpenCall& open) noexcept {
  if (!open.operation) return &calls[open.call].ticks;
  return open.operation->time ? &of_rank[number_of(open.operation->time)].sum : nullptr;
}

// Looks only at what was counted since the last fold. Its marks stay, since what was counted then
// belongs to the next step; only its time belongs to none.
void Shard::open(const Counters& counters, uint64_t now, uint64_t gap,
                 uint32_t n_regions) noexcept {
  KernelReadings* k = kernel.load(std::memory_order_acquire);
  if (k && depth.load(std::memory_order_acquire) > 0)
    k->open(counters, activity->period.load(relaxed));
  const uint64_t news = has_news();
  const auto skip = [&](uint32_t path) {
    paths[path].inclusive.skip();
    paths[path].self.skip();
    GrowingInCalls& calls = calls_of_paths[path];
    if (calls.mpi.grown() | calls.files.grown()) {
      calls.mpi.skip();
      calls.files.skip();
    }
  };
  if (has(news, News::paths)) for_each_mark<Marks::kept>(touched_paths, known_paths->size(), skip);
  const uint32_t other = known_paths->other(0);
  if (has(news, News::other_paths))
    for_each_mark<Marks::kept>(touched_paths + other, n_regions,
                               [&](uint32_t region) { skip(other + region); });
  if (has(news, News::quantities))
    for_each_mark<Marks::kept>(touched_quantities, of_regions.size(),
                               [&](uint32_t place) { of_regions.row(place).value.sum.skip(); });
  if (gap) skip_calls(now, gap);
}

// Calls get no time between the last closing and `now`.
void Shard::skip_calls(uint64_t now, uint64_t gap) noexcept {
  for_each_mark<Marks::kept>(touched_calls, PERFIELD_CALL_LIMIT,
                             [&](uint32_t c) { calls[c].ticks.skip(gap); });
  if (last_open_.operation)
    if (Growing* time = time_of(last_open_)) time->skip(gap);
  const OpenCall open = open_call_at(now);
  if (!open.since) return;
  take_ahead(open, now - open.since);
  call_taken_until_ = now;
}

void Shard::hold(uint64_t until) noexcept {
  const int32_t d = std::min(depth.load(relaxed), kStackDepth);
  for (int32_t i = 0; i < d; ++i) stack[i].entered.store(until, relaxed);
  if (!call_since.load(relaxed)) return;
  const OpenCall open = {until, perfield_call(open_call.load(relaxed)),
                         open_operation.load(relaxed)};
  if (Growing* time = time_of(open)) time->forgive();
  call_since.store(until, relaxed);
}

}  // namespace perfield
