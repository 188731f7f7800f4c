// SPDX-License-Identifier: BSD-3-Clause
//
// process.cpp - reads getrusage, /proc/self and the affinity mask.
#include "platform/process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace perfield {
namespace {

uint64_t nanoseconds(const timeval& t) noexcept {
  return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_usec) * 1000u;
}

std::string read_file(const char* path, size_t limit) {
  std::string text(limit, '\0');
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, text.data(), limit);
  if (fd >= 0) close(fd);
  text.resize(n > 0 ? size_t(n) : 0);
  return text;
}

}  // namespace

ProcessFigures process_figures() noexcept {
  rusage u;
  ProcessFigures f;
  if (getrusage(RUSAGE_SELF, &u) != 0) return f;
  f.cpu_user_ns = nanoseconds(u.ru_utime);
  f.cpu_system_ns = nanoseconds(u.ru_stime);
  f.voluntary_switches = uint64_t(u.ru_nvcsw);
  f.involuntary_switches = uint64_t(u.ru_nivcsw);
  f.minor_faults = uint64_t(u.ru_minflt);
  f.major_faults = uint64_t(u.ru_majflt);
  return f;
}

uint64_t resident_bytes(KeptFile* statm) noexcept {
  char text[128];
  if (!statm->read("/proc/self/statm", text, sizeof text)) return 0;
  char* after_size;
  strtoull(text, &after_size, 10);
  return strtoull(after_size, nullptr, 10) * uint64_t(sysconf(_SC_PAGESIZE));
}

CpuMask cpu_mask(pid_t thread) {
  // Machines may have more CPUs than a cpu_set_t holds: grow until the kernel accepts the size.
  for (size_t cpus = 1024; cpus <= 1u << 18; cpus *= 4) {
    CpuMask mask(CPU_ALLOC_SIZE(cpus));
    if (sched_getaffinity(thread, mask.size(), reinterpret_cast<cpu_set_t*>(mask.data())) == 0)
      return mask;
    if (errno != EINVAL) break;
  }
  return {};
}

void join(CpuMask* mask, const CpuMask& other) {
  mask->resize(std::max(mask->size(), other.size()));
  for (size_t byte = 0; byte < other.size(); ++byte) (*mask)[byte] |= other[byte];
}

std::string cpu_list(const CpuMask& mask) {
  const auto* set = reinterpret_cast<const cpu_set_t*>(mask.data());
  const size_t cpus = 8 * mask.size();
  const auto has = [&](size_t cpu) { return cpu < cpus && CPU_ISSET_S(cpu, mask.size(), set); };
  std::string list;
  for (size_t first = 0; first < cpus; ++first) {
    if (!has(first)) continue;
    size_t last = first;
    while (has(last + 1)) ++last;
    if (!list.empty()) list += ",";
    list += std::to_string(first);
    if (last > first) list += "-" + std::to_string(last);
    first = last;
  }
  return list;
}

int last_processor(pid_t thread, KeptFile* stat) noexcept {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", int(thread));
  if (!stat->read(path, text, sizeof text)) return -1;
  const char* at = strrchr(text, ')');  // after the thread's name; the state is field 3
  for (int field = 3; at && field <= 39; ++field) at = strchr(at + 1, ' ');
  return at ? atoi(at) : -1;
}

std::string pid_namespace() {
  char text[64];
  ssize_t n = readlink("/proc/self/ns/pid", text, sizeof text);
  return n > 0 ? std::string(text, size_t(n)) : "";
}

std::string program_name() {
  std::string name = read_file("/proc/self/cmdline", 4096).c_str();  // up to the first NUL
  size_t slash = name.rfind('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

std::string program_arguments() {
  std::string line = read_file("/proc/self/cmdline", 4096);
  while (!line.empty() && line.back() == '\0') line.pop_back();
  for (char& c : line)
    if (c == '\0') c = ' ';
  return line;
}

}  // namespace perfield
