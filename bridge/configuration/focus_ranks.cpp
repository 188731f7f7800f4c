// SPDX-License-Identifier: BSD-3-Clause
//
// focus_ranks.cpp - see focus_ranks.hpp.
#include "configuration/focus_ranks.hpp"

#include <algorithm>
#include <cstdlib>

namespace perfield {
namespace {

constexpr size_t kMostDigits = 9;  // fits an int32_t

bool is_rank(const std::string& word) {
  return !word.empty() && word.size() <= kMostDigits &&
         word.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::string wrong_focus_rank(const std::vector<std::string>& words) {
  const auto wrong = std::find_if_not(words.begin(), words.end(), is_rank);
  return wrong == words.end() ? "" : "'" + *wrong + "'";
}

std::vector<int32_t> focus_ranks_of(const std::vector<std::string>& words, int size,
                                    std::string* outside) {
  std::vector<int32_t> ranks;
  std::string beyond;
  for (const std::string& word : words) {
    if (!is_rank(word)) continue;  // load_config has complained
    const int32_t rank = int32_t(std::strtol(word.c_str(), nullptr, 10));
    if (rank >= size)
      beyond += (beyond.empty() ? "" : ", ") + word;
    else if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end())
      ranks.push_back(rank);
  }
  if (!beyond.empty())
    *outside = "focus_ranks names " + beyond + ", but this run has the ranks 0 to " +
               std::to_string(size - 1) + "; they get no arrays, and all else continues";
  return ranks;
}

}  // namespace perfield
