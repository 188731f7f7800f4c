// SPDX-License-Identifier: BSD-3-Clause
//
// uneven_steps.hpp - ranks that closed different numbers of steps: their frames do not belong
// together. Only of ranks that have ended; a live or killed run may have written less of one rank.
#pragma once

#include <string>

#include "summary/totals.hpp"

namespace perfield {

// "; ranks closed different numbers: rank 0 199, 3 ranks 49"; "" if all ranks of each group closed
// the same number. Steps by the clock end when a rank ends, so they are left out.
std::string uneven_steps_text(const RunTotals& run);

}  // namespace perfield
