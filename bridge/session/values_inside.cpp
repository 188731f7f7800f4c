// SPDX-License-Identifier: BSD-3-Clause
//
// values_inside.cpp - see values_inside.hpp. Sums are formed in the order of Python's, so that both
// give the same numbers to the last bit.
#include "session/values_inside.hpp"

#include <algorithm>
#include <cmath>

namespace perfield {

std::vector<std::pair<size_t, double>> values_inside(uint32_t classes, double region_time,
                                                     const SecondsInside& seconds,
                                                     const Watched& watched) {
  std::vector<std::pair<size_t, double>> values;
  if (!classes) return values;
  const bool entered = std::isfinite(region_time);
  const auto add = [&](size_t field, bool known, double value) {
    values.emplace_back(field, entered && known ? value : NAN);
  };
  double mpi = 0;
  for (int c = 0; c < kMpiClasses; ++c) mpi += seconds.of[c];
  const double files = seconds.of[SecondsInside::kFiles];
  if (classes & ((1u << kMpiClasses) - 1)) add(0, watched.mpi, mpi);
  for (size_t c = 0; c < kMpiClasses; ++c)
    if (classes >> c & 1) add(1 + c, watched.mpi, seconds.of[c]);
  if (classes >> SecondsInside::kFiles & 1) add(1 + kMpiClasses, watched.files, files);
  add(2 + kMpiClasses, watched.mpi || watched.alone, std::max(region_time - mpi - files, 0.0));
  return values;
}

}  // namespace perfield
