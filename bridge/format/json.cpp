// SPDX-License-Identifier: BSD-3-Clause
//
// json.cpp - joining keys and values.
#include "format/json.hpp"

#include <charconv>
#include <cmath>

namespace perfield {
namespace {

template <typename T, typename Format>
std::string list(const T* values, int n, Format format) {
  std::string out = "[";
  for (int i = 0; i < n; ++i) out += (i ? "," : "") + format(values[i]);
  return out + "]";
}

std::string in_digits(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];  // printf would use the decimal comma of the program's locale
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

}  // namespace

JsonObject& JsonObject::raw(const char* key, const std::string& value) {
  if (!body_.empty()) body_ += ",";
  body_ += "\"" + std::string(key) + "\":" + value;
  return *this;
}

JsonObject& JsonObject::numbers(const char* key, const int64_t* values, int n) {
  return raw(key, list(values, n, [](int64_t v) { return std::to_string(v); }));
}

JsonObject& JsonObject::numbers(const char* key, const double* values, int n) {
  return raw(key, list(values, n, in_digits));
}

JsonObject& JsonObject::number(const char* key, double value) { return raw(key, in_digits(value)); }

JsonObject& JsonObject::texts(const char* key, const std::vector<std::string>& values) {
  return raw(key, list(values.data(), int(values.size()), quoted));
}

}  // namespace perfield
