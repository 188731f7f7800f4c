// SPDX-License-Identifier: BSD-3-Clause
//
// uniform.hpp - a box of equal cubes, divided into one block of elements for each rank. Blocks may
// be empty: a rank without elements owns no nodes.
#pragma once

#include <mpi.h>

#include <array>
#include <vector>

#include "kernel.hpp"
#include "mesh.hpp"

namespace poisson {

struct Box {
  std::array<int, 3> elements = {8, 8, 8};  // along x, y, z, in the whole mesh
  std::array<int, 3> ranks = {1, 1, 1};     // blocks along x, y, z; their product is the ranks
  int order = 1;
  int grain = 1;  // blocks begin at multiples of it; the elements are multiples, too

  // Edges of the elements; the longest edge of the box is 1.
  double element_size() const;
  std::array<double, 3> length() const;
};

// Where the nodes of one rank lie in the lattice of all nodes, for what needs to know that the mesh
// is uniform (interpolation between two of them).
struct Lattice {
  std::array<int, 3> begin{};  // of the nodes of this rank's elements
  std::array<int, 3> end{};    // one past the last; begin == end along some axis: no nodes
  std::array<int, 3> owned{};  // one past the last owned one
  std::vector<int> local;      // local number of each node from begin to end, x fastest

  int at(int i, int j, int k) const {
    return local[size_t(((k - begin[2]) * (end[1] - begin[1]) + j - begin[1]) *
                            (end[0] - begin[0]) +
                        i - begin[0])];
  }
};

struct UniformMesh : Mesh {
  Box box;
  Lattice lattice;
};

// Divides the ranks into blocks along x, y and z: as few shared faces as possible.
std::array<int, 3> divided(int n_ranks, const std::array<int, 3>& elements);

// This rank's part. Fixed nodes: all on the boundary. kappa is taken at the elements' centres.
// Collective; no messages but one scan.
UniformMesh uniform_mesh(const Box& box, const Function& kappa, MPI_Comm comm);

}  // namespace poisson
