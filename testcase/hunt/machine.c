// SPDX-License-Identifier: BSD-3-Clause
//
// machine - a library to preload, so that a plant is the same on any machine:
// - Writing to files named *.out takes as long as on a disk of 10 MB/s.
// - Ranks that wait in MPI sleep in short naps. They would keep the cores busy otherwise, and with
// more
//   ranks than cores others would compute late. Open MPI calls sched_yield while it waits.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double bytes_per_second = 1e7;
enum { kYields = 20, kNapNs = 50000, kBusyNs = 100000 };

static void sleep_for(double seconds) {
  struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
}

ssize_t write(int file, const void* bytes, size_t count) {
  static ssize_t (*next)(int, const void*, size_t);
  if (!next) next = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  const ssize_t written = next(file, bytes, count);
  if (written < 4096) return written;
  char link[40], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, name, sizeof name);
  if (length >= 4 && memcmp(name + length - 4, ".out", 4) == 0)
    sleep_for((double)written / bytes_per_second);
  return written;
}

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// The first calls in a row yield, so that messages that come soon are not late.
int sched_yield(void) {
  static int (*next)(void);
  static __thread long long last;
  static __thread int in_a_row;
  if (!next) next = (int (*)(void))dlsym(RTLD_NEXT, "sched_yield");
  if (now_ns() - last > kBusyNs) in_a_row = 0;
  const int status = ++in_a_row > kYields ? nanosleep(&(struct timespec){0, kNapNs}, NULL) : next();
  last = now_ns();
  return status;
}
