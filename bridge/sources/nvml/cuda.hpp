// SPDX-License-Identifier: BSD-3-Clause
//
// cuda.hpp - which NVIDIA devices this process computes on. CUDA's own driver is asked, as far as
// the program has loaded and started it; perfield starts nothing, and makes no context. Used by the
// thread that closes a step. Never throws.
#pragma once

namespace perfield {

struct CudaDevice {
  char pci[32];       // "0000:3b:00.0"
  char instance[48];  // if the device is divided (MIG): the name of the process' part, "MIG-..."
};

// Fills in the devices on which the program's CUDA runtime has a context, and that of the context
// of this thread. Returns how many there are, at most `room`.
int cuda_devices(CudaDevice* devices, int room) noexcept;

}  // namespace perfield
