// SPDX-License-Identifier: BSD-3-Clause
//
// kernel_readings.cpp - see kernel_readings.hpp.
#include "recorder/kernel_readings.hpp"

#include <new>

#include "platform/pages.hpp"

namespace perfield {

KernelReadings* KernelReadings::create(uint64_t period) noexcept {
  void* const memory = map_pages(sizeof(KernelReadings));
  if (!memory) return nullptr;
  auto* readings = new (memory) KernelReadings;
  readings->base_period_.set(period);  // open regions already count from here on
  return readings;
}

void KernelReadings::destroy(KernelReadings* readings) noexcept {
  readings->kernel_.close();
  munmap(static_cast<void*>(readings), sizeof(KernelReadings));  // it owns nothing
}

}  // namespace perfield
