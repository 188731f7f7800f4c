/* SPDX-License-Identifier: BSD-3-Clause
 *
 * halo.c - sends to the 26 neighbours in a periodic cube of ranks, on the fake MPI of tests/scale:
 * `halo duplicate|mixed N` does it N times, in a duplicate of MPI_COMM_WORLD or in a communicator
 * whose ranks are in no order.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  int size, me, side = 1, neighbors[26], n = 0;
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 2 && !strcmp(argv[1], "mixed")) {
    int* ranks = malloc(size * sizeof(int)); /* size: a power of two */
    MPI_Group world, mixed;
    for (int i = 0; i < size; i++) ranks[i] = (int)((8L * i * i + 5 * i + 3) % size);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, size, ranks, &mixed);
    MPI_Comm_create(MPI_COMM_WORLD, mixed, &comm);
  } else {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  }
  MPI_Comm_rank(comm, &me);
  while (side * side * side < size) side++;
  const int x = me % side, y = me / side % side, z = me / side / side;
  for (int i = 0; i < 27; i++)
    if (i != 13)
      neighbors[n++] =
          ((z + i / 9 - 1 + side) % side * side + (y + i / 3 % 3 - 1 + side) % side) * side +
          (x + i % 3 - 1 + side) % side;
  double value = 0;
  for (int i = argc > 2 ? atoi(argv[2]) : 1; i > 0; i--)
    for (int k = 0; k < 26; k++) MPI_Send(&value, 1, MPI_DOUBLE, neighbors[k], 0, comm);
  MPI_Finalize();
  return 0;
}
