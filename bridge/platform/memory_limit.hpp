// SPDX-License-Identifier: BSD-3-Clause
//
// memory_limit.hpp - which limit of this process memory has come up against.
#pragma once

#include <string>

namespace perfield {

// To follow "no memory": ", because ..." with the limit and its value; "" if none is known.
std::string memory_limit_in_words();

}  // namespace perfield
