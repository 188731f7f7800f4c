// SPDX-License-Identifier: BSD-3-Clause
//
// problem.hpp - -div(kappa grad u) = f with u = 0 on the boundary of a box, and its exact solution.
// kappa jumps at half the length along x, from 1 to `jump`. With r, s, t from 0 to 1 along x, y, z,
//   u = r (1 - r) (1 - 2 r) e^r  s (1 - s) e^s  t (1 - t) e^t / kappa
// is 0 at the jump, and its flux is continuous there. So f is the same for any jump. Products of
// sines would be simpler, but a mesh of cubes has them as eigenvectors: one iteration would do.
#pragma once

#include <array>

#include "kernel.hpp"

namespace poisson {

struct Problem {
  Problem(const std::array<double, 3>& length, double jump);
  Function kappa, load, exact;
};

}  // namespace poisson
