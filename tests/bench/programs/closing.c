/* SPDX-License-Identifier: BSD-3-Clause
 *
 * closing.c - what closing a step costs: `closing THREADS REGIONS PARTNERS BUSY ENTERED MET
 * [STEPS]`. Each of THREADS threads has entered REGIONS regions, and rank 0 has sent to PARTNERS
 * partners by two calls. In each step, BUSY threads enter ENTERED regions, and MET partners get a
 * message. Prints the CPU time of perfield_step, in ns, one number per repetition; with STEPS,
 * closes so many steps only, whose instructions a tool counts.
 */
#include <mpi.h>
#include <perfield.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { kRepetitions = 21, kSteps = 20, kMost = 1000 };

struct entered {
  uint64_t stamp, after;
};
struct entered perfield_call_enter(uint16_t, const void*, const void*) __attribute__((weak));
void perfield_call_exit(uint16_t, uint64_t, uint64_t) __attribute__((weak));
struct message_id {
  uint32_t channel, number;
};
uint64_t perfield_msg_send_blocking(uint16_t, int32_t, uint64_t, uint64_t, uint64_t,
                                    struct message_id) __attribute__((weak));

static int threads, regions, partners, busy, entered, met;
static perfield_region region[kMost];
static pthread_barrier_t known, begins, ends;

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void enter(int first, int n) {
  for (int i = first; i < first + n; i++) {
    perfield_region_begin(region[i % regions]);
    perfield_region_end(region[i % regions]);
  }
}

/* Calls 1 and 2 stand for any two that send. Messages have stamps and numbers, as those of MPI. */
static void send(int first, int n) {
  static uint32_t number;
  if (!perfield_msg_send_blocking) return;
  number++;
  for (uint16_t call = 1; call <= 2; call++) {
    const struct entered now = perfield_call_enter(call, 0, 0);
    for (int i = first; i < first + n; i++)
      perfield_msg_send_blocking(call, 1 + i * 157 % partners, 8, now.stamp, 0,
                                 (struct message_id){call, number});
    perfield_call_exit(call, now.stamp, 0);
  }
}

/* The threads beside the first one; those that are not busy only live. */
static void* thread(void* number) {
  const int mine = (int)(intptr_t)number;
  enter(0, regions);
  pthread_barrier_wait(&known);
  while (mine < busy) {
    pthread_barrier_wait(&begins);
    enter(mine, entered);
    pthread_barrier_wait(&ends);
  }
  for (;;) pause();
}

static double close_steps(int n, int64_t* label) {
  double spent = 0;
  for (int step = 0; step < n; step++) {
    pthread_barrier_wait(&begins);
    enter(0, entered);
    if (met) send(0, met / 2);
    pthread_barrier_wait(&ends);
    const double begin = cpu_ns();
    perfield_step((*label)++, 0.0);
    spent += cpu_ns() - begin;
  }
  return spent / n;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 7) return 1;
  int* const sizes[] = {&threads, &regions, &partners, &busy, &entered, &met};
  for (int i = 0; i < 6; i++) *sizes[i] = atoi(argv[1 + i]);
  for (int i = 0; i < regions; i++) {
    char name[32];
    snprintf(name, sizeof name, "region %d", i);
    region[i] = perfield_region_define(name, __FILE__, __LINE__);
  }
  pthread_barrier_init(&begins, 0, (unsigned)busy);
  pthread_barrier_init(&ends, 0, (unsigned)busy);
  pthread_barrier_init(&known, 0, (unsigned)threads);
  for (int i = 1; i < threads; i++) {
    pthread_t started;
    pthread_create(&started, 0, thread, (void*)(intptr_t)i);
  }
  enter(0, regions);
  if (partners) send(0, partners);
  pthread_barrier_wait(&known);
  int64_t label = 0;
  perfield_step(label++, 0.0);
  if (argc > 7) {
    close_steps(atoi(argv[7]), &label);
  } else {
    close_steps(kSteps, &label); /* warms up */
    for (int i = 0; i < kRepetitions; i++) printf("%.1f\n", close_steps(kSteps, &label));
  }
  MPI_Finalize();
  return 0;
}
