// SPDX-License-Identifier: BSD-3-Clause
//
// device_quantities.hpp - the quantities of devices, declared alike by all sources that measure
// them.
#pragma once

#include "recorder/source.h"

namespace perfield {

inline perfield_quantity of_devices(const char* name, const char* unit, const char* help) noexcept {
  return perfield_quantity_define(name, unit, PERFIELD_PER_RANK, PERFIELD_STEPS_SUM,
                                  PERFIELD_THREADS_SUM, help);
}

// Copies to, from and within devices.
struct DeviceCopies {
  perfield_operation to, from, within;
};

inline DeviceCopies define_device_copies() noexcept {
  const perfield_quantity count =
      of_devices("device_copy_count", "1", "copies to, from and within the rank's devices");
  const perfield_quantity time = of_devices(
      "device_copy_time", "ticks", "time that these took, added up where they went on at once");
  const auto way = [&](const char* name, const char* help) {
    return perfield_operation{count, of_devices(name, "B", help), time, 0};
  };
  return {way("device_copy_to", "bytes copied from the host to a device"),
          way("device_copy_from", "bytes copied from a device to the host"),
          way("device_copy_within", "bytes copied or set within devices, or within the host")};
}

}  // namespace perfield
