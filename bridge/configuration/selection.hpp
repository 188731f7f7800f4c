// SPDX-License-Identifier: BSD-3-Clause
//
// selection.hpp - the one rule by which the configuration's `regions` and `step_region`
// choose: each entry is a name or a glob. Regions that a program marks itself have one name, and a
// lone "*" chooses all of them; functions have several, and it chooses none of those.
#pragma once

#include <string>
#include <vector>

namespace perfield {

class Selection {
 public:
  // As if nothing was configured: all regions that a program marks itself, no step.
  Selection() : Selection({"*"}, "") {}
  Selection(const std::vector<std::string>& regions, const std::string& step_region);

  // Whether a region that the program marks itself is measured.
  bool measures(const std::string& region) const noexcept;
  // Whether leaving it closes a step.
  bool closes_steps(const std::string& region) const noexcept {
    return !step_region_.empty() && region == step_region_;
  }

  // For sources that see every function of a program, marked or not. Whether any can be chosen:
  bool any_function() const noexcept { return !function_globs_.empty() || !step_region_.empty(); }
  // The region that a function is, which has these names, shortest first: that name which is the
  // step's, else which an entry of `regions` fits; "" if it is left out.
  std::string region_of(const std::vector<std::string>& names) const;

 private:
  std::vector<std::string> globs_, function_globs_;
  std::string step_region_;
};

}  // namespace perfield
