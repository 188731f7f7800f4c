// SPDX-License-Identifier: BSD-3-Clause
//
// pages.h - memory of a given number of pages; the first touch of each is a page fault.
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
static char* pages(long n) {
  char* memory = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, n * 4096, MADV_NOHUGEPAGE);
  return memory;
}
static void touch(char* memory, long from, long to) {
  for (long i = from; i < to; ++i) ((volatile char*)memory)[i * 4096] = 1;
}
