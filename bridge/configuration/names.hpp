// SPDX-License-Identifier: BSD-3-Clause
//
// names.hpp - environment variables beyond the table of keys, and the search for the name that a
// user may have meant.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace perfield {

// True for PERFIELD_ variables that are no keys: those that perfield's parts pass to each other,
// and those that module systems set for any package.
bool is_own_variable(const std::string& name);

// The number of characters to insert, delete or replace to turn one name into the other, ignoring
// case.
size_t edits_between(const std::string& a, const std::string& b);

// The most edits between a wrong name and one that may be meant.
size_t near_enough(const std::string& wrong);

// The nearest name to `wrong` by such edits; "" if none is near.
std::string nearest_name(const std::string& wrong, const std::vector<std::string>& names);

}  // namespace perfield
