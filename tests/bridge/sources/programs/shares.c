/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shares - `shares STEPS LIBRARY [thread|relay|whole]`: computes with known shares in functions. Of
 * the main thread, cheap has 10 % of the turns, middle 30 % (inlined into work) and costly 60 %; a
 * second thread spends as much in beside; with `relay`, a third one in relayed, which begins when
 * the second one ends, after half of the steps; `plugged` of LIBRARY, opened after three steps,
 * takes as long as costly from then on; with `whole`, it has the second thread and closes no step.
 * At the end it prints the CPU time in s that its thread spent in cheap, middle and costly, since
 * turns last longer on a core that others use, too.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <perfield.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "spin.h"

static volatile int ends;

static __attribute__((noinline)) void cheap(void) { SPIN(1 * kUnit); }
static inline __attribute__((always_inline)) void middle(void) { SPIN(3 * kUnit); }
static __attribute__((noinline)) void costly(void) { SPIN(6 * kUnit); }
static double spent[3];
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static __attribute__((noinline)) void work(void) {
  const double begin = now();
  cheap();
  const double after_cheap = now();
  middle();
  const double after_middle = now();
  costly();
  spent[0] += after_cheap - begin;
  spent[1] += after_middle - after_cheap;
  spent[2] += now() - after_middle;
}

static __attribute__((noinline)) void beside(void) { SPIN(kUnit); }
static void* second(void* unused) {
  (void)unused;
  while (!ends) beside();
  return NULL;
}
static __attribute__((noinline)) void relayed(void) { SPIN(kUnit); }
static void* third(void* unused) {
  (void)unused;
  while (!ends) relayed();
  return NULL;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int steps = argc > 1 ? atoi(argv[1]) : 10;
  const char* library = argc > 2 ? argv[2] : "";
  const char* how = argc > 3 ? argv[3] : "";
  const int with_relay = !strcmp(how, "relay"), has_steps = strcmp(how, "whole") != 0;
  const int with_thread = *how != 0;
  void (*plugged)(long) = NULL;
  pthread_t thread;
  if (has_steps) perfield_initialize();
  if (with_thread) pthread_create(&thread, NULL, second, NULL);
  for (int step = 0; step < steps; step++) {
    if (step == 3 && *library) {
      void* opened = dlopen(library, RTLD_NOW);
      if (!opened) MPI_Abort(MPI_COMM_WORLD, 1);
      *(void**)&plugged = dlsym(opened, "plugged");
    }
    if (with_relay && step == steps / 2) {
      ends = 1;
      pthread_join(thread, NULL);
      ends = 0;
      pthread_create(&thread, NULL, third, NULL);
    }
    work();
    if (plugged) plugged(6 * kUnit);
    if (has_steps) perfield_step(step, step);
  }
  ends = 1;
  if (with_thread) pthread_join(thread, NULL);
  printf("spent %.6f %.6f %.6f\n", spent[0], spent[1], spent[2]);
  MPI_Finalize();
  return 0;
}
