// SPDX-License-Identifier: BSD-3-Clause
//
// fakenode.c - a preloaded library that gives a process the clocks of another node, and a boot id.
// FAKE_CLOCK="SHIFT DRIFT REALTIME" moves CLOCK_MONOTONIC by SHIFT ns, and by DRIFT ns per second
// since the machine's start, and CLOCK_REALTIME by REALTIME ns. With FAKE_NODE_PER_RANK every rank
// is a node of its own to perfield, not to MPI: rank r has a shift of r s and a drift of
// (r % 7 - 3) * 10,000. FAKE_NODE_NUMBER=7 is the same for node 7, whose host is n0007. Does
// nothing without these variables.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long shift_ns, drift_ppb, realtime_ns;
static int fake, own_node = -1;
static const char* node;

__attribute__((constructor)) static void start(void) {
  const char* text = getenv("FAKE_CLOCK");
  fake = text && sscanf(text, "%lld %lld %lld", &shift_ns, &drift_ppb, &realtime_ns) >= 2;
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) rank = getenv("PMI_RANK");
  node = getenv("FAKE_NODE_NUMBER");
  if (!node && (!rank || !getenv("FAKE_NODE_PER_RANK"))) return;
  fake = 1;
  own_node = atoi(node ? node : rank);
  shift_ns = own_node * 1000000000LL;
  drift_ppb = (own_node % 7 - 3) * 10000;
}

int clock_gettime(clockid_t id, struct timespec* t) {
  const int result = (int)syscall(SYS_clock_gettime, id, t);
  if (result || !fake || (id != CLOCK_MONOTONIC && id != CLOCK_REALTIME)) return result;
  const long long ns = t->tv_sec * 1000000000LL + t->tv_nsec;
  const long long drifted = (long long)((__int128)ns * drift_ppb / 1000000000);
  const long long moved = ns + (id == CLOCK_MONOTONIC ? shift_ns + drifted : realtime_ns);
  t->tv_sec = moved / 1000000000;
  t->tv_nsec = moved % 1000000000;
  return 0;
}

int gethostname(char* name, size_t bytes) {
  static int (*real)(char*, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "gethostname");
  if (!node) return real(name, bytes);
  snprintf(name, bytes, "n%04d", own_node);
  return 0;
}

static int file_with(const char* format, int number) {
  const int file = memfd_create("fake", MFD_CLOEXEC);
  dprintf(file, format, number);
  lseek(file, 0, SEEK_SET);
  return file;
}

static int is_perfield(const void* caller) {
  Dl_info of;
  return dladdr(caller, &of) && strstr(of.dli_fname, "libperfield");
}

static int is_boot_id(const char* path) {
  return own_node >= 0 && !strcmp(path, "/proc/sys/kernel/random/boot_id");
}

FILE* fopen64(const char* path, const char* mode) {
  static FILE* (*real)(const char*, const char*);
  if (!real) real = dlsym(RTLD_NEXT, "fopen64");
  if (!is_boot_id(path)) return real(path, mode);
  return fdopen(file_with("%08d-0000-4000-8000-000000000000\n", own_node), "r");
}

int open(const char* path, int flags, ...) {
  static int (*real)(const char*, int, ...);
  if (!real) real = dlsym(RTLD_NEXT, "open");
  if (is_perfield(__builtin_return_address(0)) && is_boot_id(path))
    return file_with("%08d-0000-4000-8000-000000000000\n", own_node);
  va_list rest;
  va_start(rest, flags);
  const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
  va_end(rest);
  return real(path, flags, mode);
}
