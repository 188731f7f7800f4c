// SPDX-License-Identifier: BSD-3-Clause
//
// interface.hpp - the part of OMPT that the source uses, with its layout in memory, from the OpenMP
// API 5.0, chapter 4. All later versions keep it.
#pragma once

#include <cstdint>

namespace perfield::ompt {

union Data {
  uint64_t value;
  void* ptr;
};

using Callback = void (*)();
using Lookup = Callback (*)(const char* name);
using SetCallback = int (*)(int which, Callback callback);

struct Tool {
  int (*initialize)(Lookup lookup, int device, Data* data);  // 1: the tool stays
  void (*finalize)(Data* data);
  Data data;
};

// Numbers of callbacks.
enum {
  kThreadBegin = 1,
  kThreadEnd = 2,
  kParallelBegin = 3,
  kParallelEnd = 4,
  kTaskCreate = 5,
  kTaskSchedule = 6,
  kImplicitTask = 7,
  kSyncRegionWait = 16
};
enum Endpoint { kBegin = 1, kEnd = 2, kBeginEnd = 3 };
enum { kThreadInitial = 1, kThreadWorker = 2 };
enum { kTaskInitial = 1 };               // a flag of implicit tasks
enum { kTaskwait = 5, kReduction = 7 };  // between them taskgroup; all other kinds are barriers

}  // namespace perfield::ompt
