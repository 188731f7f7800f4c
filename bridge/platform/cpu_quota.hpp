// SPDX-License-Identifier: BSD-3-Clause
//
// cpu_quota.hpp - the CPU quotas of the control groups that this process is in, and how long these
// kept its group from running (cpu.stat of version 1 or 2). Never throws after find().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/kept_file.hpp"

namespace perfield {

// A control group with a CPU quota. stat: its cpu.stat.
struct QuotaGroup {
  std::string stat;
  bool in_microseconds = false;  // version 2
};

// The groups with a quota that hold a process, innermost first. cgroup, mountinfo: the texts of
// its files in /proc. root: where the mount points are, "" but in tests.
std::vector<QuotaGroup> groups_with_quota(const std::string& cgroup, const std::string& mountinfo,
                                          const std::string& root);

class CpuQuota {
 public:
  // Finds the groups of this process.
  void find();
  bool is_there() const noexcept { return !groups_.empty(); }
  // How long the group that waited longest was kept from running since find(), added up over CPUs.
  uint64_t throttled_ns() noexcept;

 private:
  struct Watched {
    QuotaGroup group;
    KeptFile stat;
    uint64_t before_ns;
  };
  std::vector<Watched> groups_;
  uint64_t throttled_ns_ = 0;
};

}  // namespace perfield
