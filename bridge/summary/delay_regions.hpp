// SPDX-License-Identifier: BSD-3-Clause
//
// delay_regions.hpp - in which regions of a rank the waiting of others began.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace perfield {

struct RunTotals;

// ns of others' waiting, by the rank on which it began and the name of its region; "" is not a
// region.
using DelayRegions = std::map<std::pair<int32_t, std::string>, double>;

// Divides what ranks cost the others (run.waiting) by waits::divide_cost. Call it before ranks
// are joined, since each cost belongs to one entry of its rank.
DelayRegions delay_regions(const RunTotals& run);

}  // namespace perfield
