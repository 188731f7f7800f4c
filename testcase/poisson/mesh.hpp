// SPDX-License-Identifier: BSD-3-Clause
//
// mesh.hpp - what one rank knows of a mesh of cubes: its elements, its nodes, and whom it shares
// them with. Every mesh (uniform, or of octrees) is brought into this form; the operator knows no
// other.
#pragma once

#include <cstdint>
#include <vector>

namespace poisson {

// A rank that shares nodes with this one. Both ends list the same nodes in the same order.
struct Neighbour {
  int rank = 0;
  std::vector<int> send;     // owned nodes that it needs
  std::vector<int> receive;  // ghost nodes that it owns
};

struct Mesh {
  int order = 1;                // k: an element has (k + 1)^3 nodes, x fastest
  std::int64_t first_node = 0;  // global number of the first owned node
  std::int64_t all_nodes = 0;   // in the whole mesh
  int n_owned = 0;              // nodes of this rank: local numbers 0 .. n_owned - 1
  int n_ghosts = 0;             // nodes of others: n_owned .. n_owned + n_ghosts - 1
  int n_elements = 0;
  int first_mirror = 0;        // elements before it touch no node that another rank knows
  std::vector<int> nodes;      // (k + 1)^3 local numbers for each element
  std::vector<double> corner;  // 3 for each element: its lowest corner
  std::vector<double> size;    // for each element: the length of its edges
  std::vector<double> kappa;   // for each element
  std::vector<std::uint32_t>
      hanging;  // for each element: the face_code of p8est_lnodes.h, 0 if nothing hangs; or empty
  std::vector<std::uint8_t> fixed;  // for each local node: 1 where a Dirichlet value is given
  std::vector<double> position;     // 3 for each local node
  std::vector<Neighbour> neighbours;
};

}  // namespace poisson
