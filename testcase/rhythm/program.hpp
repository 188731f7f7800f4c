// SPDX-License-Identifier: BSD-3-Clause
//
// What the programs share beside their work: the loop over steps, timed sleeps, delays and noise.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "exchange.hpp"
#include "options.hpp"

namespace rhythm {

struct Ranks {
  int rank, size;
};

// What a program computed, on all ranks.
struct Result {
  std::string text;
  bool right;
};

// One rank's part of a program.
class Work {
 public:
  virtual ~Work() = default;
  // Works for one step. Steps count from 1.
  virtual void work(int step) = 0;
  // How many numbers a message must hold; the two functions below write and read them.
  virtual size_t numbers() const { return 0; }
  // Whether a step receives before it works, instead of after.
  virtual bool receives_first() const { return false; }
  virtual void before_sending(Exchange&) {}
  virtual void after_receiving(const Exchange&, int /*step*/) {}
  // Checks the numbers after all steps. Collective.
  virtual Result result(int steps) = 0;
};

struct Program {
  const char* name;
  const char* about;  // for --help: what it computes, its own options, how it is checked
  Options defaults;
  bool can_lag;  // has --lagged
  std::function<std::unique_ptr<Work>(const Options&, Ranks)> start;
};

// Of all ranks' numbers: the same for any division among them. first: the place of this rank's
// first number among all. Collective.
unsigned long long checksum(const double* numbers, size_t n, uint64_t first);

// The main function of each program.
int run(int argc, char** argv, const Program& program);

}  // namespace rhythm
