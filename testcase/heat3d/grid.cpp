// SPDX-License-Identifier: BSD-3-Clause
//
// grid.cpp - divides the box among the ranks into equal blocks.
#include "grid.hpp"

Grid::Grid(const Input& input) : points(input.points()), d(input.d_dim) {
  const std::array<int, 3> minds = input.minds(), periodic{0, 0, 0};
  MPI_Cart_create(MPI_COMM_WORLD, 3, minds.data(), periodic.data(), /*reorder=*/0, &ranks);
  int rank;
  MPI_Comm_rank(ranks, &rank);
  MPI_Cart_coords(ranks, rank, 3, place.data());
  for (int direction = 0; direction < 3; ++direction) {
    n[direction] = points[direction] / minds[direction];
    first[direction] = place[direction] * n[direction];
    MPI_Cart_shift(ranks, direction, 1, &below[direction], &above[direction]);
  }
}

bool Grid::holds(const std::array<int, 3>& point) const {
  for (int d = 0; d < 3; ++d)
    if (point[d] <= first[d] || point[d] > first[d] + n[d]) return false;
  return true;
}
