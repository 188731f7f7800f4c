/* SPDX-License-Identifier: BSD-3-Clause
 *
 * peers.c - each rank sends to the next one in communicators of many origins, more bytes in each.
 * It prints the world ranks that MPI itself names: rank, peer, bytes. */
#include <mpi.h>
#include <stdio.h>

static int world_rank, world_size, n_sent = 0;

static void send_to_next(MPI_Comm comm) {
  static char out[1000], in[1000];
  int rank, size, of_world[64];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Allgather(&world_rank, 1, MPI_INT, of_world, 1, MPI_INT, comm);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size, bytes = ++n_sent;
  for (int again = 0; again < 2; again++)
    MPI_Sendrecv(out, bytes, MPI_CHAR, next, 0, in, 1000, MPI_CHAR, before, 0, comm,
                 MPI_STATUS_IGNORE);
  printf("%d %d %d\n", world_rank, of_world[next], 2 * bytes);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Comm all, same, half, of_half, reversed, odd, of_odd, grid, row, later;
  MPI_Request request;

  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  send_to_next(all);
  MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank, &same);
  send_to_next(same);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
  MPI_Comm_dup(half, &of_half); /* before its first use, and after */
  send_to_next(of_half);
  send_to_next(half);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
  send_to_next(reversed);
  const int order[] = {0, 2, 1, 3}; /* not in line */
  MPI_Comm_split(MPI_COMM_WORLD, 0, order[world_rank % 4], &odd);
  send_to_next(odd);
  MPI_Comm_idup(odd, &of_odd, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&odd); /* its duplicate outlives it */
  send_to_next(of_odd);
  const int dims[] = {2, 2}, periods[] = {1, 1}, keeps[] = {0, 1};
  MPI_Cart_create(reversed, 2, dims, periods, 1, &grid);
  send_to_next(grid);
  MPI_Cart_sub(grid, keeps, &row);
  send_to_next(row);
  for (int i = 0; i < 6; i++) { /* the handle of a freed communicator names another one */
    MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? order[world_rank % 4] : -world_rank, &later);
    send_to_next(later);
    MPI_Comm_free(&later);
  }
  MPI_Finalize();
  return 0;
}
