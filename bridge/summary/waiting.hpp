// SPDX-License-Identifier: BSD-3-Clause
//
// waiting.hpp - the closing lines on waiting; "" where there is nothing to say.
#pragma once

#include <string>

#include "summary/totals.hpp"

namespace perfield {

// Its share of the time, by class of call, and the rank that waits most. is_blind: some rank's MPI
// was not seen.
std::string waiting_line(const Totals& totals, bool is_blind);

// For whom others wait most, where one rank stands out.
std::string waited_for_line(const Totals& totals);

// The region that the waiting is in: of those that hold nearly all that any holds, the shortest.
// One that is as long as the steps counts only where no part of it holds half of the waiting.
std::string waiting_region_line(const RunTotals& run, const Totals& totals);

}  // namespace perfield
