// SPDX-License-Identifier: BSD-3-Clause
//
// trilinear.hpp - the element of order 1 on a cube: its 8 x 8 matrix is the same for all elements
// but for the factor kappa times edge.
#pragma once

#include "kernel.hpp"
#include "mesh.hpp"

namespace poisson {

class Trilinear : public Kernel {
 public:
  explicit Trilinear(const Mesh& mesh) : mesh_(mesh) {}
  void apply(int first, int last, const double* u, double* b) const override;
  void add_diagonal(double* diagonal) const override;
  void add_load(const Function& f, double* b) const override;
  double squared_error(const Function& exact, const double* u) const override;
  double largest_eigenvalue() const override;

 private:
  const Mesh& mesh_;
};

}  // namespace poisson
