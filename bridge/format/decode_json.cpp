// SPDX-License-Identifier: BSD-3-Clause
//
// decode_json.cpp - scans the outermost object of a JSON text once per requested value. Converts
// only that value, and never reads beyond the text's end.
#include "format/decode_json.hpp"

#include <algorithm>
#include <cstdlib>

#include "format/entry.hpp"

namespace perfield {
namespace {

// Position after the string that begins at `at`.
size_t behind_string(const std::string& text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

// Position after the value that begins at `at`.
size_t behind_value(const std::string& text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = behind_string(text, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == '}')) return at;
    if ((c == '}' || c == ']') && depth > 0) --depth;
    ++at;
  }
  return at;
}

size_t skip_space(const std::string& text, size_t at) {
  const size_t found = text.find_first_not_of(" \t\r\n", at);
  return found == std::string::npos ? text.size() : found;
}

}  // namespace

std::string json_value(const std::string& text, const std::string& key) {
  size_t at = skip_space(text, 0);
  if (at >= text.size() || text[at] != '{') return "";
  const std::string quoted = '"' + key + '"';
  for (++at; at < text.size(); ++at) {
    const size_t begin = skip_space(text, at);
    if (begin >= text.size() || text[begin] != '"') return "";
    const size_t end = behind_string(text, begin);
    const size_t colon = skip_space(text, end);
    if (colon >= text.size() || text[colon] != ':') return "";
    const size_t value = skip_space(text, colon + 1);
    at = behind_value(text, value);
    if (text.compare(begin, end - begin, quoted) == 0) {
      const size_t last = text.find_last_not_of(" \t\r\n", at - 1);
      return last == std::string::npos || last < value ? "" : text.substr(value, last + 1 - value);
    }
    if (at < text.size() && text[at] == '}') return "";
  }
  return "";
}

int64_t json_integer(const std::string& text, const std::string& key, int64_t otherwise) {
  const std::string value = json_value(text, key);
  char* end = nullptr;
  const long long number = std::strtoll(value.c_str(), &end, 10);
  return end && end != value.c_str() ? number : otherwise;
}

std::string json_text(const std::string& text, const std::string& key) {
  const std::string value = json_value(text, key);
  return value.size() >= 2 && value[0] == '"' ? value.substr(1, value.size() - 2) : "";
}

std::vector<std::string> json_texts(const std::string& text, const std::string& key) {
  const std::string list = json_value(text, key);
  std::vector<std::string> texts;
  for (size_t at = 1; at < list.size(); ++at) {
    if (list[at] != '"') continue;
    const size_t end = std::min(behind_string(list, at), list.size());
    texts.push_back(list.substr(at + 1, end - at - 2));
    at = end - 1;
  }
  return texts;
}

std::string node_in(const std::string& rank_entry) {
  const std::string boot = json_text(rank_entry, "boot_id");
  return boot.empty() || boot == kUnknownBoot ? json_text(rank_entry, "host") : boot;
}

uint64_t json_run_id(const std::string& text) {
  const std::string hexadecimal = json_text(text, "run_id");
  if (!hexadecimal.empty()) return std::strtoull(hexadecimal.c_str(), nullptr, 16);
  return std::strtoull(json_value(text, "run_id").c_str(), nullptr, 10);
}

}  // namespace perfield
