// SPDX-License-Identifier: BSD-3-Clause
//
// quoted.cpp - see quoted.hpp.
#include "platform/quoted.hpp"

#include <cstdio>

#include "platform/utf8.hpp"

namespace perfield {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const int bytes = utf8_length(text, at);
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[at];
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f || bytes == 0) {
      static const char kHex[] = "0123456789abcdef";
      out += "\\u00";
      out += kHex[byte / 16];
      out += kHex[byte % 16];
    } else {
      out.append(text, at, static_cast<size_t>(bytes));
    }
    at += bytes > 0 ? static_cast<size_t>(bytes) : 1;
  }
  return out + "\"";
}

}  // namespace perfield
