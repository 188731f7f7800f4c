// SPDX-License-Identifier: BSD-3-Clause
//
// varint.hpp - whole numbers in as few bytes as they need (LEB128): seven bits a byte, the lowest
// first; the highest bit says that more follow.
#pragma once

#include <cstdint>

namespace perfield {

// Writes at most 10 bytes. Returns where the next number goes.
inline unsigned char* put_varint(unsigned char* at, uint64_t value) noexcept {
  for (; value > 0x7F; value >>= 7) *at++ = static_cast<unsigned char>(0x80 | (value & 0x7F));
  *at++ = static_cast<unsigned char>(value);
  return at;
}

// Reads a number at *at, which it moves on. False if none ends before `end`.
inline bool get_varint(const unsigned char** at, const unsigned char* end,
                       uint64_t* value) noexcept {
  *value = 0;
  for (int shift = 0; shift < 64 && *at < end; shift += 7) {
    const uint64_t part = *(*at)++;
    *value |= (part & 0x7F) << shift;
    if (!(part & 0x80)) return true;
  }
  return false;
}

}  // namespace perfield
