// SPDX-License-Identifier: BSD-3-Clause
#include "consistent_cg.hpp"

#include <cmath>

namespace poisson {

Solved consistent_cg(Operator& of, Splitting& splitting, Record& record, Show& show,
                     const std::vector<double>& diagonal, const std::vector<double>& b, double rtol,
                     int max_iterations, std::vector<double>& u) {
  const size_t n = b.size(), n_owned = size_t(of.mesh().n_owned);
  const auto dot = [&](const std::vector<double>& x, const std::vector<double>& y) {
    double sum = 0;
    for (size_t node = 0; node < n_owned; ++node) sum += x[node] * y[node];
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, of.comm());
    return sum;
  };
  std::vector<double> r = b, z(n), p(n), q(n);
  u.assign(n, 0);
  Solved solved;
  solved.residual = std::sqrt(dot(r, r));
  const double enough = rtol * solved.residual;
  double last = 1;
  while (true) {
    solved.converged = solved.residual <= enough;
    if (solved.converged || record.full() || solved.iterations == max_iterations) break;
    for (size_t node = 0; node < n; ++node) z[node] = r[node] / diagonal[node];
    const double now = dot(r, z);
    for (size_t node = 0; node < n; ++node)
      p[node] = solved.iterations ? z[node] + now / last * p[node] : z[node];
    last = now;
    MatVec one{};
    of.gather_scatter(p.data(), q.data(), splitting, record, one);
    record.add(one);
    show.matvec(one);
    const double step = now / dot(p, q);
    for (size_t node = 0; node < n; ++node) {
      u[node] += step * p[node];
      r[node] -= step * q[node];
    }
    solved.residual = std::sqrt(dot(r, r));
    ++solved.iterations;
    show.iteration();
  }
  solved.reason = solved.converged ? "the residual is small enough"
                  : record.full()  ? "enough MatVecs are recorded"
                                   : "it reached --max-iterations";
  return solved;
}

}  // namespace poisson
