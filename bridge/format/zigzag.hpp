// SPDX-License-Identifier: BSD-3-Clause
//
// zigzag.hpp - differences of either sign as small numbers: 2d, or -2d - 1 if d < 0, modulo 2^64.
#pragma once

#include <cstdint>

namespace perfield {

inline uint64_t zigzag(uint64_t difference) noexcept {
  return difference << 1 ^ uint64_t(int64_t(difference) >> 63);
}

inline uint64_t unzigzag(uint64_t code) noexcept { return code >> 1 ^ (0 - (code & 1)); }

}  // namespace perfield
