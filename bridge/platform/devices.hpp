// SPDX-License-Identifier: BSD-3-Clause
//
// devices.hpp - which GPUs and network cards this process has open, by its device files. It costs a
// few system calls per open descriptor. What the kernel does not report is empty.
#pragma once

#include <string>
#include <vector>

namespace perfield {

struct OpenDevice {
  std::string file;  // "/dev/nvidia0"
  std::string pci;   // its PCI address as hwloc writes it, "0000:3b:00.0"; "" if not known
};

// Whether this node has any such devices, as far as their drivers' files show.
bool has_devices();

// Whether NVIDIA's driver is on this node.
bool has_nvidia_driver();

// Each open device once, in the order of the files' names.
std::vector<OpenDevice> open_devices();

}  // namespace perfield
