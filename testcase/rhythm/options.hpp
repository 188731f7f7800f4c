// SPDX-License-Identifier: BSD-3-Clause
//
// The command line that the programs share. kHelp in options.cpp documents it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace rhythm {

struct Delay {
  int rank;
  int step;  // counted from 1
  double periods;
};

enum class Topology { chain, ring, none };

struct Options {
  int steps = 100;
  long size = 0;     // of one rank's work
  long columns = 0;  // of a grid
  bool lagged = false;
  Topology topology = Topology::chain;
  std::vector<int> send_to = {1};  // rank i sends to i + each of these
  long bytes = 0;                  // of a message; 0: the smallest that the program needs
  bool wait_for_each = false;      // one MPI_Wait per request, not one MPI_Waitall
  std::vector<Delay> delays;
  double noise = 0;  // mean, in periods
  uint64_t seed = 1;
  double sleep_s = 0;  // 0: real work
  double unequal = 0;
  bool help = false;
};

// The defaults of a program. columns: 0 if it has no --columns.
inline Options sized(long size, long columns = 0) {
  Options options;
  options.size = size;
  options.columns = columns;
  return options;
}

// What is wrong with the command, as a sentence.
struct Misuse : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws Misuse. n_ranks: of the world, which the options must fit. can_lag: the program has
// --lagged.
Options read_options(int argc, char** argv, int n_ranks, const Options& defaults, bool can_lag);

extern const char* const kHelp;

}  // namespace rhythm
