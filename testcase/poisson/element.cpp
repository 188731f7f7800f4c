// SPDX-License-Identifier: BSD-3-Clause
#include "element.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace poisson {

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr int most_nodes = (highest_order + 1) * (highest_order + 1) * (highest_order + 1);

// P_n and its first derivative at x in (-1, 1).
std::pair<double, double> legendre(int n, double x) {
  double before = 1, now = x;
  for (int i = 2; i <= n; ++i)
    before = std::exchange(now, ((2 * i - 1) * x * now - (i - 1) * before) / i);
  return {now, n * (before - x * now) / (1 - x * x)};
}

int checked(int order) {
  if (order < 1 || order > highest_order)
    throw std::invalid_argument("elements of order " + std::to_string(order) +
                                " are not known: choose an order from 1 to " +
                                std::to_string(highest_order));
  return order;
}

struct Quadrature {
  std::vector<double> points, weights;
};

// n Gauss points of [0, 1].
Quadrature gauss(int n) {
  Quadrature rule;
  for (int i = n - 1; i >= 0; --i) {
    double x = std::cos(pi * (i + 0.75) / (n + 0.5));
    for (int step = 0; step < 10; ++step) {  // Newton: 5 suffice
      const auto [value, slope] = legendre(n, x);
      x -= value / slope;
    }
    const double slope = legendre(n, x).second;
    rule.points.push_back(0.5 * (1 + x));
    rule.weights.push_back(1 / ((1 - x * x) * slope * slope));
  }
  return rule;
}

// Values of the Lagrange polynomials of `nodes` at `points`: one row for each point.
std::vector<double> lagrange(const std::vector<double>& nodes, const std::vector<double>& points) {
  std::vector<double> values;
  for (const double x : points)
    for (std::size_t j = 0; j < nodes.size(); ++j) {
      double value = 1;
      for (std::size_t m = 0; m < nodes.size(); ++m)
        if (m != j) value *= (x - nodes[m]) / (nodes[j] - nodes[m]);
      values.push_back(value);
    }
  return values;
}

// Their derivatives.
std::vector<double> slopes(const std::vector<double>& nodes, const std::vector<double>& points) {
  std::vector<double> values;
  for (const double x : points)
    for (std::size_t j = 0; j < nodes.size(); ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (i == j) continue;
        double term = 1 / (nodes[j] - nodes[i]);
        for (std::size_t m = 0; m < nodes.size(); ++m)
          if (m != j && m != i) term *= (x - nodes[m]) / (nodes[j] - nodes[m]);
        sum += term;
      }
      values.push_back(sum);
    }
  return values;
}

// An n x n matrix, row by row.
using Square = std::vector<double>;

// Eigenvalues and vectors of K s = lambda M s with s' M s = 1; both are symmetric, M is definite.
// Row m of the result is s_m. Jacobi's rotations: n is at most (highest_order + 2) / 2.
std::pair<std::vector<double>, Square> eigen(int n, const Square& stiffness, const Square& mass) {
  const auto at = [n](int i, int j) { return static_cast<std::size_t>(i) * n + j; };
  Square lower(mass.size(), 0);  // M = L L'
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      double sum = mass[at(i, j)];
      for (int m = 0; m < j; ++m) sum -= lower[at(i, m)] * lower[at(j, m)];
      lower[at(i, j)] = i == j ? std::sqrt(sum) : sum / lower[at(j, j)];
    }
  Square a = stiffness;  // becomes L^-1 K L^-T: columns, then rows
  for (int pass = 0; pass < 2; ++pass) {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        for (int m = 0; m < i; ++m) a[at(i, j)] -= lower[at(i, m)] * a[at(m, j)];
        a[at(i, j)] /= lower[at(i, i)];
      }
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) std::swap(a[at(i, j)], a[at(j, i)]);
  }
  Square vectors(mass.size(), 0);  // rows
  for (int i = 0; i < n; ++i) vectors[at(i, i)] = 1;
  for (int sweep = 0; sweep < 20; ++sweep)  // quadratic: 6 suffice
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        if (a[at(p, q)] == 0) continue;
        const double angle = 0.5 * std::atan2(2 * a[at(p, q)], a[at(q, q)] - a[at(p, p)]);
        const double c = std::cos(angle), s = std::sin(angle);
        const auto rotate = [c, s](double& x, double& y) {
          const double old = x;
          x = c * x - s * y;
          y = s * old + c * y;
        };
        for (int m = 0; m < n; ++m) rotate(a[at(m, p)], a[at(m, q)]);
        for (int m = 0; m < n; ++m) rotate(a[at(p, m)], a[at(q, m)]);
        for (int m = 0; m < n; ++m) rotate(vectors[at(p, m)], vectors[at(q, m)]);
      }
  std::vector<double> values;
  for (int m = 0; m < n; ++m) {  // s = L^-T (vector of a)
    values.push_back(a[at(m, m)]);
    for (int i = n - 1; i >= 0; --i) {
      for (int j = i + 1; j < n; ++j) vectors[at(m, i)] -= lower[at(j, i)] * vectors[at(m, j)];
      vectors[at(m, i)] /= lower[at(i, i)];
    }
  }
  return {values, vectors};
}

