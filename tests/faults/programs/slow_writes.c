// SPDX-License-Identifier: BSD-3-Clause
//
// slow_writes.c - to preload: a write to a stream takes 3 ms, as on a busy network file system.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t write(int file, const void* bytes, size_t n) {
  if (n > 8 && !memcmp(bytes, "\xF1pfentr\n", 8)) usleep(3000);
  return syscall(SYS_write, file, bytes, n);
}
