// SPDX-License-Identifier: BSD-3-Clause
//
// delay_costs.hpp - where waiting began. A rank that another waits for may be late because it
// computed longer, or because it waited itself; then the cost is passed on. After Boehme et al.,
// Identifying the root causes of wait states in large-scale parallel applications (ICPP 2010).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "waits/timeline.hpp"

namespace perfield::waits {

// Others' waiting that began on a rank in a step, by who waited for it: a rank is compared with the
// one that waited, not with the mean of all, as coupled codes work in different regions. That
// rank's own waiting is a part of it, and so is what others waited for that rank meanwhile.
struct Cost {
  int64_t step;
  int32_t rank;
  int32_t waiting;          // the rank that waited
  double computing_ns;      // because it computed longer than that rank
  double communicating_ns;  // because it communicated longer, or for no reason that is known
  double longer_ns;         // by how much longer it computed
};

struct DelayCosts {
  std::vector<Cost> costs;  // by step, rank and waiting rank
  double unbooked_ns = 0;   // waiting whose cause is not known, or not certain
};

// The costs add up to the waiting of the exact states with a known cause. From a rank that waits to
// one that it waits for, at most `most_steps` steps count; a chain of such ranks may reach back
// further. Computation before a rank's first event is not seen, and between logged steps MPI calls
// that are in no row count as computation.
//
// A waits for B since both last met. B's lateness is divided by how much more than A it computed,
// waited and communicated in that time. Its waiting is passed on to the states in which it waited.
DelayCosts delay_costs(const Event* events, const State* states, size_t n_states,
                       const Timeline& timeline, int64_t most_steps);

}  // namespace perfield::waits
