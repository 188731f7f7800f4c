// SPDX-License-Identifier: BSD-3-Clause
//
// chance.hpp - tests whether differences between ranks may be chance, so that the summary
// names only what a second run would show again. Plain arithmetic on tables: no random numbers, so
// the same run always gives the same answer. docs/chance.md states the tests for users.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace perfield {

// One number per rank and step. Steps are in the order in which they ran.
struct Table {
  size_t n_ranks = 0, n_steps = 0;
  std::vector<double> values;  // [step * n_ranks + rank]

  Table() = default;
  Table(size_t ranks, size_t steps) : n_ranks(ranks), n_steps(steps), values(ranks * steps, 0.0) {}
  double at(size_t step, size_t rank) const { return values[step * n_ranks + rank]; }
  double& at(size_t step, size_t rank) { return values[step * n_ranks + rank]; }

  double mean(size_t step) const;                           // over ranks
  size_t largest(size_t step) const;                        // the first rank with most
  double of_rank(size_t rank) const;                        // sum over steps
  double of_ranks(const std::vector<size_t>& ranks) const;  // likewise, of all of these
  double sum() const;
  Table without(size_t rank) const;  // its column
};

enum class Pattern {
  chance,   // who has most changes as by chance, or the ranks hardly differ
  fixed,    // the same ranks have most, step after step
  moving,   // the rank with most changes, but not by chance
  untested  // some ranks have a tenth more than the mean, in a single step, which nothing can test
};

// A stretch of steps, from begin to before end, in n_most of which this rank has most.
struct Turn {
  size_t rank, begin, end, n_most;
};

struct Differences {
  Pattern pattern = Pattern::chance;
  bool in_most_steps = false;  // fixed: in most steps, while few steps of other ranks add more
  double usual = 1;   // the largest rank to the mean, without the shortest and longest steps
  size_t n_most = 0;  // in how many steps one of `most` has most
  double ratio = 1;   // the largest rank of each step to the mean, over all steps
  // The sum of what the largest has above the mean; in_most_steps: of what `most` have above it in
  // most steps, as if it were so in all.
  double saved = 0;
  std::vector<size_t> most;  // fixed: the ranks that have most and cannot be distinguished;
                             // untested: those that have most, to 5 %
  size_t n_in_turn = 0;      // different ranks that had most in some step; moving: in some turn
  double stay = 0;           // for how many steps in a row one had most, on average; moving: a turn
  // moving: which rank has most when; none if it has most in less than half of the steps. saved and
  // ratio are then of the ranks whose turn it is, not of others that have more in a step.
  std::vector<Turn> turns;
  size_t period = 0;  // moving: after so many steps the same ranks have most again; 0: not known
  double chance = 1;  // that nothing but chance makes this pattern
  // The excess over the mean of the others, relative, with which a rank would have been found in 95
  // % of such runs; infinite where nothing can be tested.
  double visible = std::numeric_limits<double>::infinity();
  bool is_significant = false;  // some rank or order is beyond chance, even if too small to report

  // Whether `most` are the ranks that have most in all steps, tested or in a single one.
  bool names_ranks() const { return pattern == Pattern::fixed || pattern == Pattern::untested; }
};

// Whether ranks differ by more than chance, and how. See chance.cpp for the limits.
Differences differences(const Table& table);

// The middle of some numbers; 0 if there are none.
double median_of(std::vector<double> numbers);

// The mean of numbers, one per step, that are not independent of one another, and its standard
// error. degrees_of_freedom: of that error; 0 where fewer than two numbers give none.
struct MeanError {
  double mean = 0, error = 0, degrees_of_freedom = 0;
};
MeanError mean_error(const std::vector<double>& numbers, double least_variance = 0);

// A run of numbers, one per step, not independent of one another: the probability that their mean
// is this far above 0 by chance. least_variance: of the means of blocks of steps, where more is
// known than from these numbers alone.
double chance_of_mean(const std::vector<double>& numbers, double least_variance = 0);
// The probability of a Student's t this large, or larger.
double chance_of_t(double t, double degrees_of_freedom);
// The probability of at least this many hits in n independent tries.
double chance_of_hits(size_t hits, size_t n, double probability);

}  // namespace perfield
