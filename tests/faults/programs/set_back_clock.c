// SPDX-License-Identifier: BSD-3-Clause
//
// set_back_clock.c - to preload: set_clock_back(seconds) sets the clock of this process back, as an
// administrator or NTP sets that of the machine. CLOCK_MONOTONIC goes on.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic long behind_s;

void set_clock_back(double seconds) { behind_s += (long)seconds; }

int clock_gettime(clockid_t id, struct timespec* t) {
  int result = (int)syscall(SYS_clock_gettime, id, t);
  if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) t->tv_sec -= behind_s;
  return result;
}

int gettimeofday(struct timeval* restrict t, void* restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}
