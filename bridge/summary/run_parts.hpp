// SPDX-License-Identifier: BSD-3-Clause
//
// run_parts.hpp - how long a run's setup, steps and teardown took, and which ranks waited there.
// The other lines of the summary are about the steps, which may be a small part of the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "summary/totals.hpp"

namespace perfield {

struct RunPart {
  const char* name = "";           // "setup", "steps" or "teardown"
  double ns = 0, share = 0;        // mean of the ranks' stamps; and the part of the run that is
  std::vector<int32_t> who_waits;  // ranks that wait for half of it or more; sorted
  double waiting = 0;              // the share of it for which these wait, on average
  bool all_wait = false;           // who_waits are all ranks
};

// The three parts, in this order; none where the run has no steps, or its begin was not read.
std::vector<RunPart> run_parts(const RunTotals& run);

// "ranks 1-3 wait for 99 % of it"; "" where no rank does, or the part is short.
std::string waiting_in_words(const RunPart& part);

// Ranks whose streams have no end, or that of an abort: they run, or nobody knows how long they
// ran.
std::vector<int32_t> open_ranks(const RunTotals& run);

// open: as from open_ranks. "" without parts.
std::string run_parts_line(const std::vector<RunPart>& parts, const std::vector<int32_t>& open);
// Whether most of the run lies outside the steps.
bool are_mostly_outside(const std::vector<RunPart>& parts);

}  // namespace perfield
