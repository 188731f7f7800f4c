// SPDX-License-Identifier: BSD-3-Clause
//
// selection.hpp - decides what `regions` and `step_region` choose. Each entry is a name or a glob.
// A region marked in the program has one name, and a lone "*" chooses all of them. A function has
// several names, and a lone "*" chooses no function.
#pragma once

#include <string>
#include <vector>

namespace perfield {

class Selection {
 public:
  // The default: all regions marked in the program, and no step region.
  Selection() : Selection({"*"}, "") {}
  Selection(const std::vector<std::string>& regions, const std::string& step_region);

  // Whether to measure a region marked in the program.
  bool measures(const std::string& region) const noexcept;
  // Whether a step closes when this region ends.
  bool closes_steps(const std::string& region) const noexcept {
    return !step_region_.empty() && region == step_region_;
  }

  // For sources that see every function of a program: the entries of `regions` that may choose one,
  // and whether any can.
  const std::vector<std::string>& function_entries() const noexcept { return function_globs_; }
  bool any_function() const noexcept { return !function_globs_.empty() || !step_region_.empty(); }
  // The region name for a function with these names, shortest first: the name that is the step
  // region, else the first that an entry of `regions` matches; "" if not chosen.
  std::string region_of(const std::vector<std::string>& names) const;

 private:
  std::vector<std::string> globs_, function_globs_;
  std::string step_region_;
};

}  // namespace perfield
