// SPDX-License-Identifier: BSD-3-Clause
//
// preload.hpp - which of perfield's libraries go into a program, and whether they can: by the
// program's own file first, by the launcher that started it where the file does not tell.
#pragma once

#include <string>
#include <vector>

namespace perfield {

struct Preload {
  std::vector<std::string> libraries;  // absolute paths, for LD_PRELOAD in this order
  std::string refusal;                 // not empty: why the program cannot be measured
};

Preload choose_preload(const std::string& program);

// What stands in LD_PRELOAD: ours first, then what was there; `added` is ours alone. A list that
// an earlier perfield-exec has put there is replaced.
std::string preload_list(const Preload& preload, std::string* added);

}  // namespace perfield
