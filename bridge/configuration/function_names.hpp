// SPDX-License-Identifier: BSD-3-Clause
//
// function_names.hpp - the names of a compiled function in the configuration, made from its symbol
// in the program file, or from a tool's version of that.
#pragma once

#include <string>
#include <vector>

namespace perfield {

// All names of a function, shortest first. C++: "advance", "flow::Solver::advance",
// "flow::Solver::advance(double)", the symbol. Fortran module procedures: "advance",
// "flow::advance", the symbol. The argument may also be a demangled name.
std::vector<std::string> function_names(const std::string& symbol);
// The same for a tool that gives both: the readable name, and the symbol or "".
std::vector<std::string> function_names(const std::string& name, const std::string& symbol);

// The name shown for a function that a glob chose: without the types that C++ adds,
// "flow::Solver::advance".
std::string readable_name(const std::string& name, const std::string& symbol);

}  // namespace perfield