// Multiplies an array of (n, n, n) by an (rows x n) matrix in all three directions.
std::vector<double> in_three_directions(const std::vector<double>& matrix, int rows, int n,
                                        std::vector<double> values) {
  int shape[3] = {n, n, n};
  for (int d = 0; d < 3; ++d) {
    const int stride = d == 0 ? 1 : d == 1 ? shape[0] : shape[0] * shape[1];
    const int outer = shape[0] * shape[1] * shape[2] / (stride * n);
    std::vector<double> next(static_cast<std::size_t>(outer) * stride * rows, 0);
    for (int o = 0; o < outer; ++o)
      for (int r = 0; r < rows; ++r)
        for (int i = 0; i < n; ++i)
          for (int s = 0; s < stride; ++s)
            next[(o * rows + r) * stride + s] +=
                matrix[r * n + i] * values[(o * n + i) * stride + s];
    values = std::move(next);
    shape[d] = rows;
  }
  return values;
}

std::vector<double> transposed(const std::vector<double>& matrix, int rows, int columns) {
  std::vector<double> result(matrix.size());
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) result[j * rows + i] = matrix[i * columns + j];
  return result;
}

#ifdef __AVX512F__
constexpr int n_lanes = 8;
#else
constexpr int n_lanes = 4;
#endif
using Lanes = double __attribute__((vector_size(n_lanes * sizeof(double))));

#define POISSON_INLINE inline __attribute__((always_inline))

// From the values at N nodes to the N modes, even ones first: x <- B x.
template <int N>
POISSON_INLINE void to_modes(const double* even, const double* odd, Lanes* x, int stride) {
  constexpr int n_odd = N / 2, n_even = N - n_odd;
  Lanes sum[n_even], difference[n_odd];
  for (int i = 0; i < n_odd; ++i) {
    sum[i] = x[i * stride] + x[(N - 1 - i) * stride];
    difference[i] = x[i * stride] - x[(N - 1 - i) * stride];
  }
  if (N % 2) sum[n_odd] = x[n_odd * stride];
  for (int m = 0; m < n_even; ++m) {
    Lanes value = even[m * n_even] * sum[0];
    for (int i = 1; i < n_even; ++i) value += even[m * n_even + i] * sum[i];
    x[m * stride] = value;
  }
  for (int m = 0; m < n_odd; ++m) {
    Lanes value = odd[m * n_odd] * difference[0];
    for (int i = 1; i < n_odd; ++i) value += odd[m * n_odd + i] * difference[i];
    x[(n_even + m) * stride] = value;
  }
}

// Its transpose: x <- B' x.
template <int N>
POISSON_INLINE void from_modes(const double* even, const double* odd, Lanes* x, int stride) {
  constexpr int n_odd = N / 2, n_even = N - n_odd;
  Lanes sum[n_even], difference[n_odd];
  for (int i = 0; i < n_even; ++i) {
    sum[i] = even[i] * x[0];
    for (int m = 1; m < n_even; ++m) sum[i] += even[m * n_even + i] * x[m * stride];
  }
  for (int i = 0; i < n_odd; ++i) {
    difference[i] = odd[i] * x[n_even * stride];
    for (int m = 1; m < n_odd; ++m) difference[i] += odd[m * n_odd + i] * x[(n_even + m) * stride];
  }
  for (int i = 0; i < n_odd; ++i) {
    x[i * stride] = sum[i] + difference[i];
    x[(N - 1 - i) * stride] = sum[i] - difference[i];
  }
  if (N % 2) x[n_odd * stride] = sum[n_odd];
}

}  // namespace

