// SPDX-License-Identifier: BSD-3-Clause
//
// exchange.hpp - the messages of a MatVec. The input goes from a node's owner to all that know the
// node; the output, their contributions to its sum, goes back. Nothing here blocks but the waits.
#pragma once

#include <mpi.h>

#include <vector>

#include "mesh.hpp"

namespace poisson {

class Exchange {
 public:
  Exchange(const Mesh& mesh, MPI_Comm comm);

  // Input: ghosts get the values of their owners.
  void start_input(const double* local);  // posts receives, sends
  bool input_arrived();                   // one MPI_Testall
  void wait_input();
  void take_input(double* local) const;

  // Output: owners add what others hold in their ghosts, in the order of the ranks.
  void expect_output();  // posts receives
  void start_output(const double* local);
  void wait_output();  // and for all that was sent
  void add_output(double* local) const;

  // Both parts of each at once.
  void update_ghosts(double* local);
  void sum_to_owners(double* local);

  int n_partners() const { return int(mesh_.neighbours.size()); }

 private:
  const Mesh& mesh_;
  const MPI_Comm comm_;
  // Neighbours' buffers lie one after the other; where each begins, and where the last one ends.
  std::vector<size_t> ghosts_begin_, shared_begin_;
  std::vector<double> ghosts_in_, ghosts_out_, shared_in_, shared_out_;
  std::vector<MPI_Request> input_;   // receives
  std::vector<MPI_Request> output_;  // receives, then all sends
};

}  // namespace poisson
