// SPDX-License-Identifier: BSD-3-Clause
//
// Every 5th step the field goes to disk, 4 MiB for each rank, row by row.
//
//   io_on_rank_0             rank 0 gathers the rows of all ranks and writes them; the others wait
//   io_on_rank_0 together    each rank writes its own rows, into a file of its own
//
// A rank sleeps 10 ms in each step in place of computing.
#include <fcntl.h>
#include <mpi.h>
#include <perfield.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 50, EVERY = 5, ROWS = 1024, ROW = 512 };  // a row holds 512 numbers of 8 bytes

// Writes rows over those of the last time.
static void write_rows(int file, const double* values, long rows) {
  size_t bytes = ROW * sizeof *values;
  for (long row = 0; row < rows; ++row)
    if (pwrite(file, values + row * ROW, bytes, row * bytes) < 0) perror("pwrite");
}

int main(int argc, char** argv) {
  int together = argc > 1, rank, size, file = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  perfield_region solve = perfield_region_define("solve", __FILE__, __LINE__);
  perfield_region output = perfield_region_define("output", __FILE__, __LINE__);
  double* mine = calloc(ROWS * ROW, sizeof *mine);
  double* all = rank == 0 ? calloc((size_t)size * ROWS * ROW, sizeof *all) : NULL;
  if (together || rank == 0) {
    char name[20];
    snprintf(name, sizeof name, "field.%d", rank);
    file = open(name, O_CREAT | O_WRONLY, 0644);
    if (file < 0) perror(name);
  }
  perfield_initialize();  // setup ends, the first step begins

  for (int step = 0; step < STEPS; ++step) {
    perfield_region_begin(solve);
    nanosleep(&(struct timespec){0, 10000000}, NULL);
    MPI_Barrier(MPI_COMM_WORLD);  // stands for the sums that a solver makes
    perfield_region_end(solve);

    perfield_region_begin(output);
    if ((step + 1) % EVERY == 0) {
      if (together) {
        write_rows(file, mine, ROWS);
      } else {
        MPI_Gather(mine, ROWS * ROW, MPI_DOUBLE, all, ROWS * ROW, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (rank == 0) write_rows(file, all, (long)size * ROWS);
      }
      MPI_Barrier(MPI_COMM_WORLD);  // nobody goes on before the field is written
    }
    perfield_region_end(output);
    perfield_step(step, step * 0.1);
  }
  MPI_Finalize();
  if (file >= 0) close(file);
  free(all);
  free(mine);
}
