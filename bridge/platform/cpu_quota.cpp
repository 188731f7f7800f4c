// SPDX-License-Identifier: BSD-3-Clause
//
// cpu_quota.cpp - see cpu_quota.hpp. docs of the kernel: admin-guide/cgroup-v2, cgroup-v1/ and
// scheduler/sched-bwc.
#include "platform/cpu_quota.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace perfield {
namespace {

constexpr size_t kMostLevels = 4;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool names(const std::string& list, const std::string& word) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');)
    if (one == word) return true;
  return false;
}

// A line of /proc/*/mountinfo: "31 23 0:28 ROOT POINT OPTIONS [...] - TYPE SOURCE SUPER-OPTIONS".
struct Mount {
  std::string root, point, type, options;
};

std::vector<Mount> control_group_mounts(const std::string& mountinfo) {
  std::vector<Mount> found;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    Mount mount;
    std::string skipped;
    std::istringstream(line) >> skipped >> skipped >> skipped >> mount.root >> mount.point;
    std::istringstream(line.substr(dash + 3)) >> mount.type >> skipped >> mount.options;
    const bool is_first = mount.type == "cgroup" && names(mount.options, "cpu");
    if (is_first || mount.type == "cgroup2") found.push_back(mount);
  }
  return found;
}

// The folders of a group below a mount, from its own up to the mount point. A group that lies
// outside of what is mounted is taken for the mount point, as in a container.
std::vector<std::string> folders(const Mount& mount, std::string group) {
  if (mount.root != "/") {
    const bool is_inside = group.compare(0, mount.root.size(), mount.root) == 0;
    group = is_inside ? group.substr(mount.root.size()) : "";
  }
  std::vector<std::string> found;
  while (group.size() > 1 && group.find("/..") == std::string::npos) {
    found.push_back(mount.point + group);
    group.resize(group.rfind('/'));
  }
  found.push_back(mount.point);
  return found;
}

bool has_quota(const std::string& folder, bool is_second) {
  const std::string limit = text_of(folder + (is_second ? "/cpu.max" : "/cpu.cfs_quota_us"));
  return strtol(limit.c_str(), nullptr, 10) > 0;  // "max" and -1: none
}

uint64_t throttled(const QuotaGroup& group, KeptFile* stat) noexcept {
  char text[1024];
  if (!stat->read(group.stat.c_str(), text, sizeof text)) return 0;
  const char* const key = group.in_microseconds ? "throttled_usec " : "throttled_time ";
  const char* const at = strstr(text, key);
  return at ? strtoull(at + strlen(key), nullptr, 10) * (group.in_microseconds ? 1000 : 1) : 0;
}

}  // namespace

std::vector<QuotaGroup> groups_with_quota(const std::string& cgroup, const std::string& mountinfo,
                                          const std::string& root) {
  std::vector<QuotaGroup> found;
  const std::vector<Mount> mounts = control_group_mounts(mountinfo);
  std::istringstream lines(cgroup);
  for (std::string line; std::getline(lines, line);) {  // "4:cpu,cpuacct:/a/b", "0::/a/b"
    const size_t controllers = line.find(':') + 1;
    const size_t end = line.find(':', controllers);
    if (controllers == 0 || end == std::string::npos) continue;
    const bool is_second = end == controllers;
    if (!is_second && !names(line.substr(controllers, end - controllers), "cpu")) continue;
    for (const Mount& mount : mounts) {
      if ((mount.type == "cgroup2") != is_second) continue;
      for (const std::string& folder : folders(mount, line.substr(end + 1)))
        if (found.size() < kMostLevels && has_quota(root + folder, is_second))
          found.push_back({root + folder + "/cpu.stat", is_second});
    }
  }
  return found;
}

void CpuQuota::find() {
  for (QuotaGroup& group :
       groups_with_quota(text_of("/proc/self/cgroup"), text_of("/proc/self/mountinfo"), "")) {
    groups_.push_back({std::move(group), {}, 0});
    groups_.back().before_ns = throttled(groups_.back().group, &groups_.back().stat);
  }
}

uint64_t CpuQuota::throttled_ns() noexcept {
  for (Watched& watched : groups_) {
    const uint64_t now_ns = throttled(watched.group, &watched.stat);
    if (now_ns > watched.before_ns)
      throttled_ns_ = std::max(throttled_ns_, now_ns - watched.before_ns);
  }
  return throttled_ns_;
}

}  // namespace perfield
