// SPDX-License-Identifier: BSD-3-Clause
//
// uneven_steps.hpp - finds ranks that step together but closed different steps, so that steps of
// one index do not belong together, and takes these out of what the summary compares.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "summary/totals.hpp"

namespace perfield {

class UnevenSteps {
 public:
  // Changes run->steps: ranks that closed different numbers are groups of their own there, unless
  // the program's own numbers and times show that their steps are the same; and steps to which
  // ranks gave different numbers are left out.
  explicit UnevenSteps(RunTotals* run);

  // Whether some frames may join different steps.
  bool any_doubt() const { return is_doubtful_ || n_disagreeing_ > 0; }
  // What the ranks closed; "" if they are even. compares: whether an imbalance is reported.
  std::string line(bool compares) const;
  // What to do about it.
  std::string advice_line() const;
  // For the line of steps: ranks that closed a few less, where no frame is in doubt.
  std::string end_of_steps_line() const;

 private:
  using Classes = std::map<uint64_t, std::vector<int32_t>>;  // ranks by how many steps they closed

  void look_at(RunTotals* run, const std::string& name, uint64_t group, bool is_only);
  void look_at_numbers(const Totals& steps, uint64_t group, uint64_t shared);
  void separate(RunTotals* run, uint64_t group) const;
  std::string in_words() const;

  std::string group_;  // its name, if there are several
  Classes classes_;    // of the one group that is reported; empty: even
  bool is_final_ = false, is_doubtful_ = false;
  uint64_t n_disagreeing_ = 0, n_steps_ = 0;
  uint64_t first_disagreeing_ = 0;
  StepNumbers first_numbers_;
};

}  // namespace perfield
