// SPDX-License-Identifier: BSD-3-Clause
//
// selection.cpp - see selection.hpp. A name that is itself an entry is chosen even if it contains
// glob characters, as operator[] does.
#include "configuration/selection.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace perfield {
namespace {

bool fits(const std::string& glob, const std::string& name) noexcept {
  return name == glob || fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

Selection::Selection(const std::vector<std::string>& regions, const std::string& step_region)
    : globs_(regions), step_region_(step_region) {
  for (const std::string& glob : globs_)
    if (glob != "*") function_globs_.push_back(glob);
}

bool Selection::measures(const std::string& region) const noexcept {
  return std::any_of(globs_.begin(), globs_.end(),
                     [&](const std::string& glob) { return fits(glob, region); });
}

std::string Selection::region_of(const std::vector<std::string>& names) const {
  for (const std::string& name : names)
    if (closes_steps(name)) return name;
  for (const std::string& glob : function_globs_)
    for (const std::string& name : names)
      if (fits(glob, name)) return name;
  return "";
}

}  // namespace perfield
