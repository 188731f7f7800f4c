// SPDX-License-Identifier: BSD-3-Clause
//
// kernel_counters.cpp - see kernel_counters.hpp. Makes system calls directly, so that a wrapper
// that counts the program's read() does not see them. Uses high descriptors, so that a program that
// closes all its descriptors and opens files again does not collide with them.
#include "recorder/kernel_counters.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "recorder/counters.hpp"

namespace perfield {
namespace {

constexpr long kPageBytes = 4096;  // mappings are made of whole pages
constexpr int kHighestWanted = 2000;

std::mutex changing;  // guards opening and closing against another thread's read
std::atomic<int> descriptors{0};
std::atomic<uint64_t> refused{0};

int most_descriptors() noexcept {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return int(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
}

void close_descriptor(int descriptor) noexcept { syscall(SYS_close, descriptor); }

// Returns a descriptor, or -1 with errno set. leader: the first event of a group, or -1.
int open_event(const KernelEvent& event, bool user_mode_only, int leader) noexcept {
  perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.number;
  attributes.exclude_kernel = user_mode_only;
  attributes.exclude_hv = 1;
  attributes.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return int(syscall(SYS_perf_event_open, &attributes, 0, -1, leader, PERF_FLAG_FD_CLOEXEC));
}

int raised(int descriptor) noexcept {
  const int wanted = std::min(most_descriptors() / 2, kHighestWanted);
  const auto high = int(syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, wanted));
  if (high < 0) return descriptor;
  close_descriptor(descriptor);
  return high;
}

uint64_t scaled(uint64_t value, uint64_t enabled, uint64_t running) noexcept {
  if (running >= enabled) return value;
  return running ? uint64_t(double(value) * (double(enabled) / double(running))) : 0;
}

// Follows the kernel's header. Returns false where the event is in no register just now.
bool read_register(const perf_event_mmap_page* page, uint64_t* value) noexcept {
#if defined(__x86_64__)
  for (int attempt = 0; attempt < 8; ++attempt) {
    const uint32_t before = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
    const uint32_t index = page->index;
    if (!page->cap_user_rdpmc || !index || page->time_enabled != page->time_running) return false;
    const int unused_bits = 64 - page->pmc_width;
    const int64_t offset = page->offset;
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index - 1));
    const uint64_t raw = (uint64_t(high) << 32 | low) << unused_bits;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&page->lock, __ATOMIC_RELAXED) != before) continue;
    *value = uint64_t(offset + (int64_t(raw) >> unused_bits));
    return true;
  }
#else
  (void)page;
  (void)value;
#endif
  return false;
}

}  // namespace

int KernelCounters::try_out(const KernelEvent& event, bool* user_mode_only) noexcept {
  *user_mode_only = false;
  int descriptor = open_event(event, false, -1);
  if (descriptor < 0 && (errno == EACCES || errno == EPERM) && !event.needs_kernel) {
    *user_mode_only = true;
    descriptor = open_event(event, true, -1);
  }
  if (descriptor < 0) return errno;
  close_descriptor(descriptor);
  return 0;
}

uint64_t KernelCounters::refused_threads() noexcept { return refused.load(); }

bool KernelCounters::add(const KernelEvent& event, bool user_mode_only, int number) noexcept {
  int descriptor = -1;
  if (n_groups_ > 0)
    descriptor =
        open_event(event, user_mode_only, events_[groups_[n_groups_ - 1].first].descriptor);
  const bool joins = descriptor >= 0;
  if (!joins) descriptor = open_event(event, user_mode_only, -1);  // more events than registers
  if (descriptor < 0) return false;
  descriptor = raised(descriptor);
  if (!joins) groups_[n_groups_++] = {n_events_, n_events_};
  events_[n_events_++] = {descriptor, number, nullptr};
  groups_[n_groups_ - 1].end = n_events_;
  return true;
}

void KernelCounters::open(const Counters& counters) noexcept {
  is_open_ = true;  // also on failure: it would fail again
  const int wanted = counters.size();
  if (!wanted) return;
  if (descriptors.fetch_add(wanted) + wanted > most_descriptors() / 4) {
    descriptors.fetch_sub(wanted);
    refused.fetch_add(1);
    return;
  }
  const int before = errno;
  std::lock_guard<std::mutex> lock(changing);
  for (int i = 0; i < wanted; ++i) add(counters[i].event, counters[i].user_mode_only, i);
  descriptors.fetch_sub(wanted - n_events_);
  by_registers_ = n_events_ > 0;
  for (int i = 0; i < n_events_ && by_registers_; ++i) {
    void* page = mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, events_[i].descriptor, 0);
    by_registers_ = page != MAP_FAILED;
    if (by_registers_) events_[i].page = static_cast<perf_event_mmap_page*>(page);
  }
  uint64_t values[kMostChosenCounters];
  by_registers_ = by_registers_ && read_registers(values);
  for (int i = 0; i < n_events_ && !by_registers_; ++i) {
    if (events_[i].page) munmap(events_[i].page, kPageBytes);
    events_[i].page = nullptr;
  }
  errno = before;
}

void KernelCounters::close() noexcept {
  std::lock_guard<std::mutex> lock(changing);
  for (int i = 0; i < n_events_; ++i) {
    if (events_[i].page) munmap(events_[i].page, kPageBytes);
    close_descriptor(events_[i].descriptor);
  }
  descriptors.fetch_sub(n_events_);
  n_events_ = n_groups_ = 0;
  is_open_ = by_registers_ = false;
}

bool KernelCounters::read_registers(uint64_t* values) const noexcept {
  for (int i = 0; i < n_events_; ++i)
    if (!read_register(events_[i].page, &values[events_[i].number])) return false;
  return true;
}

void KernelCounters::read_groups(uint64_t* values) noexcept {
  const int before = errno;
  for (int g = 0; g < n_groups_; ++g) {
    const Group& group = groups_[g];
    struct {
      uint64_t events, enabled, running, values[kMostChosenCounters];
    } found;
    const size_t bytes = sizeof(uint64_t) * size_t(3 + group.end - group.first);
    const long n = syscall(SYS_read, events_[group.first].descriptor, &found, bytes);
    if (n != long(bytes)) continue;
    if (found.running < found.enabled) shared_.store(true, std::memory_order_relaxed);
    for (int i = group.first; i < group.end; ++i)
      values[events_[i].number] =
          scaled(found.values[i - group.first], found.enabled, found.running);
  }
  errno = before;
}

void KernelCounters::read(uint64_t* values) noexcept {
  if (by_registers_ && read_registers(values)) return;
  if (n_events_) read_groups(values);
}

void KernelCounters::read_from_outside(uint64_t* values) noexcept {
  std::lock_guard<std::mutex> lock(changing);
  read_groups(values);
}

}  // namespace perfield
