// SPDX-License-Identifier: BSD-3-Clause
//
// values_devices.cpp - see values_devices.hpp.
#include "session/values_devices.hpp"

#include <algorithm>
#include <initializer_list>

#include "format/calls.h"

namespace perfield {
namespace {

struct Sums {
  double count = 0, ns = 0, bytes = 0;
};

Sums sums_of(const StepView& step, std::initializer_list<perfield_call> calls) {
  Sums sums;
  for (const CallRow row : step.calls) {
    if (std::find(calls.begin(), calls.end(), row.call) == calls.end()) continue;
    sums.count += double(row.count);
    sums.ns += double(row.ns);
    sums.bytes += double(row.bytes_out) + double(row.bytes_in);
  }
  return sums;
}

}  // namespace

void add_device_values(const StepView& step, DevicesTold told,
                       const std::function<void(const std::string& name, double value)>& add) {
  if (told.kernels) {
    const Sums kernels = sums_of(step, {PERFIELD_CALL_device_kernel});
    add("device_kernel_count", kernels.count);
    add("device_kernel_time_s", kernels.ns * 1e-9);
  }
  if (told.copies) {
    const Sums copies = sums_of(step, {PERFIELD_CALL_device_copy_to, PERFIELD_CALL_device_copy_from,
                                       PERFIELD_CALL_device_copy_within});
    add("device_copy_count", copies.count);
    add("device_copy_time_s", copies.ns * 1e-9);
    add("device_copy_to_bytes", sums_of(step, {PERFIELD_CALL_device_copy_to}).bytes);
    add("device_copy_from_bytes", sums_of(step, {PERFIELD_CALL_device_copy_from}).bytes);
    add("device_copy_within_bytes", sums_of(step, {PERFIELD_CALL_device_copy_within}).bytes);
  }
}

}  // namespace perfield
