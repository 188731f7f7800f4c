// SPDX-License-Identifier: BSD-3-Clause
//
// shard_fold.cpp - reads a thread's counts from the thread that closes a step. A region's value at
// a moment is its completed time plus the open part of its present entries. Steps are differences
// of such values, so errors never add up.
#include <algorithm>

#include "recorder/kernel_readings.hpp"
#include "recorder/shard.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

void Shard::fold(const Counters& counters, uint64_t now, uint32_t n_regions) noexcept {
  uint64_t since = activity->since_ticks.load(relaxed);
  uint64_t period = activity->period.load(relaxed);

  for (uint32_t r = 0; r < n_regions; ++r) {
    carry_regions[r].count += regions[r].count.take();
    carry_regions[r].inclusive += regions[r].inclusive.take();
    carry_regions[r].self += regions[r].self.take();
  }
  // The open part of present entries.
  int32_t d = std::min(depth.load(std::memory_order_acquire), kStackDepth);
  for (int32_t i = 0; i < d; ++i) {
    const Frame& f = stack[i];
    if (!f.counted.load(relaxed)) continue;
    uint32_t id = f.id.load(relaxed);
    if (id >= n_regions) continue;
    uint64_t begin = std::max(f.entered.load(relaxed), since);
    uint64_t until = now;  // own time ends where the next inner counted region begins
    for (int32_t j = i + 1; j < d; ++j) {
      if (stack[j].counted.load(relaxed)) {
        until = std::max(stack[j].entered.load(relaxed), since);
        break;
      }
    }
    uint64_t inner = f.children_period.load(relaxed) == period ? f.children.load(relaxed) : 0;
    if (is_outermost(i)) carry_regions[id].inclusive += growth(now, begin);
    carry_regions[id].self += growth(growth(until, begin), inner);
  }

  uint32_t n = n_messages.load(std::memory_order_acquire);
  for (uint32_t i = first_message(); i < n; ++i) {
    Message& m = messages[i];
    const uint64_t count = m.count.take();
    if (!count) continue;
    m.carry_count += count;
    m.carry_bytes += m.bytes.take();
    m.carry_empty += m.empty.take();
    if (m.largest_period.get() == period)
      m.carry_largest = std::max(m.carry_largest, m.largest.get());
  }

  const uint64_t left = left_calls.get();
  const bool forgives = left != forgiven_;
  forgiven_ = left;
  for_each_touched_call([&](uint32_t c) {
    if (forgives) calls[c].ticks.forgive();
    carry_calls[c].count += calls[c].count.take();
    carry_calls[c].ticks += calls[c].ticks.take();
    carry_calls[c].bytes_out += calls[c].bytes_out.take();
    carry_calls[c].bytes_in += calls[c].bytes_in.take();
  });
  fold_quantities(n_regions, forgives);
  // The open part of the call that the thread is inside. Leaving the call adds all its time.
  const OpenCall open = open_call_at(now);
  if (open.since) {
    const uint64_t part = now - open.since;
    if (!open.operation)
      carry_calls[open.call].ticks += part;
    else if (open.operation->time)
      carry_of_rank[number_of(open.operation->time)].value += part;
    if (Growing* time = time_of(open)) time->take_ahead(part);
    call_taken_until_ = now;
  }
  folded_until_ = now;
  fold_frames(counters, n_regions, now, open);
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

Growing* Shard::time_of(const OpenCall& open) noexcept {
  if (!open.operation) return &calls[open.call].ticks;
  return open.operation->time ? &of_rank[number_of(open.operation->time)].sum : nullptr;
}

void Shard::open(const Counters& counters, uint64_t now, uint32_t n_regions) noexcept {
  KernelReadings* k = kernel.load(std::memory_order_acquire);
  if (k && depth.load(std::memory_order_acquire) > 0)
    k->open(counters, activity->period.load(relaxed));
  for (uint32_t r = 0; r < n_regions; ++r) {
    regions[r].inclusive.skip();
    regions[r].self.skip();
  }
  of_regions.for_each([](auto& row) { row.value.sum.skip(); });
  skip_calls(now);
}

// Calls get no time between the last closing and `now`.
void Shard::skip_calls(uint64_t now) noexcept {
  const uint64_t gap = folded_until_ ? growth(now, folded_until_) : 0;
  if (!gap) return;
  for_each_touched_call([&](uint32_t c) { calls[c].ticks.skip(gap); });
  if (last_open_.operation)
    if (Growing* time = time_of(last_open_)) time->skip(gap);
  const OpenCall open = open_call_at(now);
  if (!open.since) return;
  if (Growing* time = time_of(open)) time->take_ahead(now - open.since);
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
