// SPDX-License-Identifier: BSD-3-Clause
//
// octree.hpp - the unit cube as an octree of p4est: cubes that are smaller where the coefficient
// jumps. Neighbours differ by at most one level (2:1, across faces, edges and corners), and a node
// on a hanging face or edge is interpolated from the larger one, which keeps the solution
// continuous. The ranks get equal parts of the elements along p4est's space-filling curve, maybe
// none. Source: Burstedde, Wilcox and Ghattas, 2011, doi:10.1137/100791634; for the nodes, Isaac,
// Burstedde, Wilcox and Ghattas, 2015, doi:10.1137/140970963.
#pragma once

#include <mpi.h>

#include "kernel.hpp"
#include "mesh.hpp"

namespace poisson {

constexpr int finest_level = 18;  // of p4est

struct Octree {
  int coarsest = 3;  // level of all elements before refinement: edges of 2^-3
  int finest = 5;    // level of the elements at the jump
  int order = 1;
};

// This rank's part. An element below the finest level is divided where kappa differs between its
// centre and a point of its faces, edges or corners, or just beyond them. Fixed nodes: all on the
// boundary. kappa is taken at the elements' centres. Collective.
// Throws std::invalid_argument for levels that are not 0 <= coarsest <= finest <= finest_level.
Mesh octree_mesh(const Octree& octree, const Function& kappa, MPI_Comm comm);

}  // namespace poisson
