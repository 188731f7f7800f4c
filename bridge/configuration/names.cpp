// SPDX-License-Identifier: BSD-3-Clause
//
// names.cpp - see names.hpp. Names are compared by Levenshtein distance: the number of characters
// to insert, delete or replace.
#include "configuration/names.hpp"

#include <algorithm>
#include <cctype>

namespace perfield {

size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = std::tolower(static_cast<unsigned char>(a[i - 1])) ==
                        std::tolower(static_cast<unsigned char>(b[j - 1]));
      const size_t exchanged = diagonal + (same ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, exchanged});
    }
  }
  return row[b.size()];
}

bool is_own_variable(const std::string& name) {
  static const char* const kOwn[] = {// passed between perfield's parts
                                     "PERFIELD_CONFIG", "PERFIELD_RUN", "PERFIELD_RUN_ID",
                                     "PERFIELD_PRELOADED", "PERFIELD_ALL_RANKS",
                                     // the Makefile's, and those that module systems set
                                     "PERFIELD_NO_PACKAGES", "PERFIELD_ROOT", "PERFIELD_HOME",
                                     "PERFIELD_DIR", "PERFIELD_VERSION"};
  return std::any_of(std::begin(kOwn), std::end(kOwn),
                     [&](const char* own) { return name == own; });
}

size_t near_enough(const std::string& wrong) { return std::max<size_t>(2, wrong.size() / 3); }

std::string nearest_name(const std::string& wrong, const std::vector<std::string>& names) {
  std::string nearest;
  size_t fewest = near_enough(wrong) + 1;
  for (const std::string& name : names) {
    // Also compares the last part of "table.key": a key may be in a table by mistake.
    const size_t dot = wrong.rfind('.');
    size_t edits = edits_between(wrong, name);
    if (dot != std::string::npos)
      edits = std::min(edits, edits_between(wrong.substr(dot + 1), name));
    if (edits < fewest) {
      fewest = edits;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace perfield
