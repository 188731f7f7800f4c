// SPDX-License-Identifier: BSD-3-Clause
//
// heat.cpp - the numerics of the heat equation dT/dt = diffusivity * laplace(T).
#include "heat.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

static const double kPi = std::acos(-1.0);

Heat::Heat(const Input& input, const Grid& grid)
    : grid_(grid), decay_(0), temperature_(grid.at_end(), input.internal_T) {
  for (int d = 0; d < 3; ++d) {
    const double wave_number = kPi / grid.position(d, grid.points[d] + 1);
    weight_[d] = input.thermal_diffusivity * input.dt / (grid.d[d] * grid.d[d]);
    decay_ += input.thermal_diffusivity * wave_number * wave_number;
  }
  const std::array<int, 3> sizes = grid.sizes();
  for (int k = 0; k < sizes[2]; ++k)
    for (int j = 0; j < sizes[1]; ++j)
      for (int i = 0; i < sizes[0]; ++i) {
        double& value = temperature_[grid.at(i, j, k)];
        const std::array<int, 3> local{i, j, k};
        if (input.verify) value = sine_wave(i, j, k);
        for (int d = 0; d < 3; ++d) {
          const int point = grid.first[d] + local[d];
          if (point != 0 && point != grid.points[d] + 1) continue;
          value = input.verify ? 0 : input.boundary_conditions[2 * d + (point != 0)];
        }
      }
  next_ = temperature_;
}

double Heat::step() {
  const size_t row = grid_.at(0, 1, 0), plane = grid_.at(0, 0, 1);
  const double *t = temperature_.data(), wx = weight_[0], wy = weight_[1], wz = weight_[2];
  double largest_change = 0;
  for (int k = 1; k <= grid_.n[2]; ++k)
    for (int j = 1; j <= grid_.n[1]; ++j)
      for (int i = 1; i <= grid_.n[0]; ++i) {
        const size_t p = grid_.at(i, j, k);
        const double change = wx * (t[p - 1] - 2 * t[p] + t[p + 1]) +
                              wy * (t[p - row] - 2 * t[p] + t[p + row]) +
                              wz * (t[p - plane] - 2 * t[p] + t[p + plane]);
        next_[p] = t[p] + change;
        largest_change = std::max(largest_change, std::abs(change));
      }
  std::copy(next_.begin(), next_.end(), temperature_.begin());
  return largest_change;
}

uint64_t Heat::checksum() const {
  uint64_t sum = 0;
  for (int k = 1; k <= grid_.n[2]; ++k)
    for (int j = 1; j <= grid_.n[1]; ++j)
      for (int i = 1; i <= grid_.n[0]; ++i) {
        uint64_t bits;
        std::memcpy(&bits, &temperature_[grid_.at(i, j, k)], sizeof bits);
        const uint64_t x = grid_.first[0] + i, y = grid_.first[1] + j, z = grid_.first[2] + k;
        bits = (bits ^ (x + (y << 21) + (z << 42))) * 0x9E3779B97F4A7C15u;
        sum += (bits ^ (bits >> 29)) * 0xBF58476D1CE4E5B9u;
      }
  return sum;
}

double Heat::error(double time) const {
  double largest = 0;
  for (int k = 1; k <= grid_.n[2]; ++k)
    for (int j = 1; j <= grid_.n[1]; ++j)
      for (int i = 1; i <= grid_.n[0]; ++i)
        largest = std::max(largest, std::abs(temperature_[grid_.at(i, j, k)] -
                                             sine_wave(i, j, k) * std::exp(-decay_ * time)));
  return largest;
}

double Heat::sine_wave(int i, int j, int k) const {
  const std::array<int, 3> local{i, j, k};
  double value = 1;
  for (int d = 0; d < 3; ++d)
    value *= std::sin(kPi * (grid_.first[d] + local[d]) / (grid_.points[d] + 1));
  return value;
}
