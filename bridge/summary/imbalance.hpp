// SPDX-License-Identifier: BSD-3-Clause
//
// imbalance.hpp - lines of the summary on where computing costs most, and why; "" where there is
// nothing to report. They name a rank or a region only where chance.hpp finds more than chance.
#pragma once

#include <string>

#include "summary/explanation.hpp"
#include "summary/tables.hpp"

namespace perfield {

// Compute time of each rank and step, without what ranks waited for a PU, and how ranks differ in
// it.
struct Computing {
  Computing(const RunTotals& run, const Tables& tables);

  Table time;
  Differences found;  // saved: also at most what shared PUs leave to save
  // What the ranks follow where times alone name none of them (explanation.hpp).
  Explanation followed;
  double most_to_save = 0;  // by balancing, ns: what shared PUs leave
  bool has_delays = false;  // ranks waited long enough for a PU to report it
  // The one rank without work (explanation.hpp), if the others differ by chance only; kNone. Then
  // found names nobody. work_of_idle: its compute time, of the others' mean; others: their
  // imbalance.
  size_t idle;
  double work_of_idle = 0, others = 1;
};

// The slowest rank's compute time relative to the mean, what that costs, and the slowest ranks, or,
// where these are most of the ranks, those that compute least. Names the ranks of the tables if the
// run has more. is_whole: the tables hold the whole run, as no step was closed.
std::string imbalance_line(const RunTotals& run, const Tables& tables, const Computing& computing,
                           bool is_whole);

// What explains that, and which rank is slowest when.
std::string why_line(const Tables& tables, const Computing& computing);

// Parallel efficiency, load balance and communication efficiency, as POP defines them.
std::string efficiency_line(const Tables& tables);

// The regions in which ranks differ most, and the compute time in no region.
std::string regions_line(const RunTotals& run, const Totals& totals, const Tables& tables,
                         const Computing& computing);

// The ranks that share PUs, and how long ranks waited for a PU while they computed.
std::string cores_line(const RunTotals& run, const Totals& totals);

// "; most on rank 3 (35 % of its time)" if it is beyond chance that some ranks have most of this
// time; else "".
std::string most_on(const Tables& tables, float RankStep::*ns);

}  // namespace perfield
