// SPDX-License-Identifier: BSD-3-Clause
//
// metrics.hpp - metrics that Score-P reads at each begin and end of a region (SCOREP_METRIC_PAPI,
// SCOREP_METRIC_PERF, SCOREP_METRIC_RUSAGE), passed to the recorder as quantities of regions.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/source.h"
#include "sources/scorep/substrate_interface.hpp"

namespace perfield::scorep {

// A metric's index among the values of an event, and its quantity.
struct FollowedMetric {
  uint8_t place;
  perfield_quantity quantity;
};
inline constexpr int kMostMetrics = 16;
extern FollowedMetric followed_metrics[kMostMetrics];
extern std::atomic<int> n_followed_metrics;

// Score-P has defined something; only the set of metrics that comes with events matters here.
void note_definition(Handle handle, int type) noexcept;

// Sets the metrics' values; call right before their region begins or ends.
inline void metrics_stand(const uint64_t* values) noexcept {
  if (!values) return;
  const int n = n_followed_metrics.load(std::memory_order_acquire);
  for (int i = 0; i < n; ++i)
    perfield_quantity_reading(followed_metrics[i].quantity, values[followed_metrics[i].place]);
}

}  // namespace perfield::scorep
