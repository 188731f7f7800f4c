// SPDX-License-Identifier: BSD-3-Clause
//
// explanation.hpp - what explains an imbalance, and where it arises. Plain arithmetic on tables,
// for the summary and for findings in Python. docs/chance.md states the rules.
#pragma once

#include <cstddef>
#include <vector>

#include "summary/chance.hpp"

namespace perfield {

inline constexpr size_t kNone = size_t(-1);

// The one of three ranks or more that computes a tenth of the others' median at most, as one
// that only hands out work; kNone where there is none, or several.
size_t rank_without_work(const Table& compute);

// What explains that ranks differ in compute time.
struct Explanation {
  size_t cause = kNone;  // the first of the causes that explains it
  double imbalance = 1;  // what this cause makes of itself
};

// found: of the compute time. causes: what each rank has of cells, of points, ... in each step; a
// table without ranks is not known, and counts as one more that was tried.
Explanation explanation_of(const Table& compute, const Differences& found,
                           const std::vector<Table>& causes);

// Where times alone name no rank (found is Pattern::chance): the first of the causes that the ranks
// follow, those with more computing longer. Counts have no noise, so that is one question to the
// times in place of one for each rank. Then found is fixed, of the ranks that have most of it, and
// saves what these compute above the mean. Causes as above.
Explanation follow_counts(const Table& compute, const std::vector<Table>& causes,
                          Differences* found);

// What the cells of the slowest ranks cost, where the number of cells explains nothing.
struct CostOfCells {
  bool is_known = false;
  bool are_alike = false;    // all ranks have as many
  bool may_explain = false;  // there are two ranks, and their numbers of cells would be enough
  double alone = 1;          // the imbalance of the numbers of cells
  double relative = 1;       // compute time per cell, relative to the other ranks
  bool costs_more = false;   // by enough to report it
};

// found: fixed ranks.
CostOfCells cost_of_cells(const Table& compute, const Differences& found, const Table& cells);

// Of regions in which ranks differ, those worth reporting, by what balancing them saves. saved:
// what balancing each would save; 0 where they differ by chance. share: of all time that is in it.
// A region that holds all time locates nothing. elapsed, and what the ranks' PUs leave to save at
// most: in the unit of saved.
std::vector<size_t> regions_to_report(const std::vector<double>& saved,
                                      const std::vector<double>& share, double elapsed,
                                      double most);

// The one rank that others wait for beyond chance; kNone. waited: how long each was waited for.
// named: all waiting that names a rank. waiting: all there is. Where most waiting names nobody, a
// rank that waits for a late receiver is itself one for whom others wait, and would be blamed.
size_t rank_waited_for(const Table& waited, double named, double waiting);

}  // namespace perfield
