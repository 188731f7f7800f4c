// SPDX-License-Identifier: BSD-3-Clause
//
// kernel_threads.cpp - see kernel_threads.hpp. The number of links of /proc/self/task says how
// many threads there are, so that its open descriptor is read only when threads came or went.
#include "sources/ompt/kernel_threads.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>

#include "platform/threads.hpp"
#include "recorder/source.h"
#include "sources/now.hpp"

namespace perfield::ompt {
namespace {

constexpr uint64_t kReadEvery_ns = 1'000'000;
constexpr uint64_t kWorks_ns = 1'000'000;  // helpers of MPI and CUDA sleep and stay below it
constexpr int kFollowed = 64;

struct KernelThread {
  int id;      // 0: free
  int number;  // of its quantity; -1: none
  bool is_there;
  uint64_t reported_ns;
};
ThreadList list;
KernelThread threads[kFollowed];
perfield_quantity cpu_time[kNamedThreads];
int n_numbers = 0;
bool is_wanted = false;  // a runtime without OMPT has several threads

void note(int id, bool is_first) noexcept {
  KernelThread* free_one = nullptr;
  for (KernelThread& thread : threads) {
    if (thread.id == id) {
      thread.is_there = true;
      return;
    }
    if (!thread.id && !free_one) free_one = &thread;
  }
  if (!free_one) return;
  // What the first threads used before the first reading is not this step's.
  *free_one = {id, -1, true, is_first ? cpu_time_ns(id) : 0};
}

void list_threads() noexcept {
  static bool is_first = true;
  for (KernelThread& thread : threads) thread.is_there = false;
  list.each([](pid_t id) { note(id, is_first); });
  for (KernelThread& thread : threads)
    if (!thread.is_there) thread.id = 0;
  is_first = false;
  // LLVM's runtime has the entries of GCC's, too, and reports by OMPT.
  is_wanted = is_wanted ||
              (dlsym(RTLD_DEFAULT, "GOMP_parallel") && !dlsym(RTLD_DEFAULT, "__kmpc_fork_call"));
}

void add(KernelThread* thread) noexcept {
  const uint64_t now = cpu_time_ns(thread->id);
  if (now <= thread->reported_ns) return;
  const uint64_t used = now - thread->reported_ns;
  if (thread->number < 0) {
    if (used < kWorks_ns || n_numbers >= kNamedThreads) return;
    char name[40];
    snprintf(name, sizeof name, "thread_%d_cpu_time", n_numbers);
    cpu_time[n_numbers] = perfield_quantity_define(
        name, "ns", PERFIELD_PER_RANK, PERFIELD_STEPS_SUM, PERFIELD_THREADS_SUM,
        "CPU time of this thread of the process (read from the kernel, at most every ms)");
    thread->number = n_numbers++;
    if (n_numbers == 2)
      perfield_warn_once_per_node(
          "libgomp",
          "this program's OpenMP runtime (GCC's libgomp) has no OMPT, so perfield sees the CPU "
          "time of threads, not what they do; with LLVM's libomp it sees that, too");
  }
  perfield_own_end();
  perfield_quantity_add(cpu_time[thread->number], used);
  perfield_own_begin();
  thread->reported_ns = now;
}

}  // namespace

void count_cpu_time() noexcept {
  static uint64_t count = 0, read = 0;
  const uint64_t now = now_ns();
  if (now - read < kReadEvery_ns) return;
  read = now;
  const uint64_t before = count;
  count = list.count();
  if (count != before && (count > 1 || is_wanted)) list_threads();
  if (!is_wanted) return;
  for (KernelThread& thread : threads)
    if (thread.id) add(&thread);
}

}  // namespace perfield::ompt
