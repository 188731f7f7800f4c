// SPDX-License-Identifier: BSD-3-Clause
//
// waiting.hpp - lines of the summary on waiting; "" where there is nothing to report.
#pragma once

#include <string>

#include "summary/imbalance.hpp"
#include "summary/tables.hpp"
#include "summary/totals.hpp"

namespace perfield {

// The share of time spent waiting, by class of call, and the ranks that wait most. is_blind: MPI of
// some rank was not seen.
std::string waiting_line(const Totals& totals, const Tables& tables, bool is_blind);

// The rank whose lateness costs the others most, if one stands out. Without stamps: the rank that
// calls wait for most, where their status names it.
// Not the one rank without work: a master waits for workers as they wait for it.
std::string waited_for_line(const Totals& totals, const Tables& tables, const FoundWaiting& found,
                            const Computing& computing);

// The region in which most of what that rank costs begins; only with stamps.
std::string delay_line(const RunTotals& run, const Totals& totals, const Tables& tables,
                       const Computing& computing);

// How much of the time in MPI stamps explain, and how long ranks waited by kinds of waiting.
std::string explained_line(const Totals& totals, const FoundWaiting& found);

// The region with the waiting: among the regions that hold nearly the most waiting, the shortest. A
// region as long as the steps counts only if no part of it holds half of the waiting.
std::string waiting_region_line(const RunTotals& run, const Totals& totals);

}  // namespace perfield
