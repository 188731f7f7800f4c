// SPDX-License-Identifier: BSD-3-Clause
//
// substrate_interface.hpp - the memory layout of the part of Score-P's plugin interface that
// perfield uses. So the plugin is built without Score-P, and one binary serves interface versions 3
// (Score-P 6 to 9) and 2. Functions that perfield does not implement have no type here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfield::scorep {

struct Location;
using Handle = uint32_t;  // a region or a calling context; 0: none
using Event = void (*)();
using Callback = void (*)();

inline constexpr uint32_t kInterfaceVersion = 3;

// A plugin returns this by value.
struct Info {
  uint32_t version;
  int (*init)();
  void (*assign_id)(size_t id);
  void (*init_mpp)();
  void (*finalize)();
  void (*of_locations[4])();
  void (*pre_unify)();
  void (*write_data)();
  void (*of_tasks[2])();
  void (*new_definition)(Handle handle, int type);
  uint32_t (*get_event_functions)(int mode, Event** events);
  void (*set_callbacks)(const Callback* callbacks, size_t bytes);
  void (*get_requirement)();
  void (*dump_manifest)();
  void (*reserved[99])();
};
static_assert(sizeof(void*) != 8 || sizeof(Info) == 936, "Score-P copies 936 bytes");

// Places in the array of events, the same in versions 2 and 3.
enum EventPlace {
  kEnableRecording = 0,
  kDisableRecording = 1,
  kFlushBegin = 2,
  kFlushEnd = 3,
  kEnterRegion = 4,
  kExitRegion = 5,
  kCallingContextEnter = 7,
  kCallingContextExit = 8,
  kMpiSend = 11,
  kMpiReceive = 12,
  kMpiCollectiveEnd = 14,
  kMpiIsend = 19,
  kMpiIreceive = 20,
  kRmaPut = 31,
  kRmaGet = 32,
  kRmaAtomic = 33,
  kIoBegin = 71,
  kIoIssued = 72,
  kIoComplete = 74,
  kIoCancelled = 75,
  kMpiCollectiveComplete = 80,
  kEvents = 83
};

// Enters a function into the array of events.
template <class Function>
void set(Event* events, EventPlace place, Function* function) noexcept {
  events[place] = reinterpret_cast<Event>(function);
}

// Places in the struct of callbacks, which consists of pointers.
enum CallbackPlace {
  kIpcGetSize = 1,
  kIpcGetRank = 2,
  kLocationGetType = 14,
  kCallingContextGetRegion = 20,
  kMetricGetValueType = 22,
  kMetricGetName = 23,
  kMetricGetMode = 25,
  kRegionGetName = 33,
  kRegionGetCanonicalName = 34,
  kRegionGetFileName = 35,
  kRegionGetBeginLine = 36,
  kSamplingSetGetSize = 40,
  kSamplingSetGetMetrics = 41,
  kSamplingSetGetOccurrence = 42,
  kSamplingSetIsScoped = 43,
  kSamplingSetGetClass = 45,
  kCallbacks = 53
};

// The type of locations that are threads of the program.
inline constexpr int kCpuThread = 0;

}  // namespace perfield::scorep
