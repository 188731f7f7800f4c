// SPDX-License-Identifier: BSD-3-Clause
//
// values.cpp - see values.hpp. <charconv> reads and writes the numbers, because the measured
// program may have set a locale with another decimal point.
#include "configuration/values.hpp"

#include <charconv>

#include "platform/quoted.hpp"

namespace perfield {

using Kind = TomlValue::Kind;

namespace {

template <class Number>
bool assign_number(Number& slot, const std::string& spelling) {
  const char* end = spelling.data() + spelling.size();
  const auto read = std::from_chars(spelling.data(), end, slot);
  return read.ec == std::errc() && read.ptr == end;
}

}  // namespace

bool assign(bool& slot, const TomlValue& value) {
  slot = value.spelling == "true";
  return value.kind == Kind::boolean;
}
bool assign(int64_t& slot, const TomlValue& value) {
  return value.kind == Kind::integer && assign_number(slot, value.spelling);
}
bool assign(double& slot, const TomlValue& value) {
  return (value.kind == Kind::integer || value.kind == Kind::real) &&
         assign_number(slot, value.spelling);
}
bool assign(std::string& slot, const TomlValue& value) {
  slot = value.spelling;
  return value.kind == Kind::text;
}
bool assign(std::vector<std::string>& slot, const TomlValue& value) {
  slot = value.kind == Kind::list ? value.items : std::vector<std::string>{value.spelling};
  return true;
}

std::string spell(bool value) { return value ? "true" : "false"; }
std::string spell(int64_t value) { return std::to_string(value); }
std::string spell(double value) {
  char text[40];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}
std::string spell(const std::string& value) { return quoted(value); }
std::string spell(const std::vector<std::string>& value) {
  std::string list;
  for (const std::string& item : value) list += (list.empty() ? "" : ", ") + quoted(item);
  return "[" + list + "]";
}

std::string found_in_words(const TomlValue& value) {
  switch (value.kind) {
    case Kind::boolean:
      return value.spelling;
    case Kind::integer:
      return "the integer " + value.spelling;
    case Kind::real:
      return "the number " + value.spelling;
    case Kind::text:
      return "the text " + quoted(value.spelling);
    default:
      return "a list";
  }
}

}  // namespace perfield
