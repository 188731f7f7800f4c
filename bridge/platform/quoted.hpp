// SPDX-License-Identifier: BSD-3-Clause
//
// quoted.hpp - writes a text as a literal.
#pragma once

#include <string>

namespace perfield {

// A text in double quotes, spelled so that both TOML and JSON read it. Bytes that are not UTF-8
// count as Latin-1.
std::string quoted(const std::string& text);

}  // namespace perfield
