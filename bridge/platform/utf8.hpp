// SPDX-License-Identifier: BSD-3-Clause
//
// utf8.hpp - the UTF-8 functions that reading and writing texts need. They are strict: they
// reject surrogates, overlong forms and numbers beyond U+10FFFF.
#pragma once

#include <cstdint>
#include <string>

namespace perfield {

// Writes the bytes of number `code`, at most four, and returns how many. It knows no surrogates.
inline int encode_utf8(uint32_t code, char* out) noexcept {
  const int following = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char kLead[] = {0x00, 0xC0, 0xE0, 0xF0};
  *out++ = static_cast<char>(kLead[following] | (code >> (6 * following)));
  for (int i = following - 1; i >= 0; --i)
    *out++ = static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3F));
  return following + 1;
}

// Appends character number `code`; false if no character has that number.
inline bool append_utf8(uint32_t code, std::string* out) {
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
  char bytes[4];
  out->append(bytes, static_cast<size_t>(encode_utf8(code, bytes)));
  return true;
}

// Length in bytes of the character that starts at text[at]; 0 if no whole character starts there.
inline int utf8_length(const std::string& text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return 1;
  const int bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + static_cast<size_t>(bytes) > text.size()) return 0;
  uint32_t code = lead & (0x7Fu >> bytes);
  for (int i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[at + static_cast<size_t>(i)]);
    if ((byte & 0xC0) != 0x80) return 0;
    code = code * 64 + (byte & 0x3F);
  }
  static const uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool good = code >= kLeast[bytes] && code <= 0x10FFFF && (code < 0xD800 || code >= 0xE000);
  return good ? bytes : 0;
}

// The text for a message: `?` in place of bytes that are no character or control a terminal.
// is_line: ends of lines are such bytes, too.
inline std::string legible(const std::string& text, bool is_line = true) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto length = static_cast<size_t>(utf8_length(text, at));
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool shown =
        length > 1 ? byte != 0xC2 || static_cast<unsigned char>(text[at + 1]) >= 0xA0
                   : length == 1 && ((byte >= ' ' && byte != 0x7f) || (byte == '\n' && !is_line));
    out += shown ? text.substr(at, length) : "?";
    at += length ? length : 1;
  }
  return out;
}

}  // namespace perfield
