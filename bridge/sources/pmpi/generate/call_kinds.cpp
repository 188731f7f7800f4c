// SPDX-License-Identifier: BSD-3-Clause
//
// call_kinds.cpp - see call_kinds.hpp.
#include "call_kinds.hpp"

#include <map>

namespace perfield::generate {

std::string call_kinds(const std::vector<Function>& functions) {
  std::map<std::string, std::string> kinds;
  for (const Function& function : functions) kinds[function.name] = function.call;
  std::string text = "// Generated from table/*.table.\n";
  for (const auto& [name, call] : kinds) text += "PERFIELD_CALL_KIND(" + name + ", " + call + ")\n";
  return text;
}

}  // namespace perfield::generate
