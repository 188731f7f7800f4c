// SPDX-License-Identifier: BSD-3-Clause
//
// thread_profile.cpp - regions and calls of a thread, and its tables together. thread_profile.hpp
// says who may touch what.
#include "recorder/thread_profile.hpp"

#include <new>

#include "platform/pages.hpp"
#include "recorder/kernel_readings.hpp"
#include "recorder/pending.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

ThreadProfile* ThreadProfile::create(const Activity& activity, const Quantities& quantities,
                                     Paths& known_paths, uint32_t max_regions,
                                     uint32_t max_peers) noexcept {
  void* const memory = map_pages(sizeof(ThreadProfile));
  if (!memory) return nullptr;
  auto* const s = new (memory) ThreadProfile(activity);
  const bool has_memory = s->memory_.map([&](Arena& arena) {
    s->paths.place(arena, known_paths, max_regions);
    s->messages.place(arena, max_peers);
    s->collectives.place(arena);
    s->quantities.place(arena, quantities, max_regions);
    s->samples.place(arena);
    s->stack.place(arena, known_paths);
  });
  if (!has_memory) {
    munmap(memory, sizeof(ThreadProfile));
    return nullptr;
  }
  s->stack[-1].predicted = &s->paths.rows[Paths::kOutside].first_inside;
  return s;
}

void ThreadProfile::destroy(ThreadProfile* profile) noexcept {
  if (KernelReadings* readings = profile->kernel.load(relaxed)) KernelReadings::destroy(readings);
  profile->sites.end();
  profile->memory_.unmap();
  munmap(static_cast<void*>(profile), sizeof *profile);  // it owns nothing else
}

uint64_t ThreadProfile::bytes(uint32_t n_regions, uint64_t n_sites) const noexcept {
  return bytes_of_pages(sizeof *this) + paths.bytes(n_regions) + messages.bytes() +
         collectives.bytes() + quantities.bytes() + sites.bytes(n_sites) +
         (kernel.load(relaxed) ? bytes_of_pages(sizeof(KernelReadings)) : 0);
}

// --- regions -------------------------------------------------------------------------------------

void ThreadProfile::touch(uint32_t region) noexcept {
  const int32_t d = depth.load(relaxed);
  if (d >= kStackDepth) return;
  stack[d].region.store(0, relaxed);
  const uint32_t path = paths.known->inside(stack.path_of(d - 1), region);
  paths.rows[path].count.add(0);
  paths.mark(*this, path);
}

void ThreadProfile::enter_region(uint32_t handle, uint32_t id, bool counted,
                                 uint64_t now) noexcept {
  look_at_samples();
  const int32_t d = depth.load(relaxed);
  if (__builtin_expect(d >= kStackDepth, 0)) return enter_deep(handle, id, counted);
  RegionStackEntry &f = stack[d], &outside = stack[d - 1];
  f.region.store(RegionStackEntry::region_of(handle, id) | RegionStackEntry::kSlowPath, relaxed);
  f.nearest.store(counted ? d : stack.outer_of(d), relaxed);
  uint32_t path = outside.path.load(relaxed);
  f.predicted = outside.predicted;
  if (counted) {
    path = paths.known->inside(path, id);
    const bool is_other = paths.known->is_other(path);
    if (!is_other) *outside.predicted = path;
    // No fast path leads inside other paths: what is predicted there stays row 0, of no region.
    f.predicted =
        is_other ? &paths.rows[Paths::kOutside].next_beside : &paths.rows[path].first_inside;
    if (activity->state.load(relaxed) == Activity::active) {
      // Otherwise the value is from an earlier period and counts as 0.
      f.entered.store(now, relaxed);
      f.inner_period.store(0, relaxed);
      paths.rows[path].count.add(1);
    }
  }
  f.path.store(path, relaxed);
  depth.store(d + 1, std::memory_order_release);
}

// Too deep to time. In a recursion, its time goes to the outer entry of the same region.
void ThreadProfile::enter_deep(uint32_t handle, uint32_t id, bool counted) noexcept {
  const int32_t d = depth.load(relaxed);
  stack.enter_deep(d, handle);
  depth.store(d + 1, relaxed);
  if (!counted || activity->state.load(relaxed) != Activity::active) return;
  const uint32_t path = paths.known->other(id);
  paths.rows[path].count.add(1);
  paths.mark(*this, path);
  if (!stack.has(id)) untimed.add(1);
}

