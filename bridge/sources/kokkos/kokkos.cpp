// SPDX-License-Identifier: BSD-3-Clause
//
// kokkos.cpp - libperfield_kokkos.so: a tool that Kokkos loads for KOKKOS_TOOLS_LIBS. Kernels,
// profile regions and sections become regions of the same name; deep copies are counted with their
// bytes. Kokkos gets a kernel's region as its id, so only what is open on a thread is kept here.
#include <atomic>
#include <cstdint>
#include <cstring>

#define PERFIELD_BUILDING_LIBRARY  // links to libperfield.so
#include "include/perfield.h"
#include "recorder/source.h"
#include "sources/device_quantities.hpp"
#include "sources/kokkos/kernel_names.hpp"
#include "sources/open_regions.hpp"

namespace {

using perfield::kokkos::region_of;

constexpr const char* kSource = "kokkos";
constexpr const char* kFence = "Kokkos fence";

// --- as they lie in memory: what Kokkos hands over ----------------------------------------------
struct Space {
  char name[64];
};
struct Settings {
  bool requires_global_fencing;
  bool others[255];
};

// --- what is open on a thread -------------------------------------------------------------------
struct Copy {
  const perfield_operation* way;
  uint64_t stamp, bytes;
};
struct Open {
  perfield::OpenRegions regions;
  Copy copy;
  int copies;  // begun and not ended: only the outermost counts
};
thread_local Open open;

void begin_kernel(const char* name, uint64_t* kernel) noexcept {
  const perfield_region region = region_of(name);
  *kernel = region;
  perfield_region_begin(region);
}

void end_kernel(uint64_t kernel) noexcept { perfield_region_end(perfield_region(kernel)); }

// --- copies -------------------------------------------------------------------------------------
// "Host", "HBW", "CudaHostPinned", ... are memory of the host.
bool is_host(const Space& space) noexcept {
  return memmem(space.name, strnlen(space.name, sizeof space.name), "Host", 4) ||
         strncmp(space.name, "HBW", sizeof space.name) == 0;
}

perfield::DeviceCopies copies;

const perfield_operation* way_of(bool to_host, bool from_host) noexcept {
  if (to_host == from_host) return &copies.within;
  return from_host ? &copies.to : &copies.from;
}

// Copies that CUPTI counts are not counted here, too. Whether CUPTI is there is known by the first
// copy.
bool is_counted_elsewhere(bool to_host, bool from_host) noexcept {
  static std::atomic<int> is_counted{-1};  // not asked yet
  if (to_host && from_host) return false;
  int known = is_counted.load(std::memory_order_relaxed);
  if (known < 0) is_counted.store(known = perfield_source_is_present("cupti"));
  return known;
}

}  // namespace

#define KOKKOS_HOOK extern "C" __attribute__((visibility("default")))

// --- starting -----------------------------------------------------------------------------------
KOKKOS_HOOK void kokkosp_init_library(int, uint64_t, uint32_t, void*) {
  perfield_source_present(kSource);
  copies = perfield::define_device_copies();
}

// Unless a tool declines, Kokkos waits for the device around each kernel, which changes the
// program's timing.
KOKKOS_HOOK void kokkosp_request_tool_settings(uint32_t, Settings* settings) {
  settings->requires_global_fencing = false;
}

// --- kernels ------------------------------------------------------------------------------------
KOKKOS_HOOK void kokkosp_begin_parallel_for(const char* name, uint32_t, uint64_t* kernel) {
  begin_kernel(name, kernel);
}
KOKKOS_HOOK void kokkosp_begin_parallel_reduce(const char* name, uint32_t, uint64_t* kernel) {
  begin_kernel(name, kernel);
}
KOKKOS_HOOK void kokkosp_begin_parallel_scan(const char* name, uint32_t, uint64_t* kernel) {
  begin_kernel(name, kernel);
}
KOKKOS_HOOK void kokkosp_end_parallel_for(uint64_t kernel) { end_kernel(kernel); }
KOKKOS_HOOK void kokkosp_end_parallel_reduce(uint64_t kernel) { end_kernel(kernel); }
KOKKOS_HOOK void kokkosp_end_parallel_scan(uint64_t kernel) { end_kernel(kernel); }

// All fences are one region: the time that the host waits for the device.
KOKKOS_HOOK void kokkosp_begin_fence(const char*, uint32_t, uint64_t* fence) {
  begin_kernel(kFence, fence);
}
KOKKOS_HOOK void kokkosp_end_fence(uint64_t fence) { end_kernel(fence); }

// --- regions and sections that the program marks ------------------------------------------------
KOKKOS_HOOK void kokkosp_push_profile_region(const char* name) {
  open.regions.begin(region_of(name));
}
KOKKOS_HOOK void kokkosp_pop_profile_region() { open.regions.end(); }

KOKKOS_HOOK void kokkosp_create_profile_section(const char* name, uint32_t* section) {
  *section = region_of(name);
}
KOKKOS_HOOK void kokkosp_start_profile_section(uint32_t section) { open.regions.begin(section); }
KOKKOS_HOOK void kokkosp_stop_profile_section(uint32_t section) { open.regions.end(section); }
KOKKOS_HOOK void kokkosp_destroy_profile_section(uint32_t) {}

// --- deep copies --------------------------------------------------------------------------------
KOKKOS_HOOK void kokkosp_begin_deep_copy(Space to, const char*, const void*, Space from,
                                         const char*, const void*, uint64_t bytes) {
  if (open.copies++ > 0) return;
  const bool to_host = is_host(to), from_host = is_host(from);
  Copy& copy = open.copy;
  copy = {way_of(to_host, from_host), 0, bytes};
  if (is_counted_elsewhere(to_host, from_host)) return;
  copy.stamp = perfield_operation_enter(copy.way, __builtin_frame_address(0));
}

KOKKOS_HOOK void kokkosp_end_deep_copy() {
  if (open.copies == 0 || --open.copies > 0 || !open.copy.stamp) return;
  const Copy& copy = open.copy;
  perfield_operation_leave(copy.way, copy.stamp, copy.bytes);
}
