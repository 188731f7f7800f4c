// SPDX-License-Identifier: BSD-3-Clause
//
// preload_list.hpp - takes perfield's libraries out of a value of LD_PRELOAD.
#pragma once

#include <string>

namespace perfield {

// The libraries of `list` without `ours`, which is in it as one piece ("a.so:b.so"), joined by
// colons. The whole list if `ours` is empty or not in it.
std::string without_ours(const std::string& list, const std::string& ours);

}  // namespace perfield
