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

constexpr size_t kRhythmBytes = kRhythmLevels * kMostSites * sizeof(Rhythm);
constexpr auto relaxed = std::memory_order_relaxed;

uint32_t power_of_two_above(uint32_t n) noexcept {
  uint32_t p = 16;
  while (p < n) p *= 2;
  return p;
}

size_t aligned(size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

}  // namespace

Shard* Shard::create(const Activity& activity, const Quantities& quantities, Paths& known_paths,
                     uint32_t max_regions, uint32_t max_peers) noexcept {
  uint32_t max_messages = message_rows(max_peers);
  uint32_t slots = power_of_two_above(max_peers * kCallsPerPeer * 2);
  const uint32_t max_paths = known_paths.n_rows();
  size_t paths = aligned(max_paths * sizeof(PathCounters));
  size_t in_calls = aligned(max_paths * sizeof(GrowingInCalls));
  size_t values = aligned(max_regions * sizeof(RegionValues));
  size_t path_values = aligned(max_paths * sizeof(PathValues));
  size_t messages = aligned((max_messages + 1) * sizeof(Message));  // the last one stays empty
  size_t in_one_call = aligned(max_messages * sizeof(InOneCall));
  size_t carry_messages = aligned(max_messages * sizeof(MessageCarry));
  size_t collectives = aligned(kCollectiveRows * sizeof(Collective));
  uint32_t max_quantities = RegionQuantities<QuantityValue>::capacity(max_regions);
  size_t of_regions = aligned(RegionQuantities<QuantityValue>::bytes(max_regions));
  size_t carried = aligned(RegionQuantities<QuantityCarry>::bytes(max_regions));
  size_t amounts = kStackDepth * kMostQuantities * sizeof(Counter);
  size_t deep = kDeepLevels * sizeof(uint32_t);
  size_t marks_of_samples = aligned(SampleMarks::kMost * sizeof(SampleMark));
  size_t total = aligned(sizeof(Shard)) + marks_of_samples + paths + in_calls + values +
                 path_values + messages + in_one_call + carry_messages + of_regions + carried +
                 amounts + deep + collectives + kCollectiveSlots * sizeof(uint16_t) +
                 slots * sizeof(uint32_t);
  for (const uint32_t rows : {max_paths, max_messages, max_quantities, kCollectiveRows})
    total += bytes_of_marks(rows) + Bits::bytes(rows);
  total += Bits::bytes(max_regions);
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
  s->known_paths = &known_paths;
  s->max_regions = max_regions;
  s->max_messages = max_messages;
  unsigned char** const marks[] = {&s->touched_paths, &s->touched_quantities, &s->touched_messages,
                                   &s->touched_collectives};
  Bits* const bits[] = {&s->carried_paths, &s->carried_quantities, &s->carried_messages,
                        &s->carried_collectives};
  const uint32_t rows[] = {max_paths, max_quantities, max_messages, kCollectiveRows};
  for (int i = 0; i < 4; ++i)
    *marks[i] = reinterpret_cast<unsigned char*>(take(bytes_of_marks(rows[i])));
  for (int i = 0; i < 4; ++i) bits[i]->place(take(Bits::bytes(rows[i])), rows[i]);
  s->carried_regions.place(take(Bits::bytes(max_regions)), max_regions);
  s->samples.place(reinterpret_cast<SampleMark*>(take(marks_of_samples)));
  s->paths = reinterpret_cast<PathCounters*>(take(paths));
  s->calls_of_paths = reinterpret_cast<GrowingInCalls*>(take(in_calls));
  s->carry_regions = reinterpret_cast<RegionValues*>(take(values));
  s->carry_paths = reinterpret_cast<PathValues*>(take(path_values));
  s->messages = reinterpret_cast<Message*>(take(messages));
  s->in_one_call = reinterpret_cast<InOneCall*>(take(in_one_call));
  s->carry_messages = reinterpret_cast<MessageCarry*>(take(carry_messages));
  s->of_regions.place(take(of_regions), max_regions);
  s->carry_of_regions.place(take(carried), max_regions);
  s->frame_amounts = reinterpret_cast<Counter(*)[kMostQuantities]>(take(amounts));
  s->deep_handles = reinterpret_cast<uint32_t*>(take(deep));
  s->collectives = reinterpret_cast<Collective*>(take(collectives));
  s->collective_slots = reinterpret_cast<uint16_t*>(take(kCollectiveSlots * sizeof(uint16_t)));
  s->message_slots = reinterpret_cast<uint32_t*>(take(slots * sizeof(uint32_t)));
  s->slot_mask = slots - 1;
  s->stack[-1].guess = &s->paths[Paths::kOutside].first_inside;
  return s;
}

void Shard::destroy(Shard* shard) noexcept {
  if (KernelReadings* readings = shard->kernel.load(relaxed)) KernelReadings::destroy(readings);
  if (shard->rhythms[0]) munmap(static_cast<void*>(shard->rhythms[0]), kRhythmBytes);
  munmap(static_cast<void*>(shard), shard->memory_bytes);  // it owns nothing else
}

