/* SPDX-License-Identifier: BSD-3-Clause
 *
 * events.c - what one event costs: `events WHAT [N]`, WHAT being regions, paths, unguessed,
 * quantities, calls, tests, probes, messages, sendrecv, requests, open_sends, epochs, locks, steps,
 * memory, clock-tsc or clock-monotonic. Rank 0 prints one number per repetition: nanoseconds per
 * event (memory: bytes). Run bare and under perfield, the difference is perfield's share. With N,
 * it makes N iterations once, whose instructions a tool counts.
 */
#include <mpi.h>
#include <perfield.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kRepetitions = 41, kRegions = 10, kSteps = 20 };
static int n_events = 100000, n_exchanges = 10000;

static double now_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

uint32_t perfield_quantity_define(const char*, const char*, uint8_t, uint8_t, uint8_t, const char*)
    __attribute__((weak));
void perfield_quantity_add(uint32_t, uint64_t) __attribute__((weak));

/* Adding to a quantity of the innermost region and to one of the rank, in turn; of one addition. */
static double quantities(perfield_region region) {
  static uint32_t inside, of_rank;
  if (!perfield_quantity_define) return 0;
  if (!inside) inside = perfield_quantity_define("bench", "1", 0, 0, 0, "");
  if (!of_rank) of_rank = perfield_quantity_define("bench", "1", 1, 0, 0, "");
  perfield_region_begin(region);
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_events; i++) {
    perfield_quantity_add(inside, 8);
    perfield_quantity_add(of_rank, 8);
  }
  const double spent = now_ns(CLOCK_MONOTONIC) - begin;
  perfield_region_end(region);
  return spent / n_events / 2;
}

static double regions(perfield_region region) {
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_events; i++) {
    perfield_region_begin(region);
    perfield_region_end(region);
  }
  return (now_ns(CLOCK_MONOTONIC) - begin) / n_events;
}

/* A region inside two others in turn; of one pair of events. */
static double paths(const perfield_region* region) {
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_events; i += 4)
    for (int outer = 0; outer < 2; outer++) {
      perfield_region_begin(region[outer]);
      perfield_region_begin(region[2]);
      perfield_region_end(region[2]);
      perfield_region_end(region[outer]);
    }
  return (now_ns(CLOCK_MONOTONIC) - begin) / n_events;
}

/* Regions inside another one, so that what follows one is never what followed it last time. */
static double unguessed(const perfield_region* region) {
  perfield_region_begin(region[0]);
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_events; i++) {
    const perfield_region next = region[i % 2 ? 1 : 2 + i / 2 % 3];
    perfield_region_begin(next);
    perfield_region_end(next);
  }
  const double spent = now_ns(CLOCK_MONOTONIC) - begin;
  perfield_region_end(region[0]);
  return spent / n_events;
}

/* The cheapest counted call: nearly all its time is the wrapper's. */
static double calls(void) {
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_events; i++) {
    MPI_Request none = MPI_REQUEST_NULL;
    int done;
    MPI_Test(&none, &done, MPI_STATUS_IGNORE);
  }
  return (now_ns(CLOCK_MONOTONIC) - begin) / n_events;
}

/* Tests of a receive whose message has not come, or probes for it. */
static double polls(int probes) {
  MPI_Request request;
  int out = 1, in = 0, done;
  MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_exchanges; i++)
    if (probes)
      MPI_Iprobe(0, 2, MPI_COMM_SELF, &done, MPI_STATUS_IGNORE);
    else
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  const double spent = now_ns(CLOCK_MONOTONIC) - begin;
  MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return spent / n_exchanges;
}

/* Messages to oneself, each a receive, a send and a wait; returns the time per call. */
static double messages(void) {
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_exchanges; i++) {
    double out = i, in = 0;
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(&out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return (now_ns(CLOCK_MONOTONIC) - begin) / (n_exchanges * 3);
}

/* Both messages of an exchange with oneself in one call. */
static double sendrecv(void) {
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_exchanges; i++) {
    double out = i, in = 0;
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, 0, 0, &in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
  }
  return (now_ns(CLOCK_MONOTONIC) - begin) / n_exchanges;
}

/* The same with a request for each message; returns the time of an exchange. */
static double requests(void) {
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_exchanges; i++) {
    double out = i, in = 0;
    MPI_Request request[2];
    MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request[0]);
    MPI_Isend(&out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  }
  return (now_ns(CLOCK_MONOTONIC) - begin) / n_exchanges;
}

/* The same where the send's request is open until the Waitall. */
static double open_sends(void) {
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_exchanges; i++) {
    double out = i, in = 0;
    MPI_Request request[2];
    MPI_Issend(&out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request[0]);
    MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  }
  return (now_ns(CLOCK_MONOTONIC) - begin) / n_exchanges;
}

