// SPDX-License-Identifier: BSD-3-Clause
//
// slow_disk - a library to preload: writing to files named *.out takes as long as on a disk of 10
// MB/s, whatever this machine's disk is. So the time that the hunt plants in output holds
// everywhere.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double bytes_per_second = 1e7;

ssize_t write(int file, const void* bytes, size_t count) {
  static ssize_t (*next)(int, const void*, size_t);
  if (!next) next = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  const ssize_t written = next(file, bytes, count);
  if (written < 4096) return written;
  char link[40], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, name, sizeof name);
  if (length < 4 || memcmp(name + length - 4, ".out", 4) != 0) return written;
  const double seconds = (double)written / bytes_per_second;
  struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
  return written;
}
