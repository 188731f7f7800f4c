// SPDX-License-Identifier: BSD-3-Clause
//
// openmp.c - five steps on four threads of OpenMP, in which thread 2 computes 55 ms longer than the
// others. Arguments: what to do in each step.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perfield.h"

// Sleeps, so that cores that are shared do not disturb.
static void work(double ms) {
  struct timespec t = {0, (long)(ms * 1e6)};
  nanosleep(&t, NULL);
}

static void burn(double ms) {
  struct timespec t;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  while (0);
  const double end = t.tv_sec * 1e3 + t.tv_nsec * 1e-6 + ms;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  while (t.tv_sec * 1e3 + t.tv_nsec * 1e-6 < end);
}

static void step(const char* what) {
  if (!strcmp(what, "imbalance")) {
#pragma omp parallel num_threads(4)
    work(omp_get_thread_num() == 2 ? 60 : 5);
    work(10);  // the other threads idle
  } else if (!strcmp(what, "loop")) {
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(static)
      for (int i = 0; i < 4; ++i) work(i == 2 ? 60 : 5);
      work(3);
    }
  } else if (!strcmp(what, "explicit")) {
#pragma omp parallel num_threads(4)
    {
      if (omp_get_thread_num() == 2) work(60);
#pragma omp barrier
      work(2);
    }
  } else if (!strcmp(what, "nested")) {
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
      work(omp_get_ancestor_thread_num(1) && omp_get_thread_num() ? 60 : 5);
    }
  } else if (!strcmp(what, "tasks")) {
#pragma omp parallel num_threads(4)
    {
#pragma omp single nowait
      for (int i = 0; i < 4; ++i) {
#pragma omp task
        work(15);
      }
    }
  } else if (!strcmp(what, "burn")) {
#pragma omp parallel num_threads(4)
    burn(omp_get_thread_num() == 2 ? 60 : 5);
  } else if (!strcmp(what, "fork")) {
    const pid_t child = fork();
    if (!child) {
      work(1);
      _exit(0);
    }
    waitpid(child, NULL, 0);
#pragma omp parallel num_threads(4)
    work(5);
  }
}

#ifdef OWN_TOOL
static int tool_starts(void* lookup, int device, void* data) {
  return lookup != NULL && device >= 0 && data != NULL;
}

static void tool_ends(void* data) { (void)data; }

void* ompt_start_tool(unsigned version, const char* runtime) {
  static struct {
    int (*initialize)(void*, int, void*);
    void (*finalize)(void*);
    unsigned long long data;
  } tool = {tool_starts, tool_ends, 0};
  fprintf(stderr, "own tool for %s %u\n", runtime, version);
  return OWN_TOOL ? &tool : NULL;
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  omp_set_max_active_levels(2);
  for (int i = 0; i < 5; ++i) {
    step(argc > 1 ? argv[1] : "imbalance");
    MPI_Barrier(MPI_COMM_WORLD);
    perfield_step(i, i);
  }
  MPI_Finalize();
  return 0;
}
