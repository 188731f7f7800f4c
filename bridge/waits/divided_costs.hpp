// SPDX-License-Identifier: BSD-3-Clause
//
// divided_costs.hpp - the regions of a rank's computation in which a cost began. Of a step only the
// sums of regions are known, not when a region ran, so this is an estimate.
#pragma once

#include <cstddef>

#include "waits/delay_costs.hpp"

namespace perfield::waits {

// ns that a rank spent in each region, and not in MPI calls that may wait, in the step of the cost;
// `stride` numbers lie between two regions.
struct OfRegions {
  const double* ns;
  size_t n, stride;
  double operator[](size_t region) const { return ns[region * stride]; }
};

// Adds cost.computing_ns to `parts`, which has `own.n` numbers with the stride of `own`. Returns
// what is left.
//
// As much as the rank computed longer than the one that waited, in this step, is divided in
// proportion to how much longer it was in each region (after Boehme et al., ICPP 2010). The rest
// of the delay came of the order of events in the step: `by_time` divides it in proportion to the
// rank's time in each region, as far as that is long enough; else it is left.
double divide_cost(const Cost& cost, const OfRegions& own, const OfRegions& waiting, bool by_time,
                   double* parts);

}  // namespace perfield::waits
