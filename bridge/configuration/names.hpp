// SPDX-License-Identifier: BSD-3-Clause
//
// names.hpp - environment variables beyond the table of keys, and the search for the name that a
// user may have meant.
#pragma once

#include <string>
#include <vector>

namespace perfield {

// True for PERFIELD_ variables that are no keys: those that perfield's parts pass to each other,
// and those that module systems set for any package.
bool is_own_variable(const std::string& name);

// The nearest name to `wrong` by single-character edits, ignoring case; "" if none is near.
std::string nearest_name(const std::string& wrong, const std::vector<std::string>& names);

}  // namespace perfield
