/* SPDX-License-Identifier: BSD-3-Clause
 *
 * grids.c - makes Cartesian communicators of 4 ranks. It prints of each rank where MPI puts it in
 * the first one: world rank and coordinates. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int world_rank, rank, at[3];
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  const int dims[] = {2, 1, 2}, periods[] = {0, 0, 1}, three[] = {3}, open[] = {0},
            keeps[] = {1, 0, 0};
  MPI_Comm reversed, grid, part, line, copy;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
  MPI_Cart_create(reversed, 3, dims, periods, 1, &grid); /* only asked for places, never used */
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 3, at);
  printf("%d %d %d %d\n", world_rank, at[0], at[1], at[2]);
  MPI_Comm_free(&grid);

  MPI_Cart_create(MPI_COMM_WORLD, 1, three, open, 0, &part); /* without the last rank */
  if (part != MPI_COMM_NULL) {
    MPI_Comm_set_name(part, "three in a row");
    MPI_Barrier(part);
    MPI_Comm_dup(part, &copy);
    MPI_Barrier(copy);
  }
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid);
  MPI_Cart_sub(grid, keeps, &line);
  MPI_Barrier(line);
  MPI_Finalize();
  return 0;
}