std::vector<double> lobatto_points(int order) {
  std::vector<double> points = {0};
  for (int i = order - 1; i >= 1; --i) {  // roots of P_k'
    double x = std::cos(pi * i / order);
    for (int step = 0; step < 20; ++step) {
      const auto [value, slope] = legendre(order, x);
      x -= (1 - x * x) * slope / (2 * x * slope - order * (order + 1) * value);
    }
    points.push_back(0.5 * (1 + x));
  }
  points.push_back(1);
  return points;
}

// One direction of an element, on [0, 1].
struct Elements::Line {
  explicit Line(int nodes);

  int n;                           // nodes
  std::vector<double> points;      // the nodes
  Square mass, stiffness;          // n x n
  std::vector<double> even, odd;   // rows of B, first half
  std::vector<double> lambda;      // eigenvalues of the modes, even ones first
  Square first_half, second_half;  // n x n: values at the nodes of a half line
};

Elements::Line::Line(int nodes) : n(nodes), points(lobatto_points(n - 1)) {
  const Quadrature rule = gauss(n);
  const std::vector<double> value = lagrange(points, rule.points),
                            slope = slopes(points, rule.points);
  mass.assign(static_cast<std::size_t>(n) * n, 0);
  stiffness = mass;
  for (int q = 0; q < n; ++q)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        mass[i * n + j] += rule.weights[q] * value[q * n + i] * value[q * n + j];
        stiffness[i * n + j] += rule.weights[q] * slope[q * n + i] * slope[q * n + j];
      }
  for (const int sign : {1, -1}) {  // s(n - 1 - i) = sign s(i)
    const int size = sign > 0 ? n - n / 2 : n / 2;
    const auto folded = [&](const Square& a) {
      Square half(static_cast<std::size_t>(size) * size, 0);
      for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) {
          half[i * size + j] = a[i * n + j];
          if (j != n - 1 - j) half[i * size + j] += sign * a[i * n + n - 1 - j];
          if (i != n - 1 - i) half[i * size + j] *= 2;
        }
      return half;
    };
    const Square half_mass = folded(mass);
    const auto [values, vectors] = eigen(size, folded(stiffness), half_mass);
    lambda.insert(lambda.end(), values.begin(), values.end());
    std::vector<double>& rows = sign > 0 ? even : odd;
    for (int m = 0; m < size; ++m)
      for (int i = 0; i < size; ++i) {  // B = S' M
        double sum = 0;
        for (int j = 0; j < size; ++j) sum += vectors[m * size + j] * half_mass[j * size + i];
        rows.push_back(i == n - 1 - i ? sum : 0.5 * sum);
      }
  }
  std::vector<double> half = points;
  for (double& x : half) x *= 0.5;
  first_half = lagrange(points, half);
  for (double& x : half) x += 0.5;
  second_half = lagrange(points, half);
}

// Rows of the element's nodes that hang, each with the nodes and weights it is made of.
struct Elements::Interpolation {
  std::vector<int> rows, starts = {0}, columns;
  std::vector<double> weights;

  // The values of those rows; `known` holds the nodes that the mesh lists.
  void apply(const double* known, double* values) const {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      double sum = 0;
      for (int c = starts[r]; c < starts[r + 1]; ++c) sum += weights[c] * known[columns[c]];
      values[rows[r]] = sum;
    }
  }

  // Its transpose, in place.
  void transpose(double* values) const {
    std::array<double, most_nodes> own;
    for (std::size_t r = 0; r < rows.size(); ++r) own[r] = std::exchange(values[rows[r]], 0);
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (int c = starts[r]; c < starts[r + 1]; ++c) values[columns[c]] += weights[c] * own[r];
  }
};

