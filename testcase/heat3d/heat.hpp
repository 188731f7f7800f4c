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
  // The temperature at the start: internal_T between six walls, or with `verify` a sine wave along
  // each direction between walls of 0 K, of which the solution is known.
  Heat(const Input& input, const Grid& grid);

  // With the halo; stays where it is.
  double* temperature() { return temperature_.data(); }

  // One time step of this rank's points; the halo must be up to date. Returns the largest change
  // of any of them, in K.
  double step();

  // A number that any change to any bit of any temperature changes. The sum over the ranks does
  // not depend on how the box is divided.
  uint64_t checksum() const;

  // The largest distance to the known solution of the `verify` case after `time` seconds, in K.
  double error(double time) const;

 private:
  double sine_wave(int i, int j, int k) const;

  const Grid& grid_;
  std::array<double, 3> weight_;  // diffusivity * dt / d^2
  double decay_;                  // of the sine wave, 1/s
  std::vector<double> temperature_, next_;
};
