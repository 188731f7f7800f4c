// SPDX-License-Identifier: BSD-3-Clause
//
// operator.hpp - the product of the matrix with a vector, without the matrix. Rows of fixed nodes
// are those of the identity; they couple to no other. Messages hide behind the inner elements.
// Source: Heldman, Rudi and Bessac, ICS '25, Algorithm 2.
#pragma once

#include <perfield.hpp>

#include "exchange.hpp"
#include "kernel.hpp"
#include "mesh.hpp"
#include "record.hpp"
#include "splitting.hpp"

namespace poisson {

class Operator {
 public:
  // Keeps references to both.
  Operator(const Mesh& mesh, const Kernel& kernel, MPI_Comm comm);
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  // y = A x for owned nodes: Algorithm 2. The bits of y are the same for any splitting. Fills the
  // times and counts of `one`; t_start is in seconds of `record`. Collective.
  void apply(const double* x, double* y, Splitting& splitting, const Record& record, MatVec& one);

  // The same for vectors that hold ghosts, too, and hold the right values there: x before, y after.
  // The output goes first, behind E1; the sums come back behind E2 (section 1.3). So w_in is the
  // wait after E2, and t_in the time from the start of E2.
  void gather_scatter(const double* x, double* y, Splitting& splitting, const Record& record,
                      MatVec& one);

  // The diagonal, for owned nodes and ghosts. Collective.
  std::vector<double> diagonal();
  // The right-hand side of f, for owned nodes and ghosts; 0 at fixed nodes. Collective.
  std::vector<double> load(const Function& f);
  // The norm in L2 of u - exact over the whole mesh; u for owned nodes. Collective.
  double error(const Function& exact, const double* u);
  // The shortest of some times that this rank needs for all its inner elements, in seconds.
  double inner_time_s();

  const Mesh& mesh() const { return mesh_; }
  const Kernel& kernel() const { return kernel_; }
  MPI_Comm comm() const { return comm_; }
  Exchange& exchange() { return exchange_; }

 private:
  int inner_elements(const Parts& parts, double* y, MatVec& one);
  void finish_fixed(const double* x, double* y, int n) const;

  const Mesh& mesh_;
  const Kernel& kernel_;
  const MPI_Comm comm_;
  Exchange exchange_;
  std::vector<int> mirror_nodes_;  // of mirror elements, each once
  std::vector<double> input_;      // x with ghosts, and 0 at fixed nodes
  std::vector<double> mirror_;     // what mirror elements contribute
  const perfield_region first_ = perfield::region("E1");
  const perfield_region wait_in_ = perfield::region("wait_in");
  const perfield_region mirror_region_ = perfield::region("mirror");
  const perfield_region second_ = perfield::region("E2");
  const perfield_region wait_out_ = perfield::region("wait_out");
};

}  // namespace poisson
