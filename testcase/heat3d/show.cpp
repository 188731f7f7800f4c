// SPDX-License-Identifier: BSD-3-Clause
//
// show.cpp - the mesh of the pictures: a rectilinear grid, one piece per rank. A piece extends to
// the first point of the next one, and the outermost pieces to the walls, so the pieces fill the
// box without gap or overlap.
#include "show.hpp"

#include <perfield.hpp>
#include <vector>

void show_mesh(const Grid& grid, const double* temperature) {
  int64_t extent[6], size[3];
  std::array<std::vector<double>, 3> coordinates;
  std::array<int, 3> begin;  // local number of the piece's first point: 0 at a wall, else 1
  for (int d = 0; d < 3; ++d) {
    begin[d] = grid.below[d] == MPI_PROC_NULL ? 0 : 1;
    extent[2 * d] = grid.first[d] + begin[d];
    extent[2 * d + 1] = grid.first[d] + grid.n[d] + 1;
    size[d] = extent[2 * d + 1] - extent[2 * d] + 1;
    for (int64_t point = extent[2 * d]; point <= extent[2 * d + 1]; ++point)
      coordinates[d].push_back(grid.position(d, point));
  }
  perfield_mesh_rectilinear(0, extent, perfield::array(coordinates[0]),
                            perfield::array(coordinates[1]), perfield::array(coordinates[2]));

  // The piece's points are rows and planes of the larger array that includes the halo.
  const int64_t stride[3] = {1, int64_t(grid.at(0, 1, 0)), int64_t(grid.at(0, 0, 1))};
  perfield_field(
      0, "temperature", PERFIELD_POINTS,
      perfield::array(temperature + grid.at(begin[0], begin[1], begin[2]), size, stride));
}
