// SPDX-License-Identifier: BSD-3-Clause
//
// groups.cpp - see groups.hpp.
#include "configuration/groups.hpp"

#include <charconv>
#include <sstream>

namespace perfield {
namespace {

constexpr const char* kExpected =
    "expected one name, or a name and its ranks, such as io=6-7 or io=7-1023:8,1024 (with :8 each "
    "eighth rank)";

// Reads a number at the beginning of the text and removes it; -1: there is none.
int32_t take_number(std::string* text) {
  int32_t number = -1;
  const auto read = std::from_chars(text->data(), text->data() + text->size(), number);
  if (read.ec != std::errc() || number < 0) return -1;
  text->erase(0, size_t(read.ptr - text->data()));
  return number;
}

bool take(std::string* text, char expected) {
  if (text->empty() || (*text)[0] != expected) return false;
  text->erase(0, 1);
  return true;
}

// Whether the list, "0-3,8", is one, and whether it holds the rank.
bool read_list(std::string list, int32_t rank, bool* holds) {
  *holds = false;
  do {
    const int32_t first = take_number(&list);
    int32_t last = first, every = 1;
    if (take(&list, '-')) {
      last = take_number(&list);
      if (take(&list, ':')) every = take_number(&list);
    }
    if (first < 0 || last < first || every < 1) return false;
    *holds |= first <= rank && rank <= last && (rank - first) % every == 0;
  } while (take(&list, ','));
  return list.empty();
}

}  // namespace

std::string group_of(const std::string& value, int32_t rank, std::string* complaint) {
  complaint->clear();
  if (value.find('=') == std::string::npos) return value;
  std::istringstream parts(value);
  std::string found;
  for (std::string part; parts >> part;) {
    const size_t equals = part.find('=');
    bool holds = false;
    if (equals == 0 || equals == std::string::npos ||
        !read_list(part.substr(equals + 1), rank, &holds)) {
      *complaint = kExpected;
      return "";
    }
    if (holds && found.empty()) found = part.substr(0, equals);
  }
  return found;
}

std::string list_of_ranks(const std::vector<int32_t>& ranks) {
  constexpr size_t kFewest = 3;  // ranks that are shorter with their distance
  std::string text;
  for (size_t begin = 0; begin < ranks.size();) {
    size_t end = begin + 1;  // behind ranks of one distance
    const int32_t every = end < ranks.size() ? ranks[end] - ranks[begin] : 1;
    while (end < ranks.size() && ranks[end] - ranks[end - 1] == every) ++end;
    if (every != 1 && end - begin < kFewest) end = begin + 1;
    text += (text.empty() ? "" : ",") + std::to_string(ranks[begin]);
    if (end - begin > 1) text += "-" + std::to_string(ranks[end - 1]);
    if (end - begin > 1 && every != 1) text += ":" + std::to_string(every);
    begin = end;
  }
  return text;
}

}  // namespace perfield
