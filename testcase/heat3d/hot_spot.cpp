// SPDX-License-Identifier: BSD-3-Clause
//
// hot_spot.cpp - the path of the hot spot and its extra work. The work burns CPU time, not
// wall-clock time, so it costs the same if several ranks share a core.
#include "hot_spot.hpp"

#include <cmath>
#include <ctime>

std::array<int, 3> hot_spot(const Grid& grid, int step, int n_steps) {
  const double way = (step - 0.5) / n_steps, angle = 2 * (2 * std::acos(-1.0)) * way;
  const std::array<double, 3> place{0.5 + 0.35 * std::cos(angle), 0.5 + 0.35 * std::sin(angle),
                                    way};
  std::array<int, 3> point;
  for (int d = 0; d < 3; ++d) point[d] = 1 + static_cast<int>(place[d] * grid.points[d]);
  return point;
}

void work_for(double milliseconds) {
  const auto cpu_time_ms = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
  };
  const double end = cpu_time_ms() + milliseconds;
  while (cpu_time_ms() < end) {
  }
}
