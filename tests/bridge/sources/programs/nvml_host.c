// SPDX-License-Identifier: BSD-3-Clause
//
// nvml_host.c - a stand-in for libnvidia-ml in tests: two devices whose numbers the test sets. With
// NVML_REFUSES in the environment it does not start, and gives that answer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GOOD, INVALID = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, LOST = 15 };
typedef struct nvml_device {
  unsigned long long used;  // by all processes
  unsigned long long own;   // by this process
  unsigned busy, pid;       // per cent; of the process that `own` belongs to, 0: of this one
  int answer_on_memory, answer_on_utilisation, is_divided;
} Device;
Device nvml_devices[2];
Device nvml_part = {0};  // of a divided device
int nvml_handles, nvml_asked,
    nvml_open;  // handles given, questions about memory; starts without end

int nvmlInit_v2(void) {
  const char* refuses = getenv("NVML_REFUSES");
  if (refuses) return atoi(refuses);
  ++nvml_open;
  return GOOD;
}

int nvmlShutdown(void) {
  --nvml_open;
  return GOOD;
}

const char* nvmlErrorString(int answer) {
  switch (answer) {
    case NO_PERMISSION:
      return "Insufficient Permissions";
    case NOT_FOUND:
      return "Not Found";
    case LOST:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, Device** device) {
  for (int n = 0; n < 2; ++n) {
    char known[20];
    snprintf(known, sizeof known, "0000:%02X:00.0", 0x3b + n);
    if (strcmp(pci, known) != 0) continue;
    ++nvml_handles;
    *device = &nvml_devices[n];
    return GOOD;
  }
  return NOT_FOUND;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, Device** device) {
  if (strcmp(uuid, "MIG-00010203-0405-0607-0809-0a0b0c0d0e0f") != 0) return NOT_FOUND;
  *device = &nvml_part;
  return GOOD;
}

int nvmlDeviceGetMigMode(Device* device, unsigned* current, unsigned* pending) {
  *current = *pending = (unsigned)device->is_divided;
  return GOOD;
}

int nvmlDeviceGetMemoryInfo(Device* device, unsigned long long bytes[3]) {
  ++nvml_asked;
  bytes[0] = 1ull << 40;
  bytes[1] = bytes[0] - device->used;
  bytes[2] = device->used;
  return device->answer_on_memory;
}

int nvmlDeviceGetUtilizationRates(Device* device, unsigned percent[2]) {
  percent[0] = device->busy;
  percent[1] = 1;
  return device->answer_on_utilisation;
}

// As nvmlProcessInfo_v2_t.
struct process {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
int nvmlDeviceGetComputeRunningProcesses_v3(Device* device, unsigned* count,
                                            struct process* found) {
  if (*count < 2) return INVALID;
  *count = 2;
  found[0] = (struct process){1, 4096, ~0u, ~0u};  // another
  found[1] =
      (struct process){device->pid ? device->pid : (unsigned)getpid(), device->own, ~0u, ~0u};
  return GOOD;
}

// --- what the stand-in of CUDA's driver does
// ------------------------------------------------------
void device_memory_changes(int device, long long bytes) {
  nvml_devices[device].used += (unsigned long long)bytes;
  nvml_devices[device].own += (unsigned long long)bytes;
}

void device_is_busy(int device, unsigned percent) { nvml_devices[device].busy = percent; }