/* A window of this rank alone, which is never freed. */
static MPI_Win own_window(void) {
  static MPI_Win window = MPI_WIN_NULL;
  static double* memory;
  if (window == MPI_WIN_NULL)
    MPI_Win_allocate(sizeof(double), 1, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &window);
  return window;
}

/* An epoch with oneself as origin and target: four calls; returns the time of all. */
static double epochs(void) {
  MPI_Win window = own_window();
  MPI_Group group;
  MPI_Win_get_group(window, &group);
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_exchanges; i++) {
    MPI_Win_post(group, 0, window);
    MPI_Win_start(group, 0, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
  }
  return (now_ns(CLOCK_MONOTONIC) - begin) / n_exchanges;
}

/* A lock of the own window, and its unlock; returns the time of both. */
static double locks(void) {
  MPI_Win window = own_window();
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_exchanges; i++) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Win_unlock(0, window);
  }
  return (now_ns(CLOCK_MONOTONIC) - begin) / n_exchanges;
}

/* CPU time of closing a step: rank 0 entered kRegions regions and sent to every other rank. The
 * others only receive. */
static double steps(int rank, int size, const perfield_region* region, int64_t* label) {
  double spent = 0;
  for (int step = 0; step < kSteps; step++) {
    for (int i = 0; i < kRegions; i++) {
      perfield_region_begin(region[i]);
      perfield_region_end(region[i]);
    }
    double word = 0;
    for (int peer = 1; peer < size && rank == 0; peer++)
      MPI_Send(&word, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD);
    if (rank > 0) MPI_Recv(&word, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
    perfield_step((*label)++, 0.0);
    spent += now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
  }
  return spent / kSteps;
}

/* Two clock reads, as in every event. */
static double tsc_reads(void) {
  volatile unsigned long long sink = 0;
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_events; i++) {
#if defined(__x86_64__)
    sink = __builtin_ia32_rdtsc();
    sink = __builtin_ia32_rdtsc();
#endif
  }
  (void)sink;
  return (now_ns(CLOCK_MONOTONIC) - begin) / n_events;
}

static double monotonic_reads(void) {
  volatile double sink = 0;
  double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < n_events; i++) {
    sink = now_ns(CLOCK_MONOTONIC);
    sink = now_ns(CLOCK_MONOTONIC);
  }
  (void)sink;
  return (now_ns(CLOCK_MONOTONIC) - begin) / n_events;
}

static double private_bytes(void) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  double kilobytes = 0, value;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "Private_Clean: %lf", &value) == 1 ||
        sscanf(line, "Private_Dirty: %lf", &value) == 1)
      kilobytes += value;
  if (file) fclose(file);
  return kilobytes * 1024;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  perfield_region region[kRegions];
  for (int i = 0; i < kRegions; i++) {
    char name[] = "region 0";
    name[7] = (char)('0' + i);
    region[i] = perfield_region_define(name, __FILE__, __LINE__);
  }
  int64_t label = 0;
  if (argc > 2) n_events = n_exchanges = atoi(argv[2]);
  /* A program that closes steps itself: perfield no longer looks for them at each call. The step
   * that is open then is one whose events are not logged; those of the first steps are. */
  for (int closed = 0; getenv("EVENTS_STEP") && closed < 4; closed++) perfield_step(label++, 0.0);
  for (int i = argc > 2 ? kRepetitions : 0; i <= kRepetitions; i++) {
    double value = 0;
    if (!strcmp(what, "regions")) value = regions(region[0]);
    if (!strcmp(what, "paths")) value = paths(region);
    if (!strcmp(what, "unguessed")) value = unguessed(region);
    if (!strcmp(what, "quantities")) value = quantities(region[0]);
    if (!strcmp(what, "calls")) value = calls();
    if (!strcmp(what, "tests")) value = polls(0);
    if (!strcmp(what, "probes")) value = polls(1);
    if (!strcmp(what, "messages")) value = messages();
    if (!strcmp(what, "sendrecv")) value = sendrecv();
    if (!strcmp(what, "requests")) value = requests();
    if (!strcmp(what, "open_sends")) value = open_sends();
    if (!strcmp(what, "epochs")) value = epochs();
    if (!strcmp(what, "locks")) value = locks();
    if (!strcmp(what, "steps") || !strcmp(what, "memory"))
      value = steps(rank, size, region, &label);
    if (!strcmp(what, "clock-tsc")) value = tsc_reads();
    if (!strcmp(what, "clock-monotonic")) value = monotonic_reads();
    if (i > 0 && rank == 0 && strcmp(what, "memory")) printf("%.3f\n", value); /* 0 warms up */
  }
  if (rank == 0 && !strcmp(what, "memory")) printf("%.0f\n", private_bytes());
  MPI_Finalize();
  return 0;
}
