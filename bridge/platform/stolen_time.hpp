// SPDX-License-Identifier: BSD-3-Clause
//
// stolen_time.hpp - how long a hypervisor ran something else on CPUs of this virtual machine (the
// column steal of /proc/stat). Used by one thread at a time; never throws.
#pragma once

#include <cstdint>
#include <vector>

#include "platform/kept_file.hpp"
#include "platform/process.hpp"

namespace perfield {

// Adds up the ticks stolen from these CPUs, in the text of /proc/stat. Returns how many of them it
// lists.
int add_stolen_ticks(const char* stat, const CpuMask& cpus, uint64_t* ticks) noexcept;

class StolenTime {
 public:
  // Whether this is a virtual machine whose kernel reports stolen time.
  bool find();
  // The mean over these CPUs since find(); grows only.
  uint64_t stolen_ns(const CpuMask& cpus) noexcept;

 private:
  KeptFile stat_;
  std::vector<char> text_;
  CpuMask cpus_;  // of the last reading
  uint64_t before_ticks_ = 0;
  double stolen_ns_ = 0;
};

}  // namespace perfield
