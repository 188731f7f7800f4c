/* A program of 100,000 functions f0, f1, ...: many_functions ROUNDS [LEFT_OUT]
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls the hooks of -finstrument-functions as each function would, from the last function to the
 * first, except those whose last digit is LEFT_OUT. Prints each round's nanoseconds per hook. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FUNCTIONS = 100000, SIZE = 16 };

__asm__(
    ".text\n"
    ".altmacro\n"
    ".macro function number\n"
    ".balign 16\n"
    ".type f\\number, @function\n"
    "f\\number:\n"
    "nop\n"
    ".endm\n"
    ".balign 16\n"
    "first_function:\n"
    ".set number, 0\n"
    ".rept 100000\n"
    "function %number\n"
    ".set number, number + 1\n"
    ".endr\n");

extern char first_function[];
void __cyg_profile_func_enter(void* function, void* caller);
void __cyg_profile_func_exit(void* function, void* caller);

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1, left_out = argc > 2 ? atoi(argv[2]) : -1;
  for (int round = 0; round < rounds; ++round) {
    const double begin = now_ns();
    long hooks = 0;
    for (int i = FUNCTIONS - 1; i >= 0; --i) {
      if (i % 10 == left_out) continue;
      __cyg_profile_func_enter(first_function + (long)SIZE * i, NULL);
      __cyg_profile_func_exit(first_function + (long)SIZE * i, NULL);
      hooks += 2;
    }
    printf("%.3f\n", (now_ns() - begin) / hooks);
  }
  return 0;
}
