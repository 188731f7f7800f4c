// SPDX-License-Identifier: BSD-3-Clause
//
// plugin.cpp - libscorep_substrate_perfield.so: regions and steps of a program that was built with
// Score-P, chosen by their names. Score-P loads it for SCOREP_SUBSTRATE_PLUGINS=perfield. Calls of
// MPI are left to perfield's own wrappers, which know world ranks.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#define PERFIELD_BUILDING_LIBRARY  // calls libperfield.so itself, which this library needs
#include "include/perfield.h"
#include "recorder/events.h"
#include "sources/scorep/region_table.hpp"
#include "sources/scorep/substrate_interface.hpp"

namespace perfield::scorep {
namespace {

constexpr const char* kSource = "scorep";

// --- what Score-P answers -----------------------------------------------------------------------
Callback callbacks[kCallbacks];

template <class Result, class... Arguments>
Result ask(CallbackPlace place, Result otherwise, Arguments... arguments) noexcept {
  const auto callback = reinterpret_cast<Result (*)(Arguments...)>(callbacks[place]);
  return callback ? callback(arguments...) : otherwise;
}

// A newer Score-P may have more callbacks than are known here, an older one fewer.
void set_callbacks(const Callback* given, size_t bytes) {
  memset(callbacks, 0, sizeof callbacks);
  memcpy(callbacks, given, std::min(bytes, sizeof callbacks));
  if (!callbacks[kRegionGetName])
    perfield_source_tell("scorep-names",
                         "this Score-P does not tell the names of regions, so none are measured; "
                         "perfield's plugin needs Score-P 4 or newer");
}

// --- regions ------------------------------------------------------------------------------------
// The region of perfield for each handle; kNotSelected where the configuration leaves it out,
// unless it is armed; kLeftToWrappers for calls of MPI.
RegionTable known;
constexpr uint32_t kNotSelected = 0;
constexpr uint32_t kLeftToWrappers = RegionTable::kUnknown - 1;

std::atomic<bool> out_of_room{false};

uint32_t look_up(Handle handle) noexcept {
  const char* name = ask<const char*>(kRegionGetName, nullptr, handle);
  uint32_t region = kLeftToWrappers;
  if (name && strncmp(name, "MPI_", 4) != 0)
    region = perfield_source_region(name, ask<const char*>(kRegionGetFileName, nullptr, handle),
                                    int(ask<uint32_t>(kRegionGetBeginLine, 0, handle)));
  if (known.set(handle, region)) return region;
  if (!out_of_room.exchange(true))
    perfield_source_tell("scorep-regions",
                         "this program has more regions than perfield's Score-P plugin can tell "
                         "apart, so some are not measured; filter them by SCOREP_FILTERING_FILE");
  return kNotSelected;
}

// Only while measuring is it known what the configuration selects. So a region that was entered
// before, main say, is not known when it is left, and passed over.
void enter(Handle handle) noexcept {
  if (!handle || !perfield_source_awake()) return;
  uint32_t region = known.find(handle);
  if (region == RegionTable::kUnknown || (region == kNotSelected && perfield_source_armed()))
    region = look_up(handle);
  if (region != kNotSelected && region != kLeftToWrappers) perfield_region_begin(region);
}

void leave(Handle handle) noexcept {
  uint32_t region = known.find(handle);
  if (region == RegionTable::kUnknown || region == kNotSelected || region == kLeftToWrappers)
    return;
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
enum Mode { kRecording = 0, kNotRecording = 1 };

template <Mode mode>
void enter_region(Location*, uint64_t, Handle region, uint64_t*) {
  if (mode == kNotRecording) pause();
  enter(region);
}

void exit_region(Location*, uint64_t, Handle region, uint64_t*) { leave(region); }

// With unwinding on, Score-P tells where in the tree of calls the region was entered.
Handle region_of(Handle context) noexcept {
  return context ? ask<Handle>(kCallingContextGetRegion, 0, context) : 0;
}

template <Mode mode>
void enter_context(Location*, uint64_t, Handle context, Handle, uint32_t, uint64_t*) {
  if (mode == kNotRecording) pause();
  enter(region_of(context));
}

void exit_context(Location*, uint64_t, Handle context, Handle, uint32_t, uint64_t*) {
  leave(region_of(context));
}

template <Mode mode>
uint32_t hand_out(Event** given) noexcept {
  static Event events[2 * kEvents];  // those that a newer Score-P may have are null, too
  const auto set = [](EventPlace place, auto* function) {
    events[place] = reinterpret_cast<Event>(function);
  };
  set(kEnableRecording, enable_recording);
  set(kDisableRecording, disable_recording);
  set(kEnterRegion, enter_region<mode>);
  set(kExitRegion, exit_region);
  set(kCallingContextEnter, enter_context<mode>);
  set(kCallingContextExit, exit_context);
  *given = events;
  return kEvents;
}

uint32_t get_event_functions(int mode, Event** given) {
  return mode == kNotRecording ? hand_out<kNotRecording>(given) : hand_out<kRecording>(given);
}

// --- waking and ending --------------------------------------------------------------------------
int init() {
  perfield_source_present(kSource);
  return 0;
}

// perfield's MPI wrappers are called before those of Score-P, and wake when MPI_Init has returned.
bool wrappers_will_wake() noexcept {
  return dlsym(RTLD_DEFAULT, "PMPI_Init") && (dlsym(RTLD_DEFAULT, "perfield_behind_openmpi") ||
                                              dlsym(RTLD_DEFAULT, "perfield_behind_mpich"));
}

void init_mpp() {
  if (perfield_source_awake() || wrappers_will_wake()) return;
  perfield_source_wake(ask<int>(kIpcGetRank, 0), ask<int>(kIpcGetSize, 1), "");
}

void finalize() { perfield_source_end("finalize"); }

}  // namespace
}  // namespace perfield::scorep

extern "C" __attribute__((visibility("default"))) perfield::scorep::Info
SCOREP_SubstratePlugin_perfield_get_info() {
  using namespace perfield::scorep;
  Info info{};
  info.version = kInterfaceVersion;
  info.init = init;
  info.init_mpp = init_mpp;
  info.finalize = finalize;
  info.get_event_functions = get_event_functions;
  info.set_callbacks = set_callbacks;
  return info;
}
