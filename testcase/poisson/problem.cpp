// SPDX-License-Identifier: BSD-3-Clause
#include "problem.hpp"

#include <cmath>

namespace poisson {

namespace {

// The factors of u along one axis, and their second derivatives.
double along_x(double r) { return r * (1 - r) * (1 - 2 * r) * std::exp(r); }
double along_x_2(double r) { return (-4 + r + 9 * r * r + 2 * r * r * r) * std::exp(r); }
double across(double s) { return s * (1 - s) * std::exp(s); }
double across_2(double s) { return -s * (3 + s) * std::exp(s); }

}  // namespace

Problem::Problem(const std::array<double, 3>& length, double jump) {
  kappa = [jump, half = length[0] / 2](const auto& at) { return at[0] < half ? 1.0 : jump; };
  exact = [length, kappa = kappa](const auto& at) {
    return along_x(at[0] / length[0]) * across(at[1] / length[1]) * across(at[2] / length[2]) /
           kappa(at);
  };
  load = [length](const auto& at) {
    const double r = at[0] / length[0], s = at[1] / length[1], t = at[2] / length[2];
    return -along_x_2(r) * across(s) * across(t) / (length[0] * length[0]) -
           along_x(r) * across_2(s) * across(t) / (length[1] * length[1]) -
           along_x(r) * across(s) * across_2(t) / (length[2] * length[2]);
  };
}

}  // namespace poisson
