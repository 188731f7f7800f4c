// SPDX-License-Identifier: BSD-3-Clause
//
// steps.cpp - a program for another processor: steps, regions, threads and calls that look like
// those of MPI, from places that only their callers distinguish. Prints CLOCK_MONOTONIC in
// nanoseconds right before and right after each step was closed. With an argument it makes calls
// and closes no step.
#include <pthread.h>
#include <time.h>

#include <cstdint>
#include <cstdio>

#define PERFIELD_BUILDING_LIBRARY 1
#include "include/perfield.h"
#include "recorder/source.h"

static int64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

static void work(double ms) {
  const int64_t end = monotonic_ns() + int64_t(ms * 1e6);
  while (monotonic_ns() < end) {
  }
}

// As a wrapper of MPI does it.
__attribute__((noinline)) static void allreduce() {
  const perfield_entered entered = perfield_call_enter(
      PERFIELD_CALL_allreduce, __builtin_return_address(0), __builtin_frame_address(0));
  if (entered.stamp) perfield_call_exit_bytes(PERFIELD_CALL_allreduce, entered.stamp, 0, 8, 8);
  perfield_call_after(entered.after);
}

__attribute__((noinline)) static void sum_up(volatile int* times) {
  for (int i = 0; i < *times; ++i) allreduce();
  *times += 0;
}
__attribute__((noinline)) static void norm(volatile int* times) {
  sum_up(times);
  *times += 0;
}
__attribute__((noinline)) static void dot(volatile int* times) {
  sum_up(times);
  *times += 0;
}

static void* on_thread(void*) {
  for (int i = 0; i < 100; ++i) {
    perfield_begin("threads");
    perfield_end("threads");
  }
  return nullptr;
}

int main(int argc, char**) {
  perfield_source_present("pmpi");
  perfield_source_start(0, 1, argc > 1 ? "a stand-in" : "");
  perfield_initialize();
  long long before[5], after[5];
  for (int step = 0; step < 5; ++step) {
    perfield_begin("work");
    work(20);
    perfield_end("work");
    FILE* file = fopen("out", "w");
    fwrite("0123456789", 1, 10, file);
    fclose(file);
    pthread_t threads[3];
    for (pthread_t& thread : threads) pthread_create(&thread, nullptr, on_thread, nullptr);
    for (pthread_t& thread : threads) pthread_join(thread, nullptr);
    if (argc > 1) {
      volatile int twice = 2, once = 1;
      norm(&twice);
      dot(&once);
    } else {
      before[step] = monotonic_ns();
      perfield_step(step, step * 0.5);
      after[step] = monotonic_ns();
    }
  }
  perfield_finalize();
  for (int step = 0; step < 5 && argc == 1; ++step)
    printf("%lld %lld\n", before[step], after[step]);
  return 0;
}
