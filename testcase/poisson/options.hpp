// SPDX-License-Identifier: BSD-3-Clause
//
// options.hpp - the command line. kHelp in options.cpp documents it.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "splitting.hpp"

namespace poisson {

struct Options {
  std::array<int, 3> elements = {32, 32, 32};
  std::array<int, 3> elements_per_rank = {0, 0, 0};  // 0: --elements holds
  std::array<int, 3> ranks = {0, 0, 0};              // 0: as few shared faces as possible
  int order = 1;
  std::array<int, 2> octree = {-1, -1};  // coarsest and finest level; -1: a box
  double jump = 1000;

  SplittingOptions splitting;
  bool gather_scatter = false;
  std::string solver = "cg";            // cg, pipelined
  std::string preconditioner = "none";  // none, jacobi, multigrid
  int levels = 0;                       // 0: as many as the mesh allows
  int smoothing = 2;
  double rtol = 1e-8;
  int max_iterations = 10000;

  std::int64_t matvecs = 0;      // 0: one solve
  std::string output;            // directory; empty: none
  std::string matrix;            // file; empty: none
  std::string steps = "matvec";  // matvec, iteration
  std::string injected;          // what was injected; empty: nothing
  bool help = false;
};

// What is wrong with the command, as a sentence.
struct Misuse : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws Misuse. Fills in what follows from the number of ranks.
Options read_options(int argc, char** argv, int n_ranks);

extern const char* const kHelp;

}  // namespace poisson
