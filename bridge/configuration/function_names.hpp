// SPDX-License-Identifier: BSD-3-Clause
//
// function_names.hpp - what a compiled function is called in the configuration, given its symbol in
// the program file, or what a tool made of that.
#pragma once

#include <string>
#include <vector>

namespace perfield {

// All names of a function, shortest first: "advance", "flow::Solver::advance",
// "flow::Solver::advance(double)", and the symbol; of Fortran's module procedures "advance",
// "flow::advance" and the symbol. Instead of the symbol it may be given as it is demangled.
std::vector<std::string> function_names(const std::string& symbol);
// The same where a tool tells both: the name as it is read, and the symbol or "".
std::vector<std::string> function_names(const std::string& name, const std::string& symbol);

// What a function is called that was chosen without being named: without the types that C++ adds,
// "flow::Solver::advance".
std::string readable_name(const std::string& name, const std::string& symbol);

}  // namespace perfield
