// SPDX-License-Identifier: BSD-3-Clause
//
// metrics.cpp - see metrics.hpp. Only metrics that grow as whole numbers are used.
#include "sources/scorep/metrics.hpp"

#include "sources/scorep/score_p.hpp"

namespace perfield::scorep {

FollowedMetric followed_metrics[kMostMetrics];
std::atomic<int> n_followed_metrics{0};

namespace {

// Score-P's numbers.
constexpr int kSamplingSet = 13, kWithEachEvent = 0, kOfCpuThreads = 1;
constexpr int kFloatingPoint = 2, kLastModeThatGrows = 3;

bool comes_with_events(Handle set) noexcept {
  return ask<int>(kSamplingSetGetOccurrence, -1, set) == kWithEachEvent &&
         ask<int>(kSamplingSetGetClass, -1, set) == kOfCpuThreads &&
         !ask<bool>(kSamplingSetIsScoped, true, set);
}

bool grows(Handle metric) noexcept {
  return ask<int>(kMetricGetValueType, kFloatingPoint, metric) != kFloatingPoint &&
         ask<int>(kMetricGetMode, kLastModeThatGrows + 1, metric) <= kLastModeThatGrows;
}

}  // namespace

void note_definition(Handle handle, int type) noexcept {
  static std::atomic<bool> is_known{false};
  // An older Score-P, with fewer callbacks, may number its definition types differently.
  if (type != kSamplingSet || !callbacks[kCallbacks - 1]) return;
  if (!comes_with_events(handle) || is_known.exchange(true)) return;
  const Handle* metrics = ask<const Handle*>(kSamplingSetGetMetrics, nullptr, handle);
  const int n = metrics ? ask<uint8_t>(kSamplingSetGetSize, 0, handle) : 0;
  int followed = 0;
  for (int place = 0; place < n && followed < kMostMetrics; ++place) {
    if (!grows(metrics[place])) continue;
    const perfield_quantity quantity = perfield_quantity_define(
        ask<const char*>(kMetricGetName, nullptr, metrics[place]), "1", PERFIELD_PER_REGION,
        PERFIELD_STEPS_SUM, PERFIELD_THREADS_SUM, "what a metric of Score-P counted");
    if (quantity) followed_metrics[followed++] = {uint8_t(place), quantity};
  }
  n_followed_metrics.store(followed, std::memory_order_release);
}

}  // namespace perfield::scorep
