// SPDX-License-Identifier: BSD-3-Clause
//
// sanitizers.hpp - knows the runtimes of sanitizers (-fsanitize=address and its kin). Such a
// runtime replaces functions of the C library, and must come before everything else that does.
// AddressSanitizer ends a program in which it does not.
#pragma once

#include <string>
#include <utility>

namespace perfield {

// Whether a library of this name or path is such a runtime, of GCC or of Clang.
bool is_sanitizer(const std::string& library);

// The environment variable (name, value) that keeps AddressSanitizer from ending the programs that
// a script or another launcher starts, where perfield's libraries come before its runtime.
std::pair<std::string, std::string> sanitizer_variable();

}  // namespace perfield
