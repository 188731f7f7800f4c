// SPDX-License-Identifier: BSD-3-Clause
//
// hot_spot.hpp - extra work that moves through the box and makes another rank the slowest one every
// few steps: a known answer to check the measurement against.
#pragma once

#include <array>

#include "grid.hpp"

// The global numbers of the hot spot's point in step 1, 2, ..., n_steps: two turns of a helix about
// the z axis, from bottom to top.
std::array<int, 3> hot_spot(const Grid& grid, int step, int n_steps);

// Keeps this core busy for this many milliseconds of CPU time.
void work_for(double milliseconds);
