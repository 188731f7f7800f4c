// SPDX-License-Identifier: BSD-3-Clause
//
// consistent_cg.hpp - conjugate gradients whose vectors always hold the right values in their
// ghosts, so that the gather-scatter product can be used: the baseline of section 1.3.
#pragma once

#include "operator.hpp"
#include "record.hpp"
#include "show.hpp"
#include "splitting.hpp"

namespace poisson {

struct Solved {
  int iterations = 0;
  bool converged = false;
  double residual = 0;  // its norm at the end
  std::string reason;   // why it ended
};

// Starts from u = 0; preconditions by the diagonal, 1 for none. b, u and the diagonal hold ghosts.
// Ends when the record is full, too. Collective.
Solved consistent_cg(Operator& of, Splitting& splitting, Record& record, Show& show,
                     const std::vector<double>& diagonal, const std::vector<double>& b, double rtol,
                     int max_iterations, std::vector<double>& u);

}  // namespace poisson
