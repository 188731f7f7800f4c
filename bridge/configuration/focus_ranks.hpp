// SPDX-License-Identifier: BSD-3-Clause
//
// focus_ranks.hpp - reads the ranks of the key focus_ranks. Their world is known only when the run
// starts, so ranks beyond it are no error of the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfield {

// The first word that is not a rank, such as "three" or "-1"; "" if all are.
std::string wrong_focus_rank(const std::vector<std::string>& words);

// The ranks in their order, each once. Those that a world of `size` ranks lacks are left out and
// named in *outside, as a sentence.
std::vector<int32_t> focus_ranks_of(const std::vector<std::string>& words, int size,
                                    std::string* outside);

}  // namespace perfield
