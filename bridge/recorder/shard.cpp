// SPDX-License-Identifier: BSD-3-Clause
//
// shard.cpp - counting on the hot path. See shard.hpp for who may touch what.
#include "recorder/shard.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "recorder/kernel_readings.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

uint32_t power_of_two_above(uint32_t n) noexcept {
  uint32_t p = 16;
  while (p < n) p *= 2;
  return p;
}

size_t aligned(size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

}  // namespace

Shard* Shard::create(const Activity& activity, const Quantities& quantities, uint32_t max_regions,
                     uint32_t max_peers) noexcept {
  uint32_t max_messages = message_rows(max_peers);
  uint32_t slots = power_of_two_above(max_peers * kCallsPerPeer * 2);
  size_t regions = aligned(max_regions * sizeof(RegionCounters));
  size_t counts = aligned(max_regions * sizeof(uint16_t));
  size_t values = aligned(max_regions * sizeof(RegionValues));
  size_t messages = aligned(max_messages * sizeof(Message));
  size_t rhythms = aligned(kMostSites * sizeof(Rhythm));
  size_t of_regions = aligned(RegionQuantities<QuantityValue>::bytes(max_regions));
  size_t carried = aligned(RegionQuantities<QuantityCarry>::bytes(max_regions));
  size_t amounts = kStackDepth * kMostQuantities * sizeof(Counter);
  size_t deep = kDeepLevels * sizeof(uint32_t);
  size_t total = aligned(sizeof(Shard)) + regions + counts + values + messages +
                 kRhythmLevels * rhythms + of_regions + carried + amounts + deep +
                 slots * sizeof(uint32_t);
  // Fresh pages are zero and cost nothing until touched.
  void* memory = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char* at = static_cast<char*>(memory);
  auto take = [&at](size_t bytes) {
    char* taken = at;
    at += bytes;
    return taken;
  };
  Shard* s = new (take(aligned(sizeof(Shard)))) Shard;
  s->activity = &activity;
  s->memory_bytes = total;
  s->quantities = &quantities;
  s->max_regions = max_regions;
  s->max_messages = max_messages;
  s->regions = reinterpret_cast<RegionCounters*>(take(regions));
  s->open_count = reinterpret_cast<uint16_t*>(take(counts));
  s->carry_regions = reinterpret_cast<RegionValues*>(take(values));
  s->messages = reinterpret_cast<Message*>(take(messages));
  for (Rhythm*& level : s->rhythms) level = reinterpret_cast<Rhythm*>(take(rhythms));
  s->of_regions.place(take(of_regions), max_regions);
  s->carry_of_regions.place(take(carried), max_regions);
  s->frame_amounts = reinterpret_cast<Counter(*)[kMostQuantities]>(take(amounts));
  s->deep_handles = reinterpret_cast<uint32_t*>(take(deep));
  s->message_slots = reinterpret_cast<uint32_t*>(take(slots * sizeof(uint32_t)));
  s->slot_mask = slots - 1;
  return s;
}

void Shard::destroy(Shard* shard) noexcept {
  if (KernelReadings* readings = shard->kernel.load(relaxed)) KernelReadings::destroy(readings);
  munmap(static_cast<void*>(shard), shard->memory_bytes);  // it owns nothing else
}

void Shard::enter_region(uint32_t handle, uint32_t id, bool counted, uint64_t now) noexcept {
  int32_t d = depth.load(relaxed);
  if (__builtin_expect(d >= kStackDepth, 0)) return enter_deep(handle, id, counted);
  Frame& f = stack[d];
  int32_t parent = -1;
  if (d > 0)
    parent = stack[d - 1].counted.load(relaxed) ? d - 1 : stack[d - 1].parent.load(relaxed);
  f.id.store(id, relaxed);
  f.handle.store(handle, relaxed);
  f.parent.store(parent, relaxed);
  f.counted.store(counted, relaxed);
  if (counted) {
    if (activity->state.load(relaxed) == Activity::active) {
      // Otherwise the value is from an earlier period and counts as 0.
      f.entered.store(now, relaxed);
      f.children_period.store(0, relaxed);
      f.grown.store(0, relaxed);
      regions[id].count.add(1);
    }
    ++open_count[id];
  }
  depth.store(d + 1, std::memory_order_release);
}

// Too deep to time. In a recursion, its time goes to the outer entry of the same region.
void Shard::enter_deep(uint32_t handle, uint32_t id, bool counted) noexcept {
  const int32_t d = depth.load(relaxed);
  if (d < kStackDepth + kDeepLevels) deep_handles[d - kStackDepth] = handle;
  depth.store(d + 1, relaxed);
  if (!counted || activity->state.load(relaxed) != Activity::active) return;
  regions[id].count.add(1);
  if (open_count[id] == 0) untimed.add(1);
}

