/* The cost of entering and leaving an empty function that a tool follows: prints CPU time per pair
 * in nanoseconds, several times. Score-P instruments `chosen` and `other`.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <time.h>

enum { TIMES = 15, PAIRS = 200000 };

__attribute__((noinline)) void chosen(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void other(void) { __asm__ volatile("" ::: "memory"); }

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static void measure(const char* name, void (*function)(void)) {
  for (int n = 0; n < TIMES; ++n) {
    const double begin = cpu_ns();
    for (int i = 0; i < PAIRS; ++i) function();
    printf("%s %.2f\n", name, (cpu_ns() - begin) / PAIRS);
  }
}

int main(void) {
  measure("chosen", chosen);
  measure("other", other);
  return 0;
}
