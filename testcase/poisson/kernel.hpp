// SPDX-License-Identifier: BSD-3-Clause
//
// kernel.hpp - what the operator asks of an element: the product of its matrix with the numbers at
// its nodes, and what a solver needs beside that. A kernel knows its mesh; u and b hold one number
// for each local node, owned ones and ghosts. Nothing here knows of fixed nodes or of messages.
#pragma once

#include <array>
#include <functional>

namespace poisson {

// A number at a place.
using Function = std::function<double(const std::array<double, 3>&)>;

class Kernel {
 public:
  virtual ~Kernel() = default;
  // b += A_e u for the elements from first up to but not including last, in this order. The bits of
  // b do not depend on how a loop over elements is divided into calls.
  virtual void apply(int first, int last, const double* u, double* b) const = 0;
  // Adds the diagonal of all elements' matrices.
  virtual void add_diagonal(double* diagonal) const = 0;
  // Adds the integral of f times each node's shape function.
  virtual void add_load(const Function& f, double* b) const = 0;
  // The integral of (u - exact)^2 over this rank's elements.
  virtual double squared_error(const Function& exact, const double* u) const = 0;
  // No eigenvalue of D^-1 A is larger, where D is the diagonal; 0 if unknown.
  virtual double largest_eigenvalue() const { return 0; }
};

}  // namespace poisson
