// SPDX-License-Identifier: BSD-3-Clause
//
// without_cpu.cpp - asks the functions that say who keeps a process from running, for
// test_without_cpu.py: "quota CGROUP MOUNTINFO ROOT" lists the cpu.stat files of groups with a
// quota, "stolen STAT CPU..." adds up ticks, "shift OFFSETS" reads that of a time namespace, and
// "call BEFORE CALL USED" says how long a thread had no CPU in a call.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "platform/cpu_quota.hpp"
#include "platform/stolen_time.hpp"
#include "platform/time_namespace.hpp"
#include "recorder/cpu_in_calls.hpp"

int main(int n, char** words) {
  using namespace perfield;
  if (!strcmp(words[1], "quota")) {
    for (const QuotaGroup& group : groups_with_quota(words[2], words[3], words[4]))
      printf("%s %s\n", group.in_microseconds ? "us" : "ns", group.stat.c_str());
  } else if (!strcmp(words[1], "stolen")) {
    CpuMask cpus(16);
    for (int i = 3; i < n; ++i) cpus[size_t(atoi(words[i]) / 8)] |= 1 << atoi(words[i]) % 8;
    uint64_t ticks = 0;
    const int found = add_stolen_ticks(words[2], cpus, &ticks);
    printf("%d %llu\n", found, static_cast<unsigned long long>(ticks));
  } else if (!strcmp(words[1], "shift")) {
    int64_t ahead = 0;
    const bool known = shift_in(words[2], &ahead);
    printf("%d %lld\n", known, static_cast<long long>(ahead));
  } else {
    const WithoutCpu without =
        without_cpu_in_calls(strtoull(words[2], nullptr, 10), strtoull(words[3], nullptr, 10),
                             strtoull(words[4], nullptr, 10));
    printf("%llu %llu\n", static_cast<unsigned long long>(without.least_ns),
           static_cast<unsigned long long>(without.most_ns));
  }
}