// `code` is that of p8est_lnodes.h: bits 0-2 the element's corner in its parent, 3-5 the faces at
// that corner that hang, by their normal, 6-8 the edges at that corner that hang, by their
// direction.
std::unique_ptr<const Elements::Interpolation> Elements::interpolation(unsigned code,
                                                                       const Line& line) {
  auto made = std::make_unique<Interpolation>();
  const int n = line.n, stride[3] = {1, n, n * n};
  const Square* halves[2] = {&line.first_half, &line.second_half};
  const auto bit = [code](int number) { return static_cast<int>(code >> number & 1); };
  for (int row = 0; row < n * n * n; ++row) {
    const int place[3] = {row % n, row / n % n, row / (n * n)};
    bool lies[3], interpolated[3] = {};  // on the faces at that corner; along which directions
    for (int d = 0; d < 3; ++d) lies[d] = place[d] == bit(d) * (n - 1);
    for (int d = 0; d < 3; ++d) {
      const int a = (d + 1) % 3, b = (d + 2) % 3;
      if (lies[d] && bit(3 + d)) interpolated[a] = interpolated[b] = true;
      if (lies[a] && lies[b] && bit(6 + d)) interpolated[d] = true;
    }
    // At that corner, lines of the element and of its parent have a node in common.
    for (int d = 0; d < 3; ++d) interpolated[d] = interpolated[d] && !lies[d];
    if (!interpolated[0] && !interpolated[1] && !interpolated[2]) continue;
    std::vector<std::pair<int, double>> terms = {{row, 1}};
    for (int d = 0; d < 3; ++d) {
      if (!interpolated[d]) continue;
      std::vector<std::pair<int, double>> next;
      for (const auto& [node, weight] : terms)
        for (int j = 0; j < n; ++j) {
          const double w = (*halves[bit(d)])[place[d] * n + j];
          if (std::abs(w) > 1e-13) next.emplace_back(node + (j - place[d]) * stride[d], weight * w);
        }
      terms = std::move(next);
    }
    made->rows.push_back(row);
    for (const auto& [node, weight] : terms) {
      made->columns.push_back(node);
      made->weights.push_back(weight);
    }
    made->starts.push_back(static_cast<int>(made->columns.size()));
  }
  return made;
}

// Loops over elements of N nodes per direction.
template <int N>
struct Elements::Loop {
  static constexpr int n_nodes = N * N * N;

  // x <- A x of one element per lane, whose kappa h is `scale`. Never inlined: all elements are
  // multiplied by the same instructions, so that their bits do not depend on the lane.
  __attribute__((noinline)) static void multiply(const Line& line, const Lanes& scale, Lanes* x) {
    constexpr int n_odd = N / 2, n_even = N - n_odd;
    double even[n_even * n_even], odd[n_odd * n_odd], lambda[N];  // copies: x aliases none of them
    std::copy_n(line.even.data(), n_even * n_even, even);
    std::copy_n(line.odd.data(), n_odd * n_odd, odd);
    std::copy_n(line.lambda.data(), N, lambda);
    for (int i = 0; i < N * N; ++i) to_modes<N>(even, odd, x + i * N, 1);
    for (int k = 0; k < N; ++k)
      for (int i = 0; i < N; ++i) to_modes<N>(even, odd, x + k * N * N + i, N);
    for (int i = 0; i < N * N; ++i) to_modes<N>(even, odd, x + i, N * N);
    for (int k = 0; k < N; ++k)
      for (int j = 0; j < N; ++j)
        for (int i = 0; i < N; ++i)
          x[(k * N + j) * N + i] *= scale * (lambda[k] + lambda[j] + lambda[i]);
    for (int i = 0; i < N * N; ++i) from_modes<N>(even, odd, x + i, N * N);
    for (int k = 0; k < N; ++k)
      for (int i = 0; i < N; ++i) from_modes<N>(even, odd, x + k * N * N + i, N);
    for (int i = 0; i < N * N; ++i) from_modes<N>(even, odd, x + i * N, 1);
  }

