// SPDX-License-Identifier: BSD-3-Clause
//
// json.cpp - quoting and joining. Bytes that are no UTF-8 become U+FFFD, so that any reader can
// read what any program called itself.
#include "stream/json.hpp"

#include <cmath>
#include <cstdio>

namespace perfield {
namespace {

// Length of the UTF-8 sequence at s[i], or 0 if it is not one.
size_t utf8_length(const std::string& s, size_t i) {
  auto byte = [&](size_t k) { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0u; };
  unsigned b = byte(i);
  size_t n = b < 0x80                ? 1
             : b >= 0xC2 && b < 0xE0 ? 2
             : b >= 0xE0 && b < 0xF0 ? 3
             : b >= 0xF0 && b < 0xF5 ? 4
                                     : 0;
  for (size_t k = 1; k < n; ++k)
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  if (n == 3 && ((b == 0xE0 && byte(i + 1) < 0xA0) || (b == 0xED && byte(i + 1) > 0x9F))) return 0;
  if (n == 4 && ((b == 0xF0 && byte(i + 1) < 0x90) || (b == 0xF4 && byte(i + 1) > 0x8F))) return 0;
  return n;
}

template <typename T, typename Format>
std::string list(const T* values, int n, Format format) {
  std::string out = "[";
  for (int i = 0; i < n; ++i) out += (i ? "," : "") + format(values[i]);
  return out + "]";
}

}  // namespace

std::string JsonObject::quoted(const std::string& value) {
  std::string out = "\"";
  for (size_t i = 0; i < value.size();) {
    auto c = static_cast<unsigned char>(value[i]);
    size_t n = utf8_length(value, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += char(c);
    } else if (c < 0x20) {
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else if (n == 0) {
      out += "\xEF\xBF\xBD";
      n = 1;
    } else {
      out.append(value, i, n);
    }
    i += n ? n : 1;
  }
  return out + "\"";
}

JsonObject& JsonObject::raw(const char* key, const std::string& value) {
  if (!body_.empty()) body_ += ",";
  body_ += "\"" + std::string(key) + "\":" + value;
  return *this;
}

JsonObject& JsonObject::numbers(const char* key, const int64_t* values, int n) {
  return raw(key, list(values, n, [](int64_t v) { return std::to_string(v); }));
}

JsonObject& JsonObject::numbers(const char* key, const double* values, int n) {
  return raw(key, list(values, n, [](double v) {
               if (!std::isfinite(v)) return std::string("null");
               char text[32];
               snprintf(text, sizeof text, "%.17g", v);
               return std::string(text);
             }));
}

JsonObject& JsonObject::texts(const char* key, const std::vector<std::string>& values) {
  return raw(key, list(values.data(), int(values.size()), quoted));
}

}  // namespace perfield
