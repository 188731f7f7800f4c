// SPDX-License-Identifier: BSD-3-Clause
//
// regions.cpp - regions of a program that was built with Score-P, chosen by their names. Those of
// MPI are calls: see calls.hpp.
#include "sources/scorep/regions.hpp"

#include <atomic>

#define PERFIELD_BUILDING_LIBRARY  // calls libperfield.so itself, which this library needs
#include "include/perfield.h"
#include "recorder/events.h"
#include "recorder/functions.h"
#include "sources/scorep/calls.hpp"
#include "sources/scorep/metrics.hpp"
#include "sources/scorep/region_table.hpp"
#include "sources/scorep/score_p.hpp"

namespace perfield::scorep {
namespace {

// --- regions ------------------------------------------------------------------------------------
// The region of perfield for each handle; kNotSelected where the configuration leaves it out,
// unless it is armed; for calls of MPI kCalls and their kind.
RegionTable known;
constexpr uint32_t kNotSelected = 0;
constexpr uint32_t kCalls = RegionTable::kUnknown - PERFIELD_CALL_LIMIT;

std::atomic<bool> out_of_room{false};

uint32_t look_up(Handle handle) noexcept {
  const char* name = ask<const char*>(kRegionGetName, nullptr, handle);
  uint32_t region = kNotSelected;
  if (name && is_of_mpi(name))
    region = kCalls + kind_of(name);
  else if (name) {
    const char* file = ask<const char*>(kRegionGetFileName, nullptr, handle);
    const int line = int(ask<uint32_t>(kRegionGetBeginLine, 0, handle));
    region = perfield_source_function_region(name, nullptr, file, line);
    if (region == kNotSelected) region = perfield_source_region(name, file, line);
  }
  if (known.set(handle, region)) return region;
  if (!out_of_room.exchange(true))
    perfield_source_tell("scorep-regions",
                         "this program has more regions than perfield's Score-P plugin can tell "
                         "apart, so some are not measured; filter them by SCOREP_FILTERING_FILE");
  return kNotSelected;
}

// Only while measuring is it known what the configuration selects. So a region that was entered
// before, main say, is not known when it is left, and passed over.
void enter(Handle handle, const uint64_t* metrics) noexcept {
  if (!handle || !perfield_source_awake()) return;
  uint32_t region = known.find(handle);
  if (region == RegionTable::kUnknown || (region == kNotSelected && perfield_source_armed()))
    region = look_up(handle);
  if (region >= kCalls) return enter_call(perfield_call(region - kCalls));
  if (region == kNotSelected) return;
  metrics_stand(metrics);
  perfield_region_begin(region);
}

void leave(Handle handle, const uint64_t* metrics) noexcept {
  uint32_t region = known.find(handle);
  if (region == RegionTable::kUnknown || region == kNotSelected) return;
  if (region >= kCalls) return leave_call();
  metrics_stand(metrics);
  perfield_region_end(region);
}

// --- recording off for a while -----------------------------------------------------------------
std::atomic<bool> paused{false};
void pause() noexcept {
  if (!paused.load(std::memory_order_relaxed) && perfield_source_awake() && !paused.exchange(true))
    perfield_pause();
}
void disable_recording(Location*, uint64_t, Handle, uint64_t*) { pause(); }
void enable_recording(Location*, uint64_t, Handle, uint64_t*) {
  if (paused.exchange(false)) perfield_resume();
}

// --- events -------------------------------------------------------------------------------------
// With recording off they are followed too, so that begins and ends stay matched, but not counted:
// also where perfield woke only after recording went off.
template <Mode mode>
void enter_region(Location*, uint64_t, Handle region, uint64_t* metrics) {
  if (mode == kNotRecording) pause();
  enter(region, metrics);
}

void exit_region(Location*, uint64_t, Handle region, uint64_t* metrics) { leave(region, metrics); }

// With unwinding on, Score-P tells where in the tree of calls the region was entered.
Handle region_of(Handle context) noexcept {
  return context ? ask<Handle>(kCallingContextGetRegion, 0, context) : 0;
}

template <Mode mode>
void enter_context(Location*, uint64_t, Handle context, Handle, uint32_t, uint64_t* metrics) {
  if (mode == kNotRecording) pause();
  enter(region_of(context), metrics);
}

void exit_context(Location*, uint64_t, Handle context, Handle, uint32_t, uint64_t* metrics) {
  leave(region_of(context), metrics);
}

template <Mode mode>
void set_events(Event* events) noexcept {
  const auto set = [events](EventPlace place, auto* function) {
    events[place] = reinterpret_cast<Event>(function);
  };
  set(kEnableRecording, enable_recording);
  set(kDisableRecording, disable_recording);
  set(kEnterRegion, enter_region<mode>);
  set(kExitRegion, exit_region);
  set(kCallingContextEnter, enter_context<mode>);
  set(kCallingContextExit, exit_context);
}

}  // namespace

void set_region_events(Event* events, Mode mode) noexcept {
  mode == kNotRecording ? set_events<kNotRecording>(events) : set_events<kRecording>(events);
}

}  // namespace perfield::scorep
