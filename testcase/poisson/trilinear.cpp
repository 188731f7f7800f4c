// SPDX-License-Identifier: BSD-3-Clause
#include "trilinear.hpp"

namespace poisson {

namespace {

constexpr int kNodes = 8;

struct Matrix {
  double a[kNodes][kNodes];
};

// Of the unit cube: the sum over the axes of the stiffness along that axis times the masses along
// the other two. On an interval of length 1 they are [1 -1; -1 1] and [2 1; 1 2] / 6.
constexpr Matrix unit_cube() {
  Matrix matrix{};
  for (int row = 0; row < kNodes; ++row)
    for (int column = 0; column < kNodes; ++column) {
      for (int axis = 0; axis < 3; ++axis) {
        double product = 1;
        for (int other = 0; other < 3; ++other) {
          const bool same = ((row >> other) & 1) == ((column >> other) & 1);
          product *= other == axis ? (same ? 1.0 : -1.0) : (same ? 2.0 : 1.0) / 6;
        }
        matrix.a[row][column] += product;
      }
    }
  return matrix;
}

constexpr Matrix kMatrix = unit_cube();

// Gauss's rule with three points, exact for polynomials of order 5.
constexpr double kPoint[3] = {0.11270166537925831, 0.5, 0.88729833462074169};
constexpr double kWeight[3] = {5.0 / 18, 8.0 / 18, 5.0 / 18};

// visit(weight, place, shape): at each of 27 points of element e; shape: the 8 functions there.
template <class Visit>
void integrate(const Mesh& mesh, int e, Visit visit) {
  const double h = mesh.size[size_t(e)];
  const double* corner = &mesh.corner[3 * size_t(e)];
  for (int k = 0; k < 3; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i) {
        const double at[3] = {kPoint[i], kPoint[j], kPoint[k]};
        double shape[kNodes];
        for (int node = 0; node < kNodes; ++node) {
          shape[node] = 1;
          for (int axis = 0; axis < 3; ++axis)
            shape[node] *= (node >> axis) & 1 ? at[axis] : 1 - at[axis];
        }
        visit(kWeight[i] * kWeight[j] * kWeight[k] * h * h * h,
              std::array<double, 3>{corner[0] + h * at[0], corner[1] + h * at[1],
                                    corner[2] + h * at[2]},
              shape);
      }
}

}  // namespace

void Trilinear::apply(int first, int last, const double* u, double* b) const {
  for (int e = first; e < last; ++e) {
    const int* nodes = &mesh_.nodes[size_t(e) * kNodes];
    const double factor = mesh_.kappa[size_t(e)] * mesh_.size[size_t(e)];
    double in[kNodes], out[kNodes] = {};
    for (int node = 0; node < kNodes; ++node) in[node] = factor * u[nodes[node]];
    for (int column = 0; column < kNodes; ++column)  // the matrix is symmetric
      for (int row = 0; row < kNodes; ++row) out[row] += kMatrix.a[column][row] * in[column];
    for (int node = 0; node < kNodes; ++node) b[nodes[node]] += out[node];
  }
}

void Trilinear::add_diagonal(double* diagonal) const {
  for (int e = 0; e < mesh_.n_elements; ++e)
    for (int node = 0; node < kNodes; ++node)
      diagonal[mesh_.nodes[size_t(e) * kNodes + size_t(node)]] +=
          mesh_.kappa[size_t(e)] * mesh_.size[size_t(e)] * kMatrix.a[node][node];
}

void Trilinear::add_load(const Function& f, double* b) const {
  for (int e = 0; e < mesh_.n_elements; ++e)
    integrate(mesh_, e, [&](double weight, const auto& place, const double* shape) {
      const double value = weight * f(place);
      for (int node = 0; node < kNodes; ++node)
        b[mesh_.nodes[size_t(e) * kNodes + size_t(node)]] += value * shape[node];
    });
}

double Trilinear::squared_error(const Function& exact, const double* u) const {
  double sum = 0;
  for (int e = 0; e < mesh_.n_elements; ++e)
    integrate(mesh_, e, [&](double weight, const auto& place, const double* shape) {
      double value = -exact(place);
      for (int node = 0; node < kNodes; ++node)
        value += shape[node] * u[mesh_.nodes[size_t(e) * kNodes + size_t(node)]];
      sum += weight * value * value;
    });
  return sum;
}

// The largest eigenvalue of one element's matrix, 1/2, over its diagonal, 1/3: no assembly of
// elements exceeds the largest quotient of its parts.
double Trilinear::largest_eigenvalue() const { return 1.5; }

}  // namespace poisson
