// SPDX-License-Identifier: BSD-3-Clause
//
// heat.hpp - the temperature of this rank's block and how it changes in a time step:
// first order in time (forward), second order in space (central).
#pragma once

#include <cstdint>
#include <vector>

#include "grid.hpp"
#include "input.hpp"

class Heat {
 public:
  // The initial temperature: internal_T between six walls. With `verify`, a sine wave along each
  // direction between walls of 0 K, which has a known solution.
  Heat(const Input& input, const Grid& grid);

  // Includes the halo. The address never changes.
  double* temperature() { return temperature_.data(); }

  // Computes one time step for this rank's points; the halo must be up to date. Returns the largest
  // change of any point, in K.
  double step();

  // A number that changes with any bit of any temperature. Its sum over the ranks does not depend
  // on how the box is divided.
  uint64_t checksum() const;

  // The largest deviation from the known solution of the `verify` case after `time` seconds, in K.
  double error(double time) const;

 private:
  double sine_wave(int i, int j, int k) const;

  const Grid& grid_;
  std::array<double, 3> weight_;  // diffusivity * dt / d^2
  double decay_;                  // of the sine wave, 1/s
  std::vector<double> temperature_, next_;
};
