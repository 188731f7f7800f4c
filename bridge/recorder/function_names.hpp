// SPDX-License-Identifier: BSD-3-Clause
//
// function_names.hpp - what a compiled function is called in the configuration, given its symbol in
// the program file, and whether the configuration chooses it. The rule is that of Python functions.
#pragma once

#include <string>
#include <vector>

namespace perfield {

// All names of a function, shortest first: "advance", "flow::Solver::advance",
// "flow::Solver::advance(double)", and the symbol; of Fortran's module procedures "advance",
// "flow::advance" and the symbol.
std::vector<std::string> function_names(const std::string& symbol);

class FunctionSelection {
 public:
  // A lone "*", which is the default, means the regions that a program marks itself: not every
  // function that it has.
  FunctionSelection(const std::vector<std::string>& regions, const std::string& step_region);

  // The region that the function is, called as the configuration has it; "" if it is none.
  std::string region_of(const std::string& symbol) const;

 private:
  std::vector<std::string> globs_;
  std::string step_region_;
};

}  // namespace perfield
