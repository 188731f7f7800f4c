// SPDX-License-Identifier: BSD-3-Clause
//
// passed_functions.hpp - what sources saw of a program's functions, for the user whose `regions`
// chose none: the nearest name to each entry, and the chosen functions, which may never be entered.
// Any thread may call it; off the hot path. Without memory it forgets.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "configuration/selection.hpp"

namespace perfield {

class PassedFunctions {
 public:
  // A function with these names, shortest first. chosen: its name as a region, "" for none.
  void saw(const Selection& selection, const std::vector<std::string>& names,
           const std::string& chosen) noexcept;
  // The names that are near to entries of `regions` that chose no function.
  std::vector<std::string> near() const;
  // Whether that entry of `regions` chose a function.
  bool has(const std::string& entry) const;

 private:
  struct Near {
    std::string name;
    size_t edits;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Near> nearest_;  // by entry
  std::set<std::string> chosen_;
};

// Of this process; never destroyed.
PassedFunctions& passed_functions() noexcept;

}  // namespace perfield
