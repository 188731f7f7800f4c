// SPDX-License-Identifier: BSD-3-Clause
//
// input.hpp - the user's input: a file, and options that override it. The defaults are the values
// of heat3d.input.
#pragma once

#include <array>
#include <string>
#include <vector>

struct Input {
  bool print_log = true;
  int multiple_minds = 3;
  std::array<int, 3> base_minds_dim{1, 1, 1};
  int multiple_points = 9;
  std::array<int, 3> base_points_dim{1, 1, 1};
  int max_num_time_steps = 10;
  double dt = 0.5;  // s
  bool check_convergence = false;
  double precision_T = 1.0;                                                            // K
  double thermal_diffusivity = 0.000864;                                               // m^2/s
  double internal_T = 200.0;                                                           // K
  std::array<double, 3> d_dim{0.12, 0.1, 0.09};                                        // m
  std::array<double, 6> boundary_conditions{300.0, 100.0, 400.0, 50.0, 150.0, 350.0};  // K
  std::string exchange = "put";
  double hot_spot = 0;  // ms
  bool print_hot_spot = false;
  bool verify = false;

  // Ranks and grid points along x, y, z.
  std::array<int, 3> minds() const;
  std::array<int, 3> points() const;

  // The largest dt in seconds for which this scheme is stable.
  double largest_stable_dt() const;
};

// Reads `heat3d [INPUT FILE] [--key value ...]` into input. Returns as sentences what is wrong with
// it for a job of n_ranks ranks; empty if nothing is.
std::vector<std::string> read_input(int argc, char** argv, int n_ranks, Input& input);