  static void run(const Elements& elements, int first, int last, const double* u, double* b) {
    const Mesh& mesh = elements.mesh_;
    Lanes x[n_nodes], scale = {};
    for (int element = first; element < last; element += n_lanes) {
      const int count = std::min(n_lanes, last - element);
      bool hangs = false;
      for (int lane = 0; lane < count; ++lane) {
        scale[lane] = mesh.kappa[element + lane] * mesh.size[element + lane];
        hangs |= elements.hanging(element + lane) != nullptr;
      }
      if (count == n_lanes && !hangs) {
        const int* nodes = mesh.nodes.data() + static_cast<std::size_t>(element) * n_nodes;
        for (int i = 0; i < n_nodes; ++i)
          for (int lane = 0; lane < n_lanes; ++lane) x[i][lane] = u[nodes[lane * n_nodes + i]];
        multiply(*elements.line_, scale, x);
        for (int lane = 0; lane < n_lanes; ++lane)
          for (int i = 0; i < n_nodes; ++i) b[nodes[lane * n_nodes + i]] += x[i][lane];
      } else {
        double values[n_nodes];
        std::fill_n(x, n_nodes, Lanes{});
        for (int lane = 0; lane < count; ++lane) {
          elements.gather(element + lane, u, values);
          for (int i = 0; i < n_nodes; ++i) x[i][lane] = values[i];
        }
        multiply(*elements.line_, scale, x);
        for (int lane = 0; lane < count; ++lane) {
          for (int i = 0; i < n_nodes; ++i) values[i] = x[i][lane];
          elements.scatter(element + lane, values, b);
        }
      }
    }
  }
};

Elements::Elements(const Mesh& mesh)
    : mesh_(mesh),
      n_(mesh.order + 1),
      line_(std::make_unique<const Line>(checked(mesh.order) + 1)) {
  static constexpr decltype(loop_) loops[highest_order] = {Loop<2>::run, Loop<3>::run, Loop<4>::run,
                                                           Loop<5>::run, Loop<6>::run, Loop<7>::run,
                                                           Loop<8>::run, Loop<9>::run};
  loop_ = loops[mesh.order - 1];
  for (const std::uint32_t code : mesh.hanging) {
    if (code == 0) continue;
    if (code >= interpolations_.size()) interpolations_.resize(code + 1);
    if (!interpolations_[code]) interpolations_[code] = interpolation(code, *line_);
  }
}

Elements::~Elements() = default;

const Elements::Interpolation* Elements::hanging(int element) const {
  if (mesh_.hanging.empty() || mesh_.hanging[element] == 0) return nullptr;
  return interpolations_[mesh_.hanging[element]].get();
}

// The values at the element's own nodes, hanging ones interpolated.
void Elements::gather(int element, const double* u, double* values) const {
  const int n_nodes = n_ * n_ * n_;
  const int* nodes = mesh_.nodes.data() + static_cast<std::size_t>(element) * n_nodes;
  for (int i = 0; i < n_nodes; ++i) values[i] = u[nodes[i]];
  if (const Interpolation* made = hanging(element)) {
    std::array<double, most_nodes> known;
    std::copy_n(values, n_nodes, known.begin());
    made->apply(known.data(), values);
  }
}

// Adds what belongs to the element's own nodes to those that the mesh lists.
void Elements::scatter(int element, double* values, double* b) const {
  const int n_nodes = n_ * n_ * n_;
  const int* nodes = mesh_.nodes.data() + static_cast<std::size_t>(element) * n_nodes;
  if (const Interpolation* made = hanging(element)) made->transpose(values);
  for (int i = 0; i < n_nodes; ++i) b[nodes[i]] += values[i];
}

void Elements::apply(int first, int last, const double* u, double* b) const {
  loop_(*this, first, last, u, b);
}

