// SPDX-License-Identifier: BSD-3-Clause
//
// output_steps.hpp - finds the steps that write output, and what they cost. The rule is
// that of perfield.analysis.steps.
#pragma once

#include <cstddef>
#include <string>

#include "summary/totals.hpp"

namespace perfield {

class OutputSteps {
 public:
  explicit OutputSteps(const RunTotals& run);

  // "every 20 steps (3 of 60); these take 10.9 times as long as the others and cost ..."; "" if
  // these steps cost next to nothing, or may be longer by chance.
  std::string line() const;
  // Whether output costs so much that its line comes first.
  bool comes_first() const;

 private:
  size_t n_steps_ = 0, n_output_ = 0;
  uint64_t period_ = 0;  // of steps that write; 0: irregular, or too few to know
  double ratio_ = 0;     // median length of a step that writes, to that of the others
  double share_ = 0;     // of the elapsed time: what they take longer than the others
};

}  // namespace perfield
