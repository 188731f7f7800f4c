// SPDX-License-Identifier: BSD-3-Clause
//
// missing_ranks.hpp - reports a run that holds fewer ranks than its world has: the other nodes have
// run directories of their own, or some programs ran without perfield. It comes first, since every
// other line is about the ranks that are here.
#pragma once

#include <string>

#include "summary/totals.hpp"

namespace perfield {

std::string missing_ranks_line(const RunTotals& run);  // "" if none is missing

// That some ranks state a world of too many ranks; "" if none does.
std::string not_believed_line(const RunTotals& run);

}  // namespace perfield