uint64_t Shard::bytes_used(uint32_t n_regions, uint64_t n_sites) const noexcept {
  const uint64_t n = n_messages.load(relaxed), slots = (slot_mask + 1) * sizeof(uint32_t);
  const uint64_t n_paths = known_paths->size();
  const uint64_t quantities_of_regions = of_regions.size() + carry_of_regions.size();
  uint64_t bytes = bytes_of_pages(sizeof(Shard)) + bytes_of_pages(n * sizeof(Message)) +
                   bytes_of_pages(n * sizeof(InOneCall)) +
                   bytes_of_pages(n * sizeof(MessageCarry)) +
                   std::min(bytes_of_pages(slots), (n - PERFIELD_CALL_LIMIT) * bytes_of_pages(1)) +
                   bytes_of_pages(of_regions.used()) + bytes_of_pages(carry_of_regions.used()) +
                   bytes_of_pages(n + n_paths + quantities_of_regions) +  // marks
                   bytes_of_pages(n_regions * sizeof(RegionValues));
  const uint64_t n_operations = n_collectives.load(relaxed);
  if (n_operations > PERFIELD_CALL_LIMIT)
    bytes += bytes_of_pages((n_operations - PERFIELD_CALL_LIMIT) * sizeof(Collective)) +
             bytes_of_pages(kCollectiveSlots * sizeof(uint16_t)) + bytes_of_pages(kCollectiveRows);
  for (const size_t of_path : {sizeof(PathCounters), sizeof(PathValues), sizeof(GrowingInCalls)})
    bytes += bytes_of_pages(n_paths * of_path);
  if (follows_sites) bytes += bytes_of_pages(n_sites * sizeof(Rhythm));
  return kernel.load(relaxed) ? bytes + bytes_of_pages(sizeof(KernelReadings)) : bytes;
}

void Shard::enter_region(uint32_t handle, uint32_t id, bool counted, uint64_t now) noexcept {
  look_at_samples();
  int32_t d = depth.load(relaxed);
  if (__builtin_expect(d >= kStackDepth, 0)) return enter_deep(handle, id, counted);
  Frame &f = stack[d], &outside = stack[d - 1];
  f.region.store(Frame::region_of(handle, id) | Frame::kLongWay, relaxed);
  f.nearest.store(counted ? d : outer_of(d), relaxed);
  uint32_t path = outside.path.load(relaxed);
  f.guess = outside.guess;
  if (counted) {
    path = known_paths->inside(path, id);
    const bool is_other = known_paths->is_other(path);
    if (!is_other) *outside.guess = path;
    // Nothing is entered the short way inside other paths: that guess stays row 0, of no region.
    f.guess = is_other ? &paths[Paths::kOutside].next_beside : &paths[path].first_inside;
    if (activity->state.load(relaxed) == Activity::active) {
      // Otherwise the value is from an earlier period and counts as 0.
      f.entered.store(now, relaxed);
      f.inner_period.store(0, relaxed);
      paths[path].count.add(1);
    }
  }
  f.path.store(path, relaxed);
  depth.store(d + 1, std::memory_order_release);
}

// Too deep to time. In a recursion, its time goes to the outer entry of the same region.
void Shard::enter_deep(uint32_t handle, uint32_t id, bool counted) noexcept {
  const int32_t d = depth.load(relaxed);
  if (d < kStackDepth + kDeepLevels) deep_handles[d - kStackDepth] = handle;
  depth.store(d + 1, relaxed);
  if (!counted || activity->state.load(relaxed) != Activity::active) return;
  const uint32_t path = known_paths->other(id);
  paths[path].count.add(1);
  touched(path);
  if (!is_open_on_stack(id)) untimed.add(1);
}

bool Shard::is_open_on_stack(uint32_t id) const noexcept {
  for (int32_t level = kStackDepth - 1; level >= 0; --level)
    if (counts(level) && stack[level].id() == id) return true;
  return false;
}

void Shard::leave_region(uint32_t handle, uint64_t now) noexcept {
  look_at_samples();
  int32_t d = depth.load(relaxed);
  if (__builtin_expect(d > kStackDepth + kDeepLevels, 0)) {  // matched by depth alone
    depth.store(d - 1, relaxed);
    return;
  }
  int32_t match = d - 1;
  while (match >= 0 && handle_at(match) != handle) --match;
  if (match < 0) {  // an end without a begin
    if (d == 0 || activity->state.load(relaxed) == Activity::active) count_fault(faults);
    return;
  }
  for (; d - 1 > match; --d) {  // inner regions without an end
    count_fault(faults);
    leave_top(now);
  }
  leave_top(now);
}

