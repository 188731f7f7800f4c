// SPDX-License-Identifier: BSD-3-Clause
//
// groups.hpp - the value of the key group: one name for all ranks that read it ("fluid"), or names
// for some ranks ("io=6-7", "io=7-1023:8 viz=0"); ranks in no list step with the program's others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfield {

// The group of a rank, "" for the program's; the first list that holds the rank counts. complaint:
// the second half of a sentence about what is wrong, "" if nothing is.
std::string group_of(const std::string& value, int32_t rank, std::string* complaint);

// Ranks in increasing order, as such a list: "0-3,8", "7-1023:8".
std::string list_of_ranks(const std::vector<int32_t>& ranks);

}  // namespace perfield
