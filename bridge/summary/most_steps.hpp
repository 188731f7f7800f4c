// SPDX-License-Identifier: BSD-3-Clause
//
// most_steps.hpp - tests which ranks have most in most steps, whatever a few steps add: a rank that
// is slowest nearly always, beside interruptions that are far longer. See most_steps.cpp.
#pragma once

#include <cstddef>
#include <vector>

#include "summary/chance.hpp"

namespace perfield {

class MostSteps {
 public:
  // table: two ranks or more. Leaves steps out in which nobody has anything.
  explicit MostSteps(const Table& table);

  // What a rank has in a step, relative to the mean of the ranks: means over the steps, from which
  // each block leaves out its lowest and its highest quarter.
  const std::vector<double>& relative() const { return relative_; }
  double largest() const;  // of these
  // What the ranks would have on average if all steps were like most: in the unit of the table.
  double mean_in_all() const { return mean_in_all_; }
  // The chance that ranks which are equal give this rank so much more than the others.
  double chance_of(size_t rank) const;
  // The same of two ranks: that `rank` has so much less than `most`.
  double chance_of_less(size_t rank, size_t most) const;
  // The chance that ranks which are equal follow these numbers, one per rank, so far: those with
  // more have more.
  double chance_of_order(const std::vector<double>& numbers) const;
  // The smallest excess of one rank over the others, relative, that the test finds in 95 % of runs
  // at this level, by the noise of these steps; infinite where it finds none. least: over the mean,
  // below which nothing is reported.
  double visible(double level, double least) const;

  // A part of the run: the rank that has most there, and the chance that equal ranks give one of
  // them so much more than the others, in any of the parts.
  struct Window {
    size_t most;
    double chance;
  };
  // None where the parts would be too short.
  std::vector<Window> windows(size_t n_windows) const;

 private:
  struct Scatter {
    double variance = 0;               // of a score, without what ranks and steps differ by
    double n_blocks = 0, freedom = 0;  // blocks that count, and degrees of freedom of the variance
    bool is_correlated = false;        // neighbouring blocks are alike, or may be
  };
  double score(size_t block, size_t rank) const { return scores_[block * n_ranks_ + rank]; }
  // The mean of each rank's scores from a block to another one.
  std::vector<double> means(size_t begin, size_t end) const;
  // Of what is left when the scores of each window lose its means. windows: where each begins, and
  // the last one ends.
  Scatter scatter_in(const std::vector<size_t>& windows) const;

  size_t n_ranks_ = 0, n_blocks_ = 0;
  double mean_in_all_ = 0, unit_ = 0;  // unit: of scores, as a logarithm
  std::vector<double>
      blocks_;  // [block * n_ranks + rank], relative to the median rank of each step
  std::vector<double> scores_;  // their logarithms, see most_steps.cpp; the mean of each block is 0
  std::vector<double> relative_, means_;
  Scatter scatter_;
};

}  // namespace perfield