void Shard::leave_top(uint64_t now) noexcept {
  const int32_t d = depth.load(relaxed) - 1;
  if (d < kStackDepth) {
    Frame &f = stack[d], &outside = stack[d - 1];
    if (!counts(d)) {
      outside.guess = f.guess;
    } else {
      const uint32_t path = f.path.load(relaxed);
      const bool is_other = known_paths->is_other(path);
      PathCounters& row = paths[path];
      if (activity->state.load(relaxed) == Activity::active) {
        const uint64_t period = activity->period.load(relaxed);
        const uint64_t begin =
            std::max(f.entered.load(relaxed), activity->since_ticks.load(relaxed));
        const uint64_t spent = growth(now, begin);
        const bool outermost = is_outermost(d);
        const bool counts_all = outermost || !is_other;
        if (counts_all) row.inclusive.add(spent);
        if (f.grown_in(period)) {
          const TicksInCalls inside = hand_outward(d, outermost);
          if (counts_all) {
            calls_of_paths[path].mpi.add(inside.mpi);
            calls_of_paths[path].files.add(inside.files);
          }
        }
        row.self.add(growth(spent, f.children_in(period)));
        const int32_t outer = outer_of(d);
        if (outer >= 0) stack[outer].add_child(spent, period);
      }
      // Also for the count since entering: while it is open, closings find that on the stack.
      touched(path);
      if (!is_other) outside.guess = &row.next_beside;
    }
  }
  depth.store(d, std::memory_order_release);
}

bool Shard::follow_sites() noexcept {
  void* const memory = mmap(nullptr, kRhythmBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  for (int level = 0; level < kRhythmLevels; ++level)
    rhythms[level] = static_cast<Rhythm*>(memory) + level * kMostSites;
  return follows_sites = true;
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

void Shard::count_unusual_call(perfield_call call, uint64_t entered, uint64_t now, uint64_t out,
                               uint64_t in) noexcept {
  const uint64_t ticks = growth(now, entered);
  count_call(call, ticks, out, in);
  if (ticks >= cpu.long_call) read_cpu(*this, now);
}

uint32_t Shard::find_message(uint16_t call, int32_t peer) noexcept {
  const uint64_t key = key_of(call, peer);
  uint32_t slot = first_slot(key);
  for (;; slot = (slot + 1) & slot_mask) {
    uint32_t i = message_slots[slot];
    if (i == 0) break;
    if (messages[i].key == key) return i;
  }
  uint32_t n = n_messages.load(relaxed);
  if (n >= max_messages) {
    count_fault(overflowed);
    return call;  // `other peers` of this call
  }
  __atomic_store_n(&messages[n].key, key, __ATOMIC_RELAXED);
  message_slots[slot] = n;
  n_messages.store(n + 1, std::memory_order_release);
  return n;
}

uint32_t Shard::find_collective(uint16_t call, uint32_t communicator) noexcept {
  uint32_t slot = (communicator ^ uint32_t(call) * 0x9E3779B9u) % kCollectiveSlots;
  for (;; slot = (slot + 1) % kCollectiveSlots) {
    const uint32_t i = collective_slots[slot];
    if (i == 0) break;
    if (collectives[i].communicator == communicator && collectives[i].call == call) return i;
  }
  const uint32_t n = n_collectives.load(relaxed);
  if (n >= kCollectiveRows) {
    overflowed_collective.add(1);
    return call;  // `other communicators` of this call
  }
  collectives[n].communicator = communicator;
  collectives[n].call = call;
  collective_slots[slot] = uint16_t(n);
  n_collectives.store(n + 1, std::memory_order_release);
  return n;
}

void Shard::count_collective(const perfield_collective& done, uint64_t wait_end) noexcept {
  if (done.call >= PERFIELD_CALL_LIMIT) return;
  const uint32_t row =
      done.communicator ? find_collective(done.call, done.communicator) : uint32_t(done.call);
  Collective& c = collectives[row];
  c.in_one_call.add(done.wait_begin);
  if (c.period.get() != activity->short_period()) {
    c.period.set(activity->short_period());
    c.in_one_call.most.set(0);
  }
  c.bytes_out.add(done.bytes_out);
  c.bytes_in.add(done.bytes_in);
  if (done.flags & PERFIELD_COLLECTIVE_ROOT) c.as_root.add(1);
  c.stamps.begun.add(done.begun);
  c.stamps.wait_begin.add(done.wait_begin);
  c.stamps.wait_end.add(wait_end);
  if (!done.begun || !done.wait_begin) c.stamps.unknown.add(1);
  c.number.set(row < PERFIELD_CALL_LIMIT ? 0 : done.number);
  c.count.add(1);
  touched(News::collectives, touched_collectives, row);
}

void Shard::count_elsewhere(uint16_t call, int32_t peer, uint64_t bytes) noexcept {
  count_message_in(find_message(call, peer), bytes);
}

void Shard::count_wait_elsewhere(int32_t peer, uint64_t ticks) noexcept {
  count_wait_in(find_message(kWaitedCall, peer), ticks);
}

}  // namespace perfield
