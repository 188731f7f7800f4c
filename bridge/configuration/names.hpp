// SPDX-License-Identifier: BSD-3-Clause
//
// names.hpp - names beside the table of keys: the variables that perfield's own parts hand
// to each other, and the search for the name that a user may have meant.
#pragma once

#include <string>
#include <vector>

namespace perfield {

// True for PERFIELD_ variables that are no keys: those that perfield's parts hand to each other,
// and those that module systems set for any package.
bool is_own_variable(const std::string& name);

// The name nearest to `wrong` by single-character edits, capitals ignored; "" if none is near.
std::string nearest_name(const std::string& wrong, const std::vector<std::string>& names);

}  // namespace perfield
