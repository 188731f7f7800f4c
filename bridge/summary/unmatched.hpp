// SPDX-License-Identifier: BSD-3-Clause
//
// unmatched.hpp - lines of the summary on what the configuration selects and no rank saw. Only once
// all ranks have ended; a killed run has no such line.
#pragma once

#include <string>
#include <vector>

#include "summary/totals.hpp"

namespace perfield {

// Entries of `regions` that fit no region of any rank, with the known names; "" if there are none.
std::string unmatched_line(const RunTotals& run);

// What is missing in all of the run: regions, messages, or both because they are switched off.
std::vector<std::string> missing_in_words(const RunTotals& run);

}  // namespace perfield
