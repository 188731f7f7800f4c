// SPDX-License-Identifier: BSD-3-Clause
//
// ompt.cpp - libperfield_ompt.so: how long each thread of OpenMP computes in parallel regions,
// waits in barriers and idles, by OMPT, the runtime's interface for tools. Each thread keeps its
// own times; the thread that closes a step reads all of them.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "recorder/source.h"
#include "sources/now.hpp"
#include "sources/ompt/interface.hpp"
#include "sources/ompt/kernel_threads.hpp"

namespace perfield::ompt {
namespace {

constexpr const char* kSource = "ompt";
constexpr int kMostThreads = 256;
constexpr unsigned kDeepest = 8;    // nested regions whose barriers are known
constexpr unsigned kEndsKept = 16;  // of a thread's newest regions
constexpr auto relaxed = std::memory_order_relaxed;

enum State : int { kParallel, kBarrier, kIdle, kSerial, kStates };

// A region is named by the thread that opened it and its number there.
struct RegionEnd {
  std::atomic<uint64_t> region{0}, ns{0};
};

// One region that a thread is in.
struct Level {
  uint64_t region = 0;
  bool in_barrier = false, in_task = false;
};

struct alignas(128) Thread {
  std::atomic<bool> is_used{false};
  bool was_early = false;  // it began before perfield measured
  // Written by the thread itself alone; odd version: it is writing.
  std::atomic<uint32_t> version{0};
  std::atomic<int> state{kStates};
  std::atomic<uint64_t> since_ns{0}, region{0}, total_ns[kStates]{};
  RegionEnd ends[kEndsKept];
  uint64_t n_regions = 0;
  State outside = kIdle;
  unsigned depth = 0;
  Level levels[kDeepest + 1];
  uint64_t reported_ns[kStates]{};  // of the thread that closes steps
};
Thread threads[kMostThreads];
std::atomic<int> n_threads{0};
std::atomic<uint64_t> dropped{0};
std::atomic<bool> is_tool{false}, steps_back{false};
std::atomic<bool> is_child{false};  // of fork: its parent is measured, not this one
thread_local Thread* mine = nullptr;

perfield_quantity total[kIdle + 1], longest, count;
perfield_quantity of_thread[kNamedThreads][2];

// --- what each thread keeps
// ----------------------------------------------------------------------- When a region ended;
// UINT64_MAX: it has not. 0: so long ago that it is forgotten.
uint64_t end_of(uint64_t region) noexcept {
  if (!region) return UINT64_MAX;
  const RegionEnd& end = threads[(region >> 48) - 1].ends[region % kEndsKept];
  const uint64_t ns = end.ns.load(std::memory_order_acquire);
  const uint64_t found = end.region.load(std::memory_order_acquire);
  return found == region ? ns : found > region ? 0 : UINT64_MAX;
}

// Adds the time since a state began. LLVM's workers leave the barrier of a region only when the
// next one begins: what follows the region's end is idle time.
void add_time(uint64_t* totals, int state, uint64_t since, uint64_t region, uint64_t now) noexcept {
  if (state >= kStates || now <= since) return;
  uint64_t until = now;
  if (state == kBarrier) {
    const uint64_t end = end_of(region);
    until = end < since ? since : end < now ? end : now;
    totals[kIdle] += now - until;
  }
  totals[state] += until - since;
}

// Turns to the state that the thread's levels say.
void refresh(Thread* t) noexcept {
  const Level& level = t->levels[t->depth < kDeepest ? t->depth : kDeepest];
  const State next = !t->depth                            ? t->outside
                     : level.in_barrier && !level.in_task ? kBarrier
                                                          : kParallel;
  const int state = t->state.load(relaxed);
  if (next == state && next != kBarrier) return;
  const uint64_t now = perfield::now_ns();
  uint64_t added[kStates] = {};
  add_time(added, state, t->since_ns.load(relaxed), t->region.load(relaxed), now);
  const uint32_t version = t->version.load(relaxed);
  t->version.store(version + 1, relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (int s = 0; s < kStates; ++s)
    if (added[s]) t->total_ns[s].store(t->total_ns[s].load(relaxed) + added[s], relaxed);
  t->since_ns.store(now, relaxed);
  t->state.store(next, relaxed);
  t->region.store(level.region, relaxed);
  t->version.store(version + 2, std::memory_order_release);
}

Level* level_of(Thread* t) noexcept {
  return t && t->depth ? &t->levels[t->depth < kDeepest ? t->depth : kDeepest] : nullptr;
}

// --- callbacks of the runtime
// ---------------------------------------------------------------------
void thread_begin(int type, Data*) {
  if (type != kThreadInitial && type != kThreadWorker) return;
  for (int i = 0; i < kMostThreads; ++i) {
    Thread& t = threads[i];
    if (t.is_used.load(relaxed) || t.is_used.exchange(true, std::memory_order_acquire)) continue;
    t.outside = type == kThreadWorker ? kIdle : kSerial;
    t.depth = 0;
    t.was_early = !perfield_source_is_started();
    int known = n_threads.load(relaxed);
    while (known <= i && !n_threads.compare_exchange_weak(known, i + 1)) {
    }
    mine = &t;
    refresh(&t);
    return;
  }
  dropped.fetch_add(1, relaxed);
}

void thread_end(Data*) {
  Thread* t = mine;
  mine = nullptr;
  if (!t) return;
  t->depth = 0;
  t->outside = kStates;
  refresh(t);
  t->is_used.store(false, std::memory_order_release);
}

void parallel_begin(Data*, const void*, Data* region, unsigned, int, const void*) {
  Thread* t = mine;
  if (!t || !region) return;
  region->value = uint64_t(t - threads + 1) << 48 | ++t->n_regions;
}

void parallel_end(Data* region, Data*, int, const void*) {
  Thread* t = mine;
  if (!t || !region || region->value >> 48 != uint64_t(t - threads + 1)) return;
  RegionEnd& end = t->ends[region->value % kEndsKept];
  end.ns.store(perfield::now_ns(), std::memory_order_release);
  end.region.store(region->value, std::memory_order_release);
}

void implicit_task(int endpoint, Data* region, Data*, unsigned, unsigned, int flags) {
  Thread* t = mine;
  if (!t || flags & kTaskInitial) return;
  if (endpoint == kBegin) {
    ++t->depth;
    *level_of(t) = {region ? region->value : 0, false, false};
  } else if (t->depth) {
    --t->depth;
  }
  refresh(t);
}

void sync_region_wait(int kind, int endpoint, Data*, Data*, const void*) {
  Level* level = level_of(mine);
  if (!level || endpoint == kBeginEnd || (kind >= kTaskwait && kind <= kReduction)) return;
  level->in_barrier = endpoint == kBegin;
  level->in_task = false;
  refresh(mine);
}

// Explicit tasks are marked, as threads run them while they wait in barriers.
constexpr uint64_t kExplicit = 1;

void task_create(Data*, const void*, Data* task, int flags, int, const void*) {
  if (task && !(flags & kTaskInitial)) task->value = kExplicit;
}

void task_schedule(Data*, int, Data* next) {
  Level* level = level_of(mine);
  if (!level || !level->in_barrier) return;
  level->in_task = next && next->value == kExplicit;
  refresh(mine);
}

// --- when a step closes
// --------------------------------------------------------------------------- A thread's times up
// to now. Gives up where the thread writes all the time: the next step has them.
bool read_times(const Thread& t, uint64_t now, uint64_t* totals) noexcept {
  for (int n = 0; n < 100; ++n) {
    const uint32_t version = t.version.load(std::memory_order_acquire);
    for (int s = 0; s < kStates; ++s) totals[s] = t.total_ns[s].load(relaxed);
    const int state = t.state.load(relaxed);
    const uint64_t since = t.since_ns.load(relaxed), region = t.region.load(relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version % 2 || version != t.version.load(relaxed)) continue;
    add_time(totals, state, since, region, now);
    return true;
  }
  return false;
}

void define_for(int number) noexcept {
  const char* const kinds[] = {"parallel", "barrier"};
  const char* const helps[] = {"time in which this thread of OpenMP computes in parallel regions",
                               "time in which this thread of OpenMP waits in barriers"};
  for (int kind = 0; kind < 2; ++kind) {
    char name[40];
    snprintf(name, sizeof name, "thread_%d_%s_time", number, kinds[kind]);
    of_thread[number][kind] = perfield_quantity_define(
        name, "ns", PERFIELD_PER_RANK, PERFIELD_STEPS_SUM, PERFIELD_THREADS_SUM, helps[kind]);
  }
}

void define_totals() noexcept {
  const auto time = [](const char* name, const char* help) {
    return perfield_quantity_define(name, "ns", PERFIELD_PER_RANK, PERFIELD_STEPS_SUM,
                                    PERFIELD_THREADS_SUM, help);
  };
  total[kParallel] = time("omp_parallel_time",
                          "time in which threads of OpenMP compute in parallel regions, added up");
  total[kBarrier] =
      time("omp_barrier_time", "time in which threads of OpenMP wait in barriers, added up");
  total[kIdle] =
      time("omp_idle_time", "time in which threads of OpenMP have no parallel region, added up");
  longest = time("omp_longest_parallel_time",
                 "time of the thread of OpenMP that computes longest in parallel regions");
  count = perfield_quantity_define("omp_threads", "1", PERFIELD_PER_RANK, PERFIELD_STEPS_MAX,
                                   PERFIELD_THREADS_MAX, "threads of OpenMP that the rank has");
}

void count_threads() noexcept {
  static int n_defined = -1;
  static bool is_first = true;
  const int known = n_threads.load(std::memory_order_acquire);
  perfield_own_begin();
  if (n_defined < 0) define_totals(), n_defined = 0;
  for (; n_defined < known && n_defined < kNamedThreads; ++n_defined) define_for(n_defined);
  perfield_own_end();
  const uint64_t now = perfield::now_ns();
  uint64_t most = 0, n_used = 0;
  for (int i = 0; i < known; ++i) {
    Thread& t = threads[i];
    uint64_t times[kStates];
    if (!read_times(t, now, times)) continue;
    uint64_t grown[kStates];
    for (int s = 0; s < kStates; ++s) {
      grown[s] = times[s] > t.reported_ns[s] ? times[s] - t.reported_ns[s] : 0;
      t.reported_ns[s] += grown[s];
    }
    n_used += t.is_used.load(relaxed);
    if (is_first && t.was_early) continue;
    for (int s = 0; s <= kIdle; ++s)
      if (grown[s]) perfield_quantity_add(total[s], grown[s]);
    if (i < kNamedThreads)
      for (int s = kParallel; s <= kBarrier; ++s) perfield_quantity_add(of_thread[i][s], grown[s]);
    if (grown[kParallel] > most) most = grown[kParallel];
  }
  perfield_quantity_add(longest, most);
  perfield_quantity_set(count, n_used);
  is_first = false;
}

void warn_of_other_tool() noexcept {
  perfield_warn_once_per_node(
      "other OMPT tool",
      "this program brings or names an OMPT tool of its own, so perfield leaves the "
      "threads of OpenMP to it; unset OMP_TOOL_LIBRARIES to let perfield see them");
}

// Whether the program file has a tool, which the loader finds before ours, so that ours never
// starts.
bool has_other_tool() noexcept {
  static const char ours = 0;
  void* found = dlsym(RTLD_DEFAULT, "ompt_start_tool");
  Dl_info of_found, of_ours;
  return found && dlsym(RTLD_DEFAULT, "__kmpc_fork_call") && dladdr(found, &of_found) &&
         dladdr(&ours, &of_ours) && of_found.dli_fbase != of_ours.dli_fbase;
}

void before_close() {
  static bool is_warned = false;
  static int n_closes = 0;
  if (is_child.load(relaxed)) return;
  if (is_tool.load(std::memory_order_acquire)) return count_threads();
  // By then the runtime has mostly started: where that other tool declines, it takes ours.
  if (++n_closes == 3 && has_other_tool()) steps_back.store(true, relaxed);
  if (steps_back.load(relaxed)) {
    if (!is_warned) warn_of_other_tool();
    is_warned = true;
    return;
  }
  perfield_own_begin();
  count_cpu_time();
  perfield_own_end();
}

// --- start and end
// --------------------------------------------------------------------------------
int initialize(Lookup lookup, int, Data*) {
  const auto set = reinterpret_cast<SetCallback>(lookup("ompt_set_callback"));
  if (!set) return 0;
  const auto follow = [&](int which, auto* callback) {
    set(which, reinterpret_cast<Callback>(callback));
  };
  follow(kThreadBegin, thread_begin);
  follow(kThreadEnd, thread_end);
  follow(kParallelBegin, parallel_begin);
  follow(kParallelEnd, parallel_end);
  follow(kImplicitTask, implicit_task);
  follow(kSyncRegionWait, sync_region_wait);
  follow(kTaskCreate, task_create);
  follow(kTaskSchedule, task_schedule);
  perfield_source_present(kSource);
  perfield_source_counts_dropped("omp_threads", "threads of OpenMP had no room and are not seen",
                                 &dropped);
  is_tool.store(true, std::memory_order_release);
  return 1;
}

void finalize(Data*) {}  // what was counted stays

// Whether the user names another tool.
bool names_other_tool() noexcept {
  const char* named = getenv("OMP_TOOL_LIBRARIES");
  return named && *named && !strstr(named, "libperfield_ompt.so");
}

__attribute__((constructor)) void announce() {
  pthread_atfork(nullptr, nullptr, [] { is_child.store(true, relaxed); });
  perfield_source_before_close(before_close);
}

}  // namespace
}  // namespace perfield::ompt

// The runtime calls the first ompt_start_tool that the loader finds, ours before that of the
// program's libraries. Runtimes bring one themselves, which only asks the next one.
extern "C" __attribute__((visibility("default"))) perfield::ompt::Tool* ompt_start_tool(
    unsigned version, const char* runtime) {
  using namespace perfield::ompt;
  static Tool tool{initialize, finalize, {0}};
  using Start = Tool* (*)(unsigned, const char*);
  const auto next = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "ompt_start_tool"));
  Dl_info of_next, of_caller;
  const bool is_runtimes = next && dladdr(reinterpret_cast<void*>(next), &of_next) &&
                           dladdr(__builtin_return_address(0), &of_caller) &&
                           of_next.dli_fbase == of_caller.dli_fbase;
  Tool* other = next && !is_runtimes ? next(version, runtime) : nullptr;
  if (!other && !names_other_tool()) return &tool;
  steps_back.store(true, relaxed);
  return other;
}
