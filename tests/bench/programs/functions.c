/* SPDX-License-Identifier: BSD-3-Clause
 *
 * functions.c - the cost of the hooks of -finstrument-functions. Prints one number per repetition:
 * ns per call of an empty function with both its hooks. The other function, `chosen`, can be a
 * region. `functions WHAT N` calls the first N times, to count the instructions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRepetitions = 41, kCalls = 1000000 };

#define UNSEEN __attribute__((no_instrument_function))

__attribute__((noinline)) void nothing(void) { __asm__ volatile(""); }
__attribute__((noinline)) void chosen(void) { __asm__ volatile(""); }

UNSEEN static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

UNSEEN int main(int argc, char** argv) {
  chosen();
  if (argc > 2) {
    for (int i = atoi(argv[2]); i > 0; i--) nothing();
    return 0;
  }
  for (int repetition = 0; repetition < kRepetitions; repetition++) {
    double begin = now_ns();
    for (int i = 0; i < kCalls; i++) nothing();
    printf("%.3f\n", (now_ns() - begin) / kCalls);
  }
  return 0;
}
