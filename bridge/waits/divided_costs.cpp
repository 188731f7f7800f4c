// SPDX-License-Identifier: BSD-3-Clause
//
// divided_costs.cpp - see divided_costs.hpp.
#include "waits/divided_costs.hpp"

#include <algorithm>

namespace perfield::waits {

double divide_cost(const Cost& cost, const OfRegions& own, const OfRegions& waiting, bool by_time,
                   double* parts) {
  double longer = 0, time = 0;
  const auto longer_in = [&](size_t region) {
    return std::max(0.0, own[region] - waiting[region]);
  };
  for (size_t region = 0; region < own.n; ++region) {
    longer += longer_in(region);
    time += own[region];
  }
  // As shares of the delay.
  const double delay = std::max(cost.longer_ns, 1.0);
  const double by_excess = longer > 0 ? std::min(1.0, longer / delay) : 0;
  const double of_order = by_time ? std::clamp(time / delay - by_excess, 0.0, 1 - by_excess) : 0;
  for (size_t region = 0; region < own.n; ++region) {
    double share = 0;
    if (by_excess > 0) share += by_excess * longer_in(region) / longer;
    if (of_order > 0) share += of_order * own[region] / time;
    parts[region * own.stride] += cost.computing_ns * share;
  }
  return cost.computing_ns * (1 - by_excess - of_order);
}

}  // namespace perfield::waits