std::vector<double> Elements::matrix(int element) const {
  const int n_nodes = n_ * n_ * n_;
  const Square &mass = line_->mass, &stiffness = line_->stiffness;
  const double scale = mesh_.kappa[element] * mesh_.size[element];
  std::vector<double> a;
  for (int row = 0; row < n_nodes; ++row)
    for (int column = 0; column < n_nodes; ++column) {
      const int x = row % n_ * n_ + column % n_;
      const int y = row / n_ % n_ * n_ + column / n_ % n_;
      const int z = row / (n_ * n_) * n_ + column / (n_ * n_);
      a.push_back(scale * (stiffness[x] * mass[y] * mass[z] + mass[x] * stiffness[y] * mass[z] +
                           mass[x] * mass[y] * stiffness[z]));
    }
  if (const Interpolation* made = hanging(element))
    for (int pass = 0; pass < 2; ++pass) {  // C' A C: rows, then columns
      for (int row = 0; row < n_nodes; ++row)
        made->transpose(&a[static_cast<std::size_t>(row) * n_nodes]);
      a = transposed(a, n_nodes, n_nodes);
    }
  return a;
}

void Elements::add_diagonal(double* diagonal) const {
  const int n_nodes = n_ * n_ * n_;
  const Square &mass = line_->mass, &stiffness = line_->stiffness;
  std::vector<double> unit;  // of an element without hanging nodes, with kappa h = 1
  for (int i = 0; i < n_nodes; ++i) {
    const int x = i % n_ * (n_ + 1), y = i / n_ % n_ * (n_ + 1), z = i / (n_ * n_) * (n_ + 1);
    unit.push_back(stiffness[x] * mass[y] * mass[z] + mass[x] * stiffness[y] * mass[z] +
                   mass[x] * mass[y] * stiffness[z]);
  }
  std::vector<std::vector<double>> known(interpolations_.size());  // by code, with kappa h = 1
  for (int element = 0; element < mesh_.n_elements; ++element) {
    const int* nodes = mesh_.nodes.data() + static_cast<std::size_t>(element) * n_nodes;
    const double scale = mesh_.kappa[element] * mesh_.size[element];
    const std::vector<double>* own = &unit;
    if (hanging(element)) {
      std::vector<double>& found = known[mesh_.hanging[element]];
      if (found.empty()) {
        const std::vector<double> a = matrix(element);
        for (int i = 0; i < n_nodes; ++i)
          found.push_back(a[static_cast<std::size_t>(i) * (n_nodes + 1)] / scale);
      }
      own = &found;
    }
    for (int i = 0; i < n_nodes; ++i) diagonal[nodes[i]] += scale * (*own)[i];
  }
}

void Elements::add_load(const Function& f, double* b) const {
  const Quadrature rule = gauss(n_);
  const std::vector<double> to_nodes = transposed(lagrange(line_->points, rule.points), n_, n_);
  for (int element = 0; element < mesh_.n_elements; ++element) {
    const double h = mesh_.size[element];
    const double* corner = &mesh_.corner[3 * static_cast<std::size_t>(element)];
    std::vector<double> values;
    for (int k = 0; k < n_; ++k)
      for (int j = 0; j < n_; ++j)
        for (int i = 0; i < n_; ++i)
          values.push_back(h * h * h * rule.weights[i] * rule.weights[j] * rule.weights[k] *
                           f({corner[0] + h * rule.points[i], corner[1] + h * rule.points[j],
                              corner[2] + h * rule.points[k]}));
    values = in_three_directions(to_nodes, n_, n_, std::move(values));
    scatter(element, values.data(), b);
  }
}

double Elements::squared_error(const Function& exact, const double* u) const {
  const int n = n_ + 2;
  const Quadrature rule = gauss(n);
  const std::vector<double> to_points = lagrange(line_->points, rule.points);
  double sum = 0;
  std::vector<double> nodal(static_cast<std::size_t>(n_) * n_ * n_);
  for (int element = 0; element < mesh_.n_elements; ++element) {
    const double h = mesh_.size[element];
    const double* corner = &mesh_.corner[3 * static_cast<std::size_t>(element)];
    gather(element, u, nodal.data());
    const std::vector<double> values = in_three_directions(to_points, n, n_, nodal);
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
          const double error =
              values[(k * n + j) * n + i] -
              exact({corner[0] + h * rule.points[i], corner[1] + h * rule.points[j],
                     corner[2] + h * rule.points[k]});
          sum += h * h * h * rule.weights[i] * rule.weights[j] * rule.weights[k] * error * error;
        }
  }
  return sum;
}

}  // namespace poisson
