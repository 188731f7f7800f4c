// SPDX-License-Identifier: BSD-3-Clause
//
// values_devices.hpp - the fields of devices, for a program that asks what was measured: by the
// arithmetic of perfield/run/device_values.py.
#pragma once

#include <functional>
#include <string>

#include "format/decode.hpp"

namespace perfield {

// Of what this rank is told.
struct DevicesTold {
  bool kernels = false, copies = false;
};

// Calls add(name, value) for the fields that such a rank has.
void add_device_values(const StepView& step, DevicesTold told,
                       const std::function<void(const std::string& name, double value)>& add);

}  // namespace perfield
