// Messages on MPI_COMM_WORLD, and on a communicator and a window whose ranks count backwards.
// SPDX-License-Identifier: BSD-3-Clause
//
// Each rank sends 80 bytes to the next one of the world. The last rank of the world, which is rank
// 0 backwards, sends 800 bytes to rank 1 backwards, and puts 400 into the window of the last one
// backwards. Each rank writes a file of 512 bytes.
#include <mpi.h>
#include <stdio.h>

static double out[100], in[100], shared[100];

static void around_the_world(int rank, int size) {
  MPI_Request requests[2];
  MPI_Irecv(in, 10, MPI_DOUBLE, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, 10, MPI_DOUBLE, (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void backwards(MPI_Comm reversed, MPI_Win window) {
  int rank, size;
  MPI_Comm_rank(reversed, &rank);
  MPI_Comm_size(reversed, &size);
  if (rank == 0) MPI_Send(out, 100, MPI_DOUBLE, 1, 2, reversed);
  if (rank == 1) MPI_Recv(in, 100, MPI_DOUBLE, 0, 2, reversed, MPI_STATUS_IGNORE);
  MPI_Win_fence(0, window);
  if (rank == 0) MPI_Put(out, 50, MPI_DOUBLE, size - 1, 0, 50, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
}

static void write_file(int rank) {
  char name[50];
  snprintf(name, sizeof name, "out-%d", rank);
  FILE* file = fopen(name, "w");
  fwrite(out, 8, 64, file);
  fclose(file);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Comm reversed;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reversed);
  MPI_Win_create(shared, sizeof shared, sizeof(double), MPI_INFO_NULL, reversed, &window);
  around_the_world(rank, size);
  backwards(reversed, window);
  write_file(rank);
  MPI_Win_free(&window);
  MPI_Comm_free(&reversed);
  MPI_Finalize();
  return 0;
}