void Shard::leave_region(uint32_t handle, uint64_t now) noexcept {
  int32_t d = depth.load(relaxed);
  if (__builtin_expect(d > kStackDepth + kDeepLevels, 0)) {  // matched by depth alone
    depth.store(d - 1, relaxed);
    return;
  }
  int32_t match = d - 1;
  while (match >= 0 && handle_at(match) != handle) --match;
  if (match < 0) {  // an end without a begin
    if (d == 0 || activity->state.load(relaxed) == Activity::active) faults.add(1);
    return;
  }
  for (; d - 1 > match; --d) {  // inner regions without an end
    faults.add(1);
    leave_top(now);
  }
  leave_top(now);
}

void Shard::leave_top(uint64_t now) noexcept {
  int32_t d = depth.load(relaxed) - 1;
  if (__builtin_expect(d >= kStackDepth, 0)) return depth.store(d, relaxed);
  Frame& f = stack[d];
  if (f.counted.load(relaxed)) {
    uint32_t id = f.id.load(relaxed);
    uint16_t still_open = --open_count[id];
    if (activity->state.load(relaxed) == Activity::active) {
      uint64_t period = activity->period.load(relaxed);
      uint64_t begin = std::max(f.entered.load(relaxed), activity->since_ticks.load(relaxed));
      uint64_t spent = growth(now, begin);
      uint64_t inner = f.children_period.load(relaxed) == period ? f.children.load(relaxed) : 0;
      if (still_open == 0) regions[id].inclusive.add(spent);
      if (f.grown.load(relaxed) && f.grown_period.load(relaxed) == period)
        hand_outward(d, still_open == 0);
      regions[id].self.add(growth(spent, inner));
      int32_t p = f.parent.load(relaxed);
      if (p >= 0) {
        Frame& outer = stack[p];
        bool same = outer.children_period.load(relaxed) == period;
        outer.children.store((same ? outer.children.load(relaxed) : 0) + spent, relaxed);
        outer.children_period.store(period, relaxed);
      }
    }
  }
  depth.store(d, std::memory_order_release);
}

// A burst is complete. The first one since the statistics of the level below began starts this
// level anew.
bool Shard::beat_above(int level, uint32_t site, uint64_t now, uint32_t call) noexcept {
  const Rhythm& below = rhythms[level - 1][site];
  Rhythm& here = rhythms[level][site];
  if (below.bursts.get() == 1) {
    new (&here) Rhythm;
    here.beat(below.since.get(), below.since_call.get());
  }
  return here.beat(now, call);
}

void Shard::move_site(uint32_t from, uint32_t to) noexcept {
  for (Rhythm* level : rhythms)
    memcpy(static_cast<void*>(level + to), static_cast<const void*>(level + from), sizeof *level);
}

void Shard::forget_sites(uint32_t from, uint32_t until) noexcept {
  for (Rhythm* level : rhythms)
    for (uint32_t site = from; site < until; ++site)
      if (level[site].beats.get()) new (level + site) Rhythm;
}

uint32_t Shard::find_message(uint16_t call, int32_t peer) noexcept {
  uint64_t key = (uint64_t(uint32_t(peer)) << 16) | call;
  uint32_t slot = uint32_t((key * 0x9E3779B97F4A7C15u) >> 32) & slot_mask;
  for (;; slot = (slot + 1) & slot_mask) {
    uint32_t i = message_slots[slot];
    if (i == 0) break;
    if (messages[i].peer == peer && messages[i].call == call) return i;
  }
  uint32_t n = n_messages.load(relaxed);
  if (n >= max_messages) {
    overflowed.add(1);
    return call;  // `other peers` of this call
  }
  messages[n].peer = peer;
  messages[n].call = call;
  message_slots[slot] = n;
  n_messages.store(n + 1, std::memory_order_release);
  return n;
}

void Shard::count_message(uint16_t call, int32_t peer, uint64_t bytes) noexcept {
  uint32_t i = last_message;
  if (i < PERFIELD_CALL_LIMIT || messages[i].peer != peer || messages[i].call != call)
    last_message = i = find_message(call, peer);
  Message& m = messages[i];
  m.count.add(1);
  m.bytes.add(bytes);
  if (bytes == 0) m.empty.add(1);
  uint64_t period = activity->period.load(relaxed);
  if (m.largest_period.get() != period) {
    m.largest_period.set(period);
    m.largest.set(bytes);
  } else if (bytes > m.largest.get()) {
    m.largest.set(bytes);
  }
}

}  // namespace perfield
