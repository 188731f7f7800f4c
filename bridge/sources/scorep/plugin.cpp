// SPDX-License-Identifier: BSD-3-Clause
//
// plugin.cpp - libscorep_substrate_perfield.so: the entry point of the plugin that Score-P loads
// for SCOREP_SUBSTRATE_PLUGINS=perfield, and when perfield starts and ends. The files beside this
// one handle the events.
#include <dlfcn.h>

#include "recorder/source.h"
#include "sources/scorep/advice.hpp"
#include "sources/scorep/calls.hpp"
#include "sources/scorep/files.hpp"
#include "sources/scorep/messages.hpp"
#include "sources/scorep/metrics.hpp"
#include "sources/scorep/regions.hpp"
#include "sources/scorep/score_p.hpp"
#include "sources/scorep/substrate_interface.hpp"
#include "sources/scorep/thread.hpp"

namespace perfield::scorep {
namespace {

// --- what is handed over ------------------------------------------------------------------------
void set_callbacks(const Callback* given, size_t bytes) {
  take_callbacks(given, bytes);
  if (!callbacks[kRegionGetName])
    perfield_warn_once_per_node(
        "scorep-names",
        "this Score-P does not give the names of regions, so none are measured; "
        "perfield's plugin needs Score-P 4 or newer");
}

uint32_t get_event_functions(int mode, Event** given) {
  static Event events[2][2 * kEvents];  // null also for events of a newer Score-P
  const Mode known = mode == kNotRecording ? kNotRecording : kRecording;
  set_region_events(events[known], known);
  set_message_events(events[known]);
  set_file_events(events[known]);
  *given = events[known];
  return kEvents;
}

// --- waking and ending --------------------------------------------------------------------------
int init() {
  perfield_source_present(kSource);
  start_looking();
  return 0;
}

// perfield's MPI wrappers run before those of Score-P, and start perfield when MPI_Init has
// returned.
bool wrappers_will_wake() noexcept {
  return dlsym(RTLD_DEFAULT, "PMPI_Init") && (dlsym(RTLD_DEFAULT, "perfield_behind_openmpi") ||
                                              dlsym(RTLD_DEFAULT, "perfield_behind_mpich"));
}

void init_mpp() {
  if (perfield_source_is_started() || wrappers_will_wake()) return;
  initializing();
  if (mpi_is_seen) watch_mpi();
  perfield_source_start(ask<int>(kIpcGetRank, 0), ask<int>(kIpcGetSize, 1), "");
  look_for_calls_in_vain();
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
  info.new_definition = note_definition;
  info.get_event_functions = get_event_functions;
  info.set_callbacks = set_callbacks;
  return info;
}