void ThreadProfile::leave_region(uint32_t handle, uint64_t now) noexcept {
  look_at_samples();
  int32_t d = depth.load(relaxed);
  if (__builtin_expect(d > kStackDepth + kDeepLevels, 0)) {  // matched by depth alone
    depth.store(d - 1, relaxed);
    return;
  }
  const int32_t match = stack.level_of(handle, d);
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

void ThreadProfile::leave_top(uint64_t now) noexcept {
  const int32_t d = depth.load(relaxed) - 1;
  if (d < kStackDepth) {
    RegionStackEntry &f = stack[d], &outside = stack[d - 1];
    if (!stack.counts(d)) {
      outside.predicted = f.predicted;
    } else {
      const uint32_t path = f.path.load(relaxed);
      const bool is_other = paths.known->is_other(path);
      PathCounters& row = paths.rows[path];
      if (activity->state.load(relaxed) == Activity::active) {
        const uint64_t period = activity->period.load(relaxed);
        const uint64_t begin =
            std::max(f.entered.load(relaxed), activity->since_ticks.load(relaxed));
        const uint64_t spent = growth(now, begin);
        const bool outermost = stack.is_outermost(d);
        const bool counts_all = outermost || !is_other;
        if (counts_all) row.inclusive.add(spent);
        if (f.grown_in(period)) {
          const TicksInCalls inside = quantities.hand_outward(*this, stack, d, outermost);
          if (counts_all) paths.add_in_calls(path, inside);
        }
        row.self.add(growth(spent, f.children_in(period)));
        const int32_t outer = stack.outer_of(d);
        if (outer >= 0) stack[outer].add_child(spent, period);
      }
      // Also for the count since entering: while it is open, closings find that on the stack.
      paths.mark(*this, path);
      if (!is_other) outside.predicted = &row.next_beside;
    }
  }
  depth.store(d, std::memory_order_release);
}

void ThreadProfile::count_slow_call(perfield_call call, uint64_t entered, uint64_t now,
                                    uint64_t out, uint64_t in) noexcept {
  const uint64_t ticks = growth(now, entered);
  calls.count(*this, call, ticks, out, in);
  if (ticks >= cpu.long_call) read_cpu(*this, now);
}

// --- by the thread that closes a step ------------------------------------------------------------

void ThreadProfile::collect(Pending& all, uint64_t dirty_tables, const Counters& counters,
                            uint64_t now, uint32_t n_regions) noexcept {
  const uint64_t period = activity->period.load(relaxed);
  paths.collect(all.paths, dirty_tables, n_regions);
  paths.collect_open(all.paths, *this, stack, now);
  if (has(dirty_tables, DirtyTable::messages)) messages.collect(uint32_t(period));
  if (has(dirty_tables, DirtyTable::collectives)) collectives.collect(uint32_t(period));
  if (has(dirty_tables, DirtyTable::calls)) {
    if (const uint64_t left = left_calls.get(); left != cancelled_) {
      cancelled_ = left;  // what was taken in advance for them will not be added
      calls.cancel_all();
      quantities.cancel_all();
    }
    calls.collect();
  }
  quantities.collect(all.quantities, dirty_tables, period);
  // The open part of the call that the thread is inside. Exiting the call adds all its time.
  const OpenCall open = open_call_at(now);
  OpenTime inside{open.since, kTimeClassOfCall.of[open.call]};
  if (open.operation) inside.quantity = number_of(open.operation->time_inside);
  if (open.since) {
    const uint64_t part = now - open.since;
    if (!open.operation) {
      calls.collect_open(open.call, part);
    } else if (open.operation->time) {
      quantities.pending(all.quantities, uint16_t(number_of(open.operation->time))).value += part;
    }
    advance(open, part);
    call_taken_until_ = now;
  }
  quantities.collect_open(all.quantities, all.paths, *this, stack, paths,
                          kernel.load(std::memory_order_acquire), counters, now, inside);
}

// The sums were read before. A call that ended meanwhile goes to the next step as a whole.
ThreadProfile::OpenCall ThreadProfile::open_call_at(uint64_t now) noexcept {
  std::atomic_thread_fence(std::memory_order_acquire);
  const uint64_t begun = call_since.load(std::memory_order_acquire);
  const OpenCall open = {begun, perfield_call(open_call.load(relaxed)),
                         open_operation.load(relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  if (!begun || begun >= now || call_since.load(relaxed) != begun) return {};
  if (begun != call_seen_) call_taken_until_ = call_seen_ = begun;
  return last_open_ = {std::min(call_taken_until_, now), open.call, open.operation};
}

void ThreadProfile::advance(const OpenCall& open, uint64_t ticks) noexcept {
  if (!open.operation)
    calls.advance(open.call, ticks);
  else if (open.operation->time)
    quantities.sum_of_rank(open.operation->time).advance(ticks);
}

// Looks only at what was counted since the last closing.
void ThreadProfile::open(const Counters& counters, uint64_t now, uint64_t gap,
                         uint32_t n_regions) noexcept {
  KernelReadings* k = kernel.load(std::memory_order_acquire);
  if (k && depth.load(std::memory_order_acquire) > 0)
    k->open(counters, activity->period.load(relaxed));
  const uint64_t dirty_tables = dirty.get();
  paths.skip(dirty_tables, n_regions);
  quantities.skip(dirty_tables);
  if (!gap) return;
  calls.skip(gap);
  if (const perfield_operation* last = last_open_.operation; last && last->time)
    quantities.sum_of_rank(last->time).skip(gap);
  const OpenCall open = open_call_at(now);
  if (!open.since) return;
  advance(open, now - open.since);
  call_taken_until_ = now;
}

void ThreadProfile::hold(uint64_t until) noexcept {
  const int32_t d = std::min(depth.load(relaxed), kStackDepth);
  for (int32_t i = 0; i < d; ++i) stack[i].entered.store(until, relaxed);
  if (!call_since.load(relaxed)) return;
  if (const perfield_operation* operation = open_operation.load(relaxed); !operation)
    calls.cancel(perfield_call(open_call.load(relaxed)));
  else if (operation->time)
    quantities.sum_of_rank(operation->time).cancel();
  call_since.store(until, relaxed);
}

}  // namespace perfield
