// SPDX-License-Identifier: BSD-3-Clause
//
// session_counters.cpp - see session_counters.hpp.
#include "session/session_counters.hpp"

#include <errno.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "recorder/kernel_counters.hpp"
#include "recorder/kernel_readings.hpp"
#include "recorder/recorder.hpp"
#include "run_directory/run_directory.hpp"
#include "session/warnings.hpp"

namespace perfield {
namespace {

int perf_event_paranoid() {
  int level = -1;
  if (FILE* file = fopen("/proc/sys/kernel/perf_event_paranoid", "re")) {
    if (fscanf(file, "%d", &level) != 1) level = -1;
    fclose(file);
  }
  return level;
}

std::string reason(int error) {
  switch (error) {
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
      return "the kernel offers no such counter on this machine, as on many virtual ones";
    case EACCES:
    case EPERM: {
      const int level = perf_event_paranoid();
      return "the kernel or the container forbids it" +
             (level < 0 ? std::string()
                        : " (kernel.perf_event_paranoid is " + std::to_string(level) + ")");
    }
    case ENOSYS:
      return "this kernel has no perf_event_open";
    case EINVAL:
      return "the processor does not know this event";
    default:
      return std::string("perf_event_open failed: ") + strerror(error);
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (size_t i = 0; i < names.size(); ++i)
    all += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return all;
}

// One sentence for all counters that this node cannot count, grouped by reason.
std::string sentence(const std::vector<RefusedCounter>& refused) {
  std::map<std::string, std::vector<std::string>> names;
  for (const RefusedCounter& counter : refused)
    names[reason(counter.error)].push_back(counter.name);
  std::string all;
  for (const auto& [why, which] : names)
    all += (all.empty() ? "" : "; ") + joined(which) + ": " + why;
  return "not all `counters` can be had on " + host_name() + ", and those have no fields: " + all;
}

}  // namespace

void choose_counters(const Config& config) {
  std::vector<RefusedCounter> refused;
  Recorder& r = recorder();
  r.counters.choose(config.counters, &r.quantities, &refused);
  if (!refused.empty()) warn_once_per_node("counters", sentence(refused));
}

void warn_of_counters() {
  Recorder& r = recorder();
  if (const uint64_t n = KernelCounters::refused_threads())
    warn_once_per_node(
        "counters-threads",
        "the `counters` of " + std::to_string(n) +
            " threads were not counted: they would take more than a quarter of the "
            "descriptors that the process may open (ulimit -n); choose fewer or raise it");
  for (int i = 0; i < r.n_profiles(); ++i) {
    const KernelReadings* readings = r.profile_at(i).kernel.load(std::memory_order_acquire);
    if (!readings || !readings->shared_registers()) continue;
    warn_once_per_node(
        "counters-shared",
        "there are more `counters` than the processor counts at once, or another tool counts, "
        "too: their fields are estimates, scaled by the time that each was counted; choose fewer");
    return;
  }
}

}  // namespace perfield
