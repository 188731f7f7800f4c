/* SPDX-License-Identifier: BSD-3-Clause
 *
 * large_world.c - sends in communicators of a large world, on the fake MPI of tests/scale. It
 * prints for each communicator how many ranks MPI compared while it was used, for each of its
 * ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

extern unsigned long fake_mpi_compared;
static int size;

static void send(const char* name, MPI_Comm comm, int partners) {
  const unsigned long before = fake_mpi_compared;
  char byte = 0;
  for (int again = 0; again < 3; again++)
    for (int peer = 0; peer < partners; peer++) MPI_Send(&byte, 1, MPI_CHAR, peer, 0, comm);
  printf("%s %g\n", name, (double)(fake_mpi_compared - before) / size);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm all, same, reversed, odd, of_odd;
  MPI_Group world, mixed;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  send("duplicate", all, 10);
  MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &same);
  send("same order", same, 10);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -1, &reversed);
  send("reversed", reversed, 10);
  int* ranks = malloc(size * sizeof(int));
  for (int i = 0; i < size; i++) ranks[i] = (int)(((long)i * i * 8 + 5 * i + 3) % size);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, size, ranks, &mixed);
  MPI_Comm_create(MPI_COMM_WORLD, mixed, &odd);
  send("mixed", odd, 300);
  MPI_Comm_dup(odd, &of_odd);
  send("duplicate of mixed", of_odd, 300);
  MPI_Finalize();
  return 0;
}
