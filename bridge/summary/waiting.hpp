// SPDX-License-Identifier: BSD-3-Clause
//
// waiting.hpp - the closing lines on waiting; "" if there is nothing to say.
#pragma once

#include <string>

#include "summary/tables.hpp"
#include "summary/totals.hpp"

namespace perfield {

// The share of time spent waiting, by class of call, and the ranks that wait most. is_blind: MPI of
// some rank was not seen.
std::string waiting_line(const Totals& totals, const Tables& tables, bool is_blind);

// The rank that others wait for most, if one stands out.
std::string waited_for_line(const Totals& totals, const Tables& tables);

// The region with the waiting: among the regions that hold nearly the most waiting, the shortest. A
// region as long as the steps counts only if no part of it holds half of the waiting.
std::string waiting_region_line(const RunTotals& run, const Totals& totals);

}  // namespace perfield
