// SPDX-License-Identifier: BSD-3-Clause
//
// interface.hpp - what perfield uses of NVML, laid out as in nvml.h (tests compare both, where that
// header is), so that it builds on machines without it.
#pragma once

namespace perfield::nvml {

enum Answer : int { kGood = 0, kNotSupported = 3 };
using Handle = struct nvmlDevice*;
struct Memory {
  unsigned long long total, free, used;
};
struct Utilisation {
  unsigned gpu, memory;  // per cent of the last 1/6 s to 1 s, as the device chooses
};
struct Process {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
inline constexpr unsigned long long kNotKnown = ~0ull;

struct Functions {
  int (*init)();
  int (*shutdown)();
  const char* (*error_string)(int answer);
  int (*handle_at)(const char* pci, Handle* device);
  int (*memory)(Handle device, Memory* memory);
  int (*utilisation)(Handle device, Utilisation* utilisation);
  // May be missing in older versions:
  int (*processes)(Handle device, unsigned* count, Process* processes);
  int (*mig_mode)(Handle device, unsigned* current, unsigned* pending);
  int (*handle_of)(const char* uuid, Handle* device);
};

}  // namespace perfield::nvml
