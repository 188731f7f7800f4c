// SPDX-License-Identifier: BSD-3-Clause
//
// preload_list.cpp - see preload_list.hpp.
#include "platform/preload_list.hpp"

#include <algorithm>

namespace perfield {

std::string without_ours(const std::string& list, const std::string& ours) {
  std::string rest = list;
  const size_t at = ours.empty() ? std::string::npos : rest.find(ours);
  if (at != std::string::npos) rest.replace(at, ours.size(), ":");
  // The loader takes colons and blanks alike.
  std::string joined;
  for (size_t start = 0; start < rest.size();) {
    const size_t end = std::min(rest.find_first_of(": ", start), rest.size());
    if (end > start) joined += (joined.empty() ? "" : ":") + rest.substr(start, end - start);
    start = end + 1;
  }
  return joined;
}

}  // namespace perfield
