// SPDX-License-Identifier: BSD-3-Clause
//
// text.cpp - formats numbers and paths for the summary.
#include "summary/text.hpp"

#include <unistd.h>

#include <climits>
#include <cmath>
#include <cstdio>

#include "configuration/groups.hpp"

namespace perfield {
namespace {

// Three significant digits: 1.23, 12.3, 123.
std::string three_digits(double value) {
  char text[32];
  const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

}  // namespace

std::string text_of_time(double ns) {
  if (ns < 999.5) return three_digits(ns) + " ns";
  if (ns < 999.5e3) return three_digits(ns / 1e3) + " µs";
  if (ns < 999.5e6) return three_digits(ns / 1e6) + " ms";
  return three_digits(ns / 1e9) + " s";
}

std::string text_of_bytes(double bytes) {
  static const char* const kUnits[] = {" kB", " MB", " GB", " TB", " PB"};
  if (bytes < 999.5) return std::to_string(std::lround(bytes)) + (bytes == 1 ? " byte" : " bytes");
  int unit = -1;
  while (bytes >= 999.5 && unit < 4) bytes /= 1000, ++unit;
  return three_digits(bytes) + kUnits[unit];
}

std::string text_of_count(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string text_of_share(double share) {
  char text[32];
  const double percent = 100 * share;
  if (percent > 0 && percent < 0.01) return "below 0.01 %";
  std::snprintf(text, sizeof(text), "%.*f %%",
                percent == 0 || percent >= 9.95 ? 0 : (percent >= 0.995 ? 1 : 2), percent);
  return text;
}

std::string plural(uint64_t count, const std::string& word, const std::string& many) {
  return text_of_count(count) + " " + (count == 1 ? word : many.empty() ? word + "s" : many);
}

std::string text_of_ranks(const std::vector<int32_t>& ranks) {
  constexpr size_t kLongest = 24;
  const std::string list = list_of_ranks(ranks);
  if (list.size() > kLongest) return plural(ranks.size(), "rank");
  return (ranks.size() == 1 ? "rank " : "ranks ") + list;
}

std::string line(const char* label, const std::string& text) {
  std::string padded = label;
  padded.resize(11, ' ');
  return padded + text;
}

std::string text_of_name(const std::string& name) {
  constexpr size_t longest = 60;
  std::string shown;
  for (const char c : name) shown += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  if (shown.size() <= longest) return shown;
  size_t end = longest - 3;
  while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;
  return shown.substr(0, end) + "...";
}

std::string text_of_path(const std::string& path) {
  char working[PATH_MAX];
  std::string shown = path;
  if (getcwd(working, sizeof(working))) {
    const std::string folder = std::string(working) + "/";
    if (folder != "//" && path.compare(0, folder.size(), folder) == 0)
      shown = path.substr(folder.size());
  }
  const bool plain = shown.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                         "_./+,:@%=-") == std::string::npos;
  if (plain && !shown.empty() && shown[0] != '-') return shown;
  std::string quoted = "'";
  for (const char c : shown) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace perfield
