// SPDX-License-Identifier: BSD-3-Clause
//
// tables.hpp - a run's numbers as tables over ranks and steps, for the tests of chance.hpp. They
// hold the largest group of ranks that step together, and the steps that all of them closed.
#pragma once

#include <unordered_map>
#include <vector>

#include "summary/chance.hpp"
#include "summary/totals.hpp"

namespace perfield {

class Tables {
 public:
  explicit Tables(const Totals& totals);

  const std::vector<int32_t>& ranks() const { return ranks_; }  // of the columns
  size_t n_steps() const { return steps_.size(); }
  std::vector<int64_t> labels() const;  // of the steps: the program's own numbers

  // A number of each rank and step; empty where a rank does not know it.
  Table of(float RankStep::*number) const;
  // Compute time in a region, 0 where a rank did not enter it. rows: those of the region.
  Table of_region(const std::vector<const RegionStep*>& rows) const;
  // How long each rank was waited for.
  Table waited_for() const;

 private:
  static constexpr size_t kNowhere = size_t(-1);
  size_t place_of(uint64_t step, int32_t rank) const;  // in a table; kNowhere: not in it

  const Totals& totals_;
  std::vector<size_t> places_;  // of the rows of rank_steps
  std::vector<int32_t> ranks_;
  std::unordered_map<int32_t, size_t> column_;
  std::unordered_map<uint64_t, size_t> steps_;  // a step's key -> its place
};

}  // namespace perfield
