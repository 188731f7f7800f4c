// SPDX-License-Identifier: BSD-3-Clause
//
// steps.c - closes steps whose counts are known, and says in shared memory, which outlives it, how
// far it came. With -DMPI its ranks exchange a message in each step.
//   steps STEPS MICROSECONDS FILE    FILE: one `struct progress` per rank
// In step s, rank r enters the region `work` 1 + (r + s) % 3 times.
#include <fcntl.h>
#include <perfield.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef MPI
#include <mpi.h>
#endif

enum { MOST_STEPS = 4096 };
struct progress {
  int pid;
  volatile int closed;        // steps whose perfield_step has returned
  double before[MOST_STEPS];  // CLOCK_MONOTONIC before each perfield_step
};

// A shim that fakes the clock has it.
void set_clock_back(double seconds) __attribute__((weak));

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  int rank = 0, size = 1, steps = atoi(argv[1]);
  double seconds = 1e-6 * atof(argv[2]);
#ifdef MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
#else
  (void)argc;
#endif
  int file = open(argv[3], O_RDWR | O_CREAT, 0666);
  if (file < 0 || ftruncate(file, (off_t)sizeof(struct progress) * size)) return 9;
  struct progress* all =
      mmap(0, sizeof(struct progress) * (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  struct progress* mine = all + rank;
  mine->pid = getpid();
  perfield_initialize();
  for (int s = 0; s < steps; ++s) {
    if (set_clock_back && s == steps / 2) set_clock_back(3600);
    for (int n = 0; n < 1 + (rank + s) % 3; ++n) {
      perfield_begin("work");
      for (double end = now() + seconds / 3; now() < end;) {
      }
      perfield_end("work");
    }
#ifdef MPI
    int out = s, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (in != s) return 8;
#endif
    if (s < MOST_STEPS) mine->before[s] = now();
    perfield_step(s, s);
    mine->closed = s + 1;
  }
  if (rank == 0) printf("the answer is 42\n");
#ifdef MPI
  MPI_Finalize();
#else
  perfield_finalize();
#endif
  return 7;
}
