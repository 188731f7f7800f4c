// SPDX-License-Identifier: BSD-3-Clause
//
// regions.cpp - regions of a program that was built with Score-P, selected by name. MPI functions
// are calls, not regions: see calls.hpp.
#include "sources/scorep/regions.hpp"

#include <atomic>

#define PERFIELD_BUILDING_LIBRARY  // links to libperfield.so
#include "include/perfield.h"
#include "recorder/source.h"
#include "sources/scorep/calls.hpp"
#include "sources/scorep/metrics.hpp"
#include "sources/scorep/region_table.hpp"
#include "sources/scorep/score_p.hpp"
#include "sources/scorep/thread.hpp"

namespace perfield::scorep {
namespace {

// The region of perfield for each handle. kNotSelected: the configuration leaves it out, unless it
// is armed. MPI calls: kCalls and their kind.
RegionTable known;
constexpr uint32_t kNotSelected = 0;
constexpr uint32_t kCalls = RegionTable::kUnknown - PERFIELD_CALL_LIMIT;
constexpr bool is_measured(uint32_t region) { return region - 1 < kCalls - 1; }
constexpr bool is_call(uint32_t region) {
  return region >= kCalls && region != RegionTable::kUnknown;
}

std::atomic<bool> out_of_room{false};

uint32_t look_up(Handle handle) noexcept {
  const char* name = ask<const char*>(kRegionGetName, nullptr, handle);
  uint32_t region = kNotSelected;
  if (name && is_of_mpi(name))
    region = kCalls + kind_of(name);
  else if (name) {
    const char* file = ask<const char*>(kRegionGetFileName, nullptr, handle);
    const int line = int(ask<uint32_t>(kRegionGetBeginLine, 0, handle));
    const char* symbol = ask<const char*>(kRegionGetCanonicalName, nullptr, handle);
    region = perfield_source_function_region(name, symbol, file, line);
  }
  if (known.set(handle, region)) return region;
  if (!out_of_room.exchange(true))
    perfield_warn_once_per_node(
        "scorep-regions",
        "this program has more regions than perfield's Score-P plugin can distinguish "
        "apart, so some are not measured; filter them by SCOREP_FILTERING_FILE");
  return kNotSelected;
}

// The configuration's selection is known only while perfield is awake.
inline uint32_t region_to_enter(Handle handle) noexcept {
  const uint32_t region = known.find(handle);
  if (is_measured(region) || is_call(region)) return region;
  if (region == kNotSelected && !perfield_source_armed()) return region;
  return look_up(handle);
}

// The time of an event, if it is needed.
inline uint64_t ticks_of(uint64_t stamp) noexcept {
  return is_counting() ? this_thread.stamps.ticks(stamp) : 0;
}

auto& recent(Handle handle) noexcept { return this_thread.recent[handle * 2654435769u >> 29]; }
static_assert(Thread::kRecent == 1u << (32 - 29));

// Only measured regions: their number never changes.
inline void note_recent(Handle handle, uint32_t region) noexcept {
  recent(handle) = {handle, region};
}

// Whether an event is one of nearly all: of this thread, which has begun, and of a handle that it
// has just seen, whose region is then in recent(). perfield itself looks whether it is awake.
// stamp: becomes the time, if that is needed.
inline bool is_usual(Location* location, uint64_t* stamp, Handle handle,
                     const uint64_t* metrics) noexcept {
  if (__builtin_expect(
          this_thread.location != location || recent(handle).handle != handle || metrics, 0))
    return false;
  if (__builtin_expect(!this_thread.stamps.are_ticks(), 0)) {
    if (is_counting()) return false;
    *stamp = 0;
  }
  return true;
}

// Whether a region that begins or ends while perfield sleeps may have to be measured later.
bool is_followed_asleep(Location* location, Handle handle) noexcept {
  if (!handle || !is_cpu_thread(location)) return false;
  const char* name = ask<const char*>(kRegionGetName, nullptr, handle);
  if (!name || !is_of_mpi(name)) return name != nullptr;
  mpi_is_seen.store(true, std::memory_order_relaxed);
  return false;
}
__attribute__((noinline)) void enter_asleep(Location* location, Handle handle) noexcept {
  if (has_woken.load(std::memory_order_relaxed)) return;  // measuring is over
  EarlyRegions& early = this_thread.early;
  if (!early.is_followed())
    early.count_only();
  else if (is_followed_asleep(location, handle))
    early.enter(handle);
}
__attribute__((noinline)) void leave_asleep(Location* location, Handle handle) noexcept {
  if (has_woken.load(std::memory_order_relaxed)) return;
  EarlyRegions& early = this_thread.early;
  if (early.is_followed() && is_followed_asleep(location, handle)) early.leave(handle);
}

__attribute__((noinline)) void enter(Location* location, uint64_t stamp, Handle handle,
                                     const uint64_t* metrics) noexcept {
  if (!is_awake()) return enter_asleep(location, handle);
  if (!is_own(location) || !handle) return;
  const uint32_t region = region_to_enter(handle);
  if (is_call(region)) return enter_call(perfield_call(region - kCalls));
  if (!is_measured(region)) return;
  note_recent(handle, region);
  metrics_stand(metrics);
  perfield_region_begin_at(region, ticks_of(stamp));
}

__attribute__((noinline)) void leave(Location* location, uint64_t stamp, Handle handle,
                                     const uint64_t* metrics) noexcept {
  if (!is_awake()) return leave_asleep(location, handle);
  if (!is_own(location)) return;
  const uint32_t region = known.find(handle);
  if (is_call(region)) return leave_call();
  if (!is_measured(region)) return;
  note_recent(handle, region);
  metrics_stand(metrics);
  perfield_region_end_at(region, ticks_of(stamp));
}

// --- recording off for a while -----------------------------------------------------------------
std::atomic<bool> paused{false};
void pause() noexcept {
  if (!paused.load(std::memory_order_relaxed) && is_awake() && !paused.exchange(true))
    perfield_pause();
}
void disable_recording(Location*, uint64_t, Handle, uint64_t*) { pause(); }
void enable_recording(Location*, uint64_t, Handle, uint64_t*) {
  if (paused.exchange(false)) perfield_resume();
}

// --- events -------------------------------------------------------------------------------------
// While recording is off, regions are still followed, so that begins and ends match, but not
// counted. This also holds if perfield woke after recording went off.
template <Mode mode>
void enter_region(Location* location, uint64_t stamp, Handle region, uint64_t* metrics) {
  if (mode == kNotRecording) pause();
  if (__builtin_expect(!is_usual(location, &stamp, region, metrics), 0))
    return enter(location, stamp, region, metrics);
  perfield_region_begin_at(recent(region).region, stamp);
}

void exit_region(Location* location, uint64_t stamp, Handle region, uint64_t* metrics) {
  if (__builtin_expect(!is_usual(location, &stamp, region, metrics), 0))
    return leave(location, stamp, region, metrics);
  perfield_region_end_at(recent(region).region, stamp);
}

// With unwinding on, Score-P passes the region's place in the call tree.
Handle region_of(Handle context) noexcept {
  return context ? ask<Handle>(kCallingContextGetRegion, 0, context) : 0;
}

template <Mode mode>
void enter_context(Location* location, uint64_t stamp, Handle context, Handle, uint32_t,
                   uint64_t* metrics) {
  if (mode == kNotRecording) pause();
  enter(location, stamp, region_of(context), metrics);
}

void exit_context(Location* location, uint64_t stamp, Handle context, Handle, uint32_t,
                  uint64_t* metrics) {
  leave(location, stamp, region_of(context), metrics);
}

template <Mode mode>
void set_events(Event* events) noexcept {
  set(events, kEnableRecording, enable_recording);
  set(events, kDisableRecording, disable_recording);
  set(events, kEnterRegion, enter_region<mode>);
  set(events, kExitRegion, exit_region);
  set(events, kCallingContextEnter, enter_context<mode>);
  set(events, kCallingContextExit, exit_context);
}

}  // namespace

void set_region_events(Event* events, Mode mode) noexcept {
  mode == kNotRecording ? set_events<kNotRecording>(events) : set_events<kRecording>(events);
}

void enter_early_regions() noexcept {
  this_thread.early.take([](Handle handle) {
    const uint32_t region = region_to_enter(handle);
    if (is_measured(region)) perfield_region_begin_at(region, 0);
  });
}

}  // namespace perfield::scorep
