// SPDX-License-Identifier: BSD-3-Clause
//
// rings.cpp - see rings.hpp. perf_event_open(2) describes the layout of the rings.
#include "sources/sampling/rings.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "recorder/source.h"

namespace perfield::sampling {
namespace {

constexpr int kMostThreads = 1024;
constexpr size_t kPage = 4096;
constexpr size_t kDenseBytes = 32 * kPage, kSparseBytes = 16 * kPage;
constexpr uint32_t kMostFrames = kMostWordsOfSample - 3;
constexpr size_t kLargestRecord = 1024;

struct Ring {
  int descriptor;
  perf_event_mmap_page* page;
  size_t bytes;
};

struct Thread {
  int id;           // 0: free
  uint32_t number;  // 0 is the main one
  bool is_there;
  bool is_sparse;  // take() takes from the sparse ring
  Ring dense, sparse;
};
Thread threads[kMostThreads];
int n_used = 0;  // behind them, none is in use
uint32_t n_numbers = 0;
uint64_t n_unfollowed = 0, n_lost = 0;
int halved = 0;  // sizes of rings, times: an unprivileged user may lock only so much memory

uint64_t head_of(const Ring& ring) noexcept {
  return __atomic_load_n(&ring.page->data_head, __ATOMIC_ACQUIRE);
}
void pass_over(Ring* ring, uint64_t to) noexcept {
  __atomic_store_n(&ring->page->data_tail, to, __ATOMIC_RELEASE);
}
bool has_overflowed(const Ring& ring) noexcept {
  return head_of(ring) - ring.page->data_tail + kLargestRecord > ring.bytes;
}

bool open_ring(Ring* ring, int thread, uint64_t period_ns, size_t bytes) noexcept {
  perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = period_ns;
  attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
  attr.sample_max_stack = kMostFrames;
  attr.exclude_kernel = attr.exclude_hv = attr.exclude_callchain_kernel = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  const auto descriptor =
      int(syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (descriptor < 0) return false;
  for (;; ++halved) {
    const size_t size = bytes >> halved;
    void* place = mmap(nullptr, kPage + size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (place != MAP_FAILED) {
      *ring = {descriptor, static_cast<perf_event_mmap_page*>(place), size};
      return true;
    }
    if (halved >= 3) break;
  }
  const int error = errno;
  close(descriptor);
  errno = error;
  return false;
}

void close_ring(Ring* ring) noexcept {
  munmap(ring->page, kPage + ring->bytes);
  close(ring->descriptor);
}

// 0, or the errno.
int open_rings(Thread* thread, int id, uint64_t period_ns) noexcept {
  if (!open_ring(&thread->dense, id, period_ns, kDenseBytes)) return errno;
  if (!open_ring(&thread->sparse, id, kSparser * period_ns, kSparseBytes)) {
    const int error = errno;
    close_ring(&thread->dense);
    return error;
  }
  thread->id = id;
  thread->number = n_numbers++;
  thread->is_there = true;
  thread->is_sparse = false;
  const auto written = [](const Ring& ring) {
    return reinterpret_cast<const uint64_t*>(&ring.page->data_head);
  };
  const uint64_t* const both[] = {written(thread->dense), written(thread->sparse)};
  perfield_source_samples_begin(id, both);
  return 0;
}

bool is_ours(int id) noexcept {
  char path[64], name[16] = {};
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", id);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t n = read(file, name, sizeof name - 1);
  close(file);
  return n > 0 && !strcmp(name, PERFIELD_OWN_THREAD "\n");
}

int note(int id, uint64_t period_ns) noexcept {
  Thread* free_one = nullptr;
  for (int k = 0; k < n_used; ++k) {
    if (threads[k].id == id) {
      threads[k].is_there = true;
      return 0;
    }
    if (!threads[k].id && !free_one) free_one = &threads[k];
  }
  if (!free_one) free_one = n_used < kMostThreads ? &threads[n_used] : nullptr;
  if (!free_one) return ENOSPC;
  if (is_ours(id)) return 0;
  const int error = open_rings(free_one, id, period_ns);
  if (!error && free_one == &threads[n_used]) ++n_used;
  return error;
}

// Copies out of a ring, whose end may lie in the middle of a record.
void copy(const Ring& ring, uint64_t at, void* to, size_t bytes) noexcept {
  const size_t place = at % ring.bytes,
               first = bytes < ring.bytes - place ? bytes : ring.bytes - place;
  const auto* const data = reinterpret_cast<const unsigned char*>(ring.page) + kPage;
  memcpy(to, data + place, first);
  memcpy(static_cast<unsigned char*>(to) + first, data, bytes - first);
}

// The words of a sample; 0 if it is none, or not whole.
size_t words_of(const Ring& ring, const Thread& thread, uint64_t at, size_t bytes,
                uint64_t* words) noexcept {
  uint64_t about[2];  // time, addresses
  if (bytes < sizeof about) return 0;
  copy(ring, at, about, sizeof about);
  if (about[1] > (bytes - sizeof about) / sizeof(uint64_t)) return 0;
  uint64_t frames[kMostFrames];
  const size_t n = about[1] < kMostFrames ? about[1] : kMostFrames;
  copy(ring, at + sizeof about, frames, n * sizeof *frames);
  size_t depth = 0;
  for (size_t k = 0; k < n; ++k)  // the largest numbers say whose addresses follow
    if (frames[k] < PERF_CONTEXT_MAX) words[3 + depth++] = frames[k];
  if (!depth) return 0;
  words[0] = about[0];
  words[1] = uint64_t(thread.number) << 32 | depth;
  words[2] = perfield_source_sample_region(thread.id, thread.is_sparse, at + bytes);
  return 3 + depth;
}

size_t take_from(Thread* thread, uint64_t* words, size_t most, uint64_t* lost) noexcept {
  Ring* const ring = thread->is_sparse ? &thread->sparse : &thread->dense;
  const uint64_t head = head_of(*ring);
  uint64_t tail = ring->page->data_tail;
  size_t n = 0;
  while (tail < head && n + kMostWordsOfSample <= most) {
    perf_event_header header;
    copy(*ring, tail, &header, sizeof header);
    if (header.size < sizeof header || header.size > head - tail) {
      tail = head;  // never seen; nothing behind it can be read
      break;
    }
    const uint64_t body = tail + sizeof header;
    if (header.type == PERF_RECORD_SAMPLE) {
      n += words_of(*ring, *thread, body, header.size - sizeof header, words + n);
    } else if (header.type == PERF_RECORD_LOST && header.size >= sizeof header + 16) {
      uint64_t about[2];  // id, count
      copy(*ring, body, about, sizeof about);
      *lost += about[1];
    }
    tail += header.size;
  }
  pass_over(ring, tail);
  return n;
}

}  // namespace

bool follow_threads(uint64_t period_ns, int* error) noexcept {
  static int directory = -2;  // -2: not yet opened
  if (directory == -2) directory = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    *error = errno;
    return n_used > 0;
  }
  for (int k = 0; k < n_used; ++k) threads[k].is_there = false;
  alignas(dirent64) char room[4096];
  lseek(directory, 0, SEEK_SET);
  for (ssize_t n; (n = syscall(SYS_getdents64, directory, room, sizeof room)) > 0;)
    for (ssize_t at = 0; at < n;) {
      const auto* entry = reinterpret_cast<const dirent64*>(room + at);
      at += entry->d_reclen;
      const int id = atoi(entry->d_name);
      if (!id) continue;
      const int refused = note(id, period_ns);
      if (!refused || refused == ESRCH) continue;  // ESRCH: it has just ended
      ++n_unfollowed;
      *error = refused;
      if (!n_used) return false;
    }
  for (int k = 0; k < n_used; ++k) {
    Thread& thread = threads[k];
    if (!thread.id || thread.is_there || head_of(thread.dense) != thread.dense.page->data_tail)
      continue;
    perfield_source_samples_end(thread.id);
    close_ring(&thread.dense);
    close_ring(&thread.sparse);
    thread.id = 0;
  }
  return true;
}

void set_period(uint64_t period_ns) noexcept {
  uint64_t sparser_ns = kSparser * period_ns;
  for (int k = 0; k < n_used; ++k)
    if (threads[k].id) {
      ioctl(threads[k].dense.descriptor, PERF_EVENT_IOC_PERIOD, &period_ns);
      ioctl(threads[k].sparse.descriptor, PERF_EVENT_IOC_PERIOD, &sparser_ns);
    }
}

bool choose_rings() noexcept {
  bool any = false;
  for (int k = 0; k < n_used; ++k) {
    Thread& thread = threads[k];
    if (!thread.id) continue;
    thread.is_sparse = has_overflowed(thread.dense);
    any = any || thread.is_sparse;
    // The other ring saw the same time.
    Ring& other = thread.is_sparse ? thread.dense : thread.sparse;
    pass_over(&other, head_of(other));
  }
  return any;
}

size_t take(bool is_sparse, uint64_t* words, size_t most) noexcept {
  size_t n = 0;
  uint64_t of_dense = 0;
  for (int k = 0; k < n_used && n + kMostWordsOfSample <= most; ++k) {
    Thread& thread = threads[k];
    if (!thread.id || thread.is_sparse != is_sparse) continue;
    n += take_from(&thread, words + n, most - n, is_sparse ? &n_lost : &of_dense);
  }
  return n;
}

uint64_t lost() noexcept {
  const uint64_t since = n_lost;
  n_lost = 0;
  return since;
}

uint64_t unfollowed() noexcept { return n_unfollowed; }

}  // namespace perfield::sampling
