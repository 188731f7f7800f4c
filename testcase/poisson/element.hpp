// SPDX-License-Identifier: BSD-3-Clause
//
// element.hpp - the operator -div(kappa grad u) on cubes of order k, without a matrix.
//
// An element has (k + 1)^3 nodes at Gauss-Lobatto points; its integrals are Gauss quadrature with
// k + 1 points per direction, which is exact for a cube with constant kappa. Its matrix is
// kappa h (K x M x M + M x K x M + M x M x K) of the one-dimensional mass M and stiffness K, so a
// product is taken direction by direction (sum factorisation), in the vectors that diagonalise both
// (R. E. Lynch, J. R. Rice and D. H. Thomas, 1964, doi:10.1007/BF01386067). These are even or odd,
// which halves the work. Several elements are multiplied at once, one in each lane of a vector
// register.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "kernel.hpp"
#include "mesh.hpp"

namespace poisson {

constexpr int highest_order = 8;

// The k + 1 Gauss-Lobatto points of [0, 1], ends included.
std::vector<double> lobatto_points(int order);

// The elements of a mesh, which must outlive them. Nodes on hanging faces and edges are
// interpolated from those of the larger face or edge, which is what `Mesh::nodes` lists there.
// Throws std::invalid_argument for an order below 1 or above highest_order.
class Elements final : public Kernel {
 public:
  explicit Elements(const Mesh& mesh);
  ~Elements() override;

  void apply(int first, int last, const double* u, double* b) const override;
  void add_diagonal(double* diagonal) const override;
  void add_load(const Function& f, double* b) const override;  // k + 1 Gauss points
  double squared_error(const Function& exact, const double* u) const override;  // k + 3 points

  // One element's dense matrix, row by row, for the nodes that `Mesh::nodes` lists: to assemble it,
  // and an oracle for apply().
  std::vector<double> matrix(int element) const;

 private:
  struct Line;           // one direction of an element
  struct Interpolation;  // of an element's nodes on hanging faces and edges
  template <int N>
  struct Loop;

  static std::unique_ptr<const Interpolation> interpolation(unsigned code, const Line& line);
  const Interpolation* hanging(int element) const;
  void gather(int element, const double* u, double* values) const;
  void scatter(int element, double* values, double* b) const;

  const Mesh& mesh_;
  const int n_;  // nodes per direction
  const std::unique_ptr<const Line> line_;
  std::vector<std::unique_ptr<const Interpolation>> interpolations_;  // by the code of `hanging`
  void (*loop_)(const Elements&, int first, int last, const double* u, double* b);
};

}  // namespace poisson
