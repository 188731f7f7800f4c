/* SPDX-License-Identifier: BSD-3-Clause
 *
 * no_samples - preloaded: a kernel that refuses perf_event_open with the errno in NO_SAMPLES.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>

long syscall(long number, ...) {
  long a[6];
  va_list list;
  va_start(list, number);
  for (int k = 0; k < 6; k++) a[k] = va_arg(list, long);
  va_end(list);
  if (number == SYS_perf_event_open) {
    errno = atoi(getenv("NO_SAMPLES"));
    return -1;
  }
  long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
