// SPDX-License-Identifier: BSD-3-Clause
//
// nvml.cpp - libperfield_nvml.so: asks NVIDIA's management library (NVML) how much memory of the
// rank's devices is in use, and how busy they are, when a step closes. It asks once the program
// computes on a device, and of those devices alone. Where NVML has no answer, a value is absent.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "recorder/source.h"
#include "sources/device_quantities.hpp"
#include "sources/find_symbol.hpp"
#include "sources/now.hpp"
#include "sources/nvml/cuda.hpp"
#include "sources/nvml/interface.hpp"

namespace {

constexpr const char* kSource = "nvml";
constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr uint64_t kAskEvery_ns = 100'000'000;
constexpr uint64_t kShareOfTime = 200;  // asking may take one part in so many of the time
constexpr int kMostDevices = 16, kMostProcesses = 64;
constexpr uint64_t kPpmOfPercent = 10'000;

using namespace perfield::nvml;
using perfield::find_symbol;
using perfield::now_ns;

Functions nvml;

void leave_out(const char* device, const char* reason) noexcept {
  char topic[48], sentence[400];
  snprintf(topic, sizeof topic, "%s%s", kSource, device);
  snprintf(sentence, sizeof sentence,
           "memory and utilisation of the device%s%s are not measured: %s; the program runs on",
           *device ? " " : "", device, reason);
  perfield_warn_once_per_node(topic, sentence);
}

bool open_nvml() noexcept {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    leave_out("", reason ? reason : kLibrary);
    return false;
  }
  find_symbol(library, "nvmlDeviceGetComputeRunningProcesses_v3", &nvml.processes);
  find_symbol(library, "nvmlDeviceGetMigMode", &nvml.mig_mode);
  find_symbol(library, "nvmlDeviceGetHandleByUUID", &nvml.handle_of);
  if (!find_symbol(library, "nvmlInit_v2", &nvml.init) ||
      !find_symbol(library, "nvmlShutdown", &nvml.shutdown) ||
      !find_symbol(library, "nvmlErrorString", &nvml.error_string) ||
      !find_symbol(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml.handle_at) ||
      !find_symbol(library, "nvmlDeviceGetMemoryInfo", &nvml.memory) ||
      !find_symbol(library, "nvmlDeviceGetUtilizationRates", &nvml.utilisation)) {
    leave_out("", "the NVML there is too old");
    return false;
  }
  const int answer = nvml.init();
  if (answer != kGood) leave_out("", nvml.error_string(answer));
  return answer == kGood;
}

// --- devices ------------------------------------------------------------------------------------
struct Known {
  char pci[sizeof perfield::CudaDevice::pci];
  Handle handle;
};
Known known[kMostDevices];
int n_known = 0;

// Whether NVML has answered. What a device does not support is absent without a word.
bool is_good(int answer, const char* pci) noexcept {
  if (answer != kGood && answer != kNotSupported) leave_out(pci, nvml.error_string(answer));
  return answer == kGood;
}

// The handle of a device, or of the process' part of it; nullptr if NVML gives none.
Handle handle_of(const perfield::CudaDevice& device) noexcept {
  for (int n = 0; n < n_known; ++n)
    if (strcmp(known[n].pci, device.pci) == 0) return known[n].handle;
  Handle handle = nullptr;
  // By its PCI address NVML opens no other device.
  if (n_known == kMostDevices || !is_good(nvml.handle_at(device.pci, &handle), device.pci))
    return nullptr;
  unsigned is_divided = 0, pending = 0;
  if (nvml.mig_mode && nvml.handle_of && nvml.mig_mode(handle, &is_divided, &pending) == kGood &&
      is_divided && !is_good(nvml.handle_of(device.instance, &handle), device.pci))
    return nullptr;
  strcpy(known[n_known].pci, device.pci);
  return known[n_known++].handle = handle;
}

// Adds the memory that this process has on the device. False if NVML does not give it.
bool add_own(Handle device, uint64_t* bytes) noexcept {
  static Process processes[kMostProcesses];
  unsigned count = kMostProcesses;
  if (!nvml.processes || nvml.processes(device, &count, processes) != kGood) return false;
  for (unsigned n = 0; n < std::min<unsigned>(count, kMostProcesses); ++n) {
    if (processes[n].pid != unsigned(getpid()) || processes[n].used == kNotKnown) continue;
    *bytes += processes[n].used;
    return true;
  }
  return false;
}

// --- values of the rank ------------------------------------------------------------------------
// A value is known if all of the rank's devices give it.
struct Value {
  perfield_quantity quantity;
  uint64_t sum;
  bool is_known;
};
Value memory, own_memory, utilisation;
bool is_open = false, is_over = false;

void define() noexcept {
  const auto state = [](const char* name, const char* unit, enum perfield_over_steps steps,
                        const char* help) {
    return perfield_quantity_define(name, unit, PERFIELD_PER_RANK, steps, PERFIELD_THREADS_MAX,
                                    help);
  };
  memory.quantity = state("device_memory", "B", PERFIELD_STEPS_MAX,
                          "memory in use on the rank's devices, by all processes (sampled at most "
                          "every 100 ms)");
  own_memory.quantity = state("device_own_memory", "B", PERFIELD_STEPS_MAX,
                              "memory that the rank itself uses on its devices (likewise)");
  utilisation.quantity =
      state("device_utilisation", "ppm", PERFIELD_STEPS_LAST,
            "share of the last second or less in which the rank's devices ran any kernel, of any "
            "process; the mean of its devices (likewise)");
}

void ask() noexcept {
  perfield::CudaDevice devices[kMostDevices];
  const int n_devices = perfield::cuda_devices(devices, kMostDevices);
  for (Value* value : {&memory, &own_memory, &utilisation}) {
    value->sum = 0;
    value->is_known = n_devices > 0;
  }
  if (!n_devices) return;
  if (!is_open) {
    is_over = !open_nvml();
    if (is_over) return;
    is_open = true;
    define();
  }
  for (int n = 0; n < n_devices; ++n) {
    const char* pci = devices[n].pci;
    const Handle handle = handle_of(devices[n]);
    Memory bytes{};
    Utilisation rates{};
    memory.is_known &= handle && is_good(nvml.memory(handle, &bytes), pci);
    own_memory.is_known &= handle && add_own(handle, &own_memory.sum);
    utilisation.is_known &= handle && is_good(nvml.utilisation(handle, &rates), pci);
    memory.sum += bytes.used;
    utilisation.sum += rates.gpu * kPpmOfPercent;
  }
  utilisation.sum /= uint64_t(n_devices);
}

// Closes NVML's files of the devices before perfield looks which of them the program has open.
void end() noexcept {
  if (is_open) nvml.shutdown();
  is_over = true;
}

void before_close() {
  static uint64_t next_ns = 0;
  if (is_over) return;
  const uint64_t begun = now_ns();
  if (begun >= next_ns) {
    const bool was_open = is_open;
    perfield_own_begin();
    ask();
    perfield_own_end();
    const uint64_t now = now_ns();
    const uint64_t cost = was_open ? now - begun : 0;  // opening takes long, once
    next_ns = now + std::max(kAskEvery_ns, kShareOfTime * cost);
  }
  for (const Value* value : {&memory, &own_memory, &utilisation})
    if (is_open && value->is_known) perfield_quantity_set(value->quantity, value->sum);
  if (perfield_source_is_ending()) end();
}

__attribute__((constructor)) void announce() {
  perfield_source_present(kSource);
  perfield_source_before_close(before_close);
}

}  // namespace
