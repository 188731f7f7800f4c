// SPDX-License-Identifier: BSD-3-Clause
//
// template.cpp - the smallest source; copy it to make a new one (bridge/sources/README.md). It
// stands for a library that calls three hooks of its tools, and turns these calls into regions and
// quantities.
#define PERFIELD_BUILDING_LIBRARY  // links to libperfield.so
#include "include/perfield.h"
#include "recorder/source.h"
#include "sources/open_regions.hpp"

namespace {

constexpr const char* kSource = "template";

thread_local perfield::OpenRegions open_regions;

perfield_quantity copied, copy_time;

// Runs before the program's own code, while nothing is measured yet.
__attribute__((constructor)) void announce() {
  perfield_source_present(kSource);
  copied = perfield_quantity_define("template_copied", "B", PERFIELD_PER_RANK, PERFIELD_STEPS_SUM,
                                    PERFIELD_THREADS_SUM, "bytes copied to the device");
  copy_time = perfield_quantity_define("template_copy_time", "ns", PERFIELD_PER_REGION,
                                       PERFIELD_STEPS_SUM, PERFIELD_THREADS_SUM,
                                       "time of copying to the device inside the region");
}

}  // namespace

// --- what the library calls ---------------------------------------------------------------------
#define TEMPLATE_HOOK extern "C" __attribute__((visibility("default")))

// Something with a name begins on this thread.
TEMPLATE_HOOK void template_begin(const char* name) {
  open_regions.begin(perfield_region_define(name, nullptr, 0));
}

// The newest open one ends.
TEMPLATE_HOOK void template_end() { open_regions.end(); }

// `bytes` were copied to the device in `ns` nanoseconds.
TEMPLATE_HOOK void template_copied(uint64_t bytes, uint64_t ns) {
  perfield_quantity_add(copied, bytes);
  perfield_quantity_add(copy_time, ns);
}
