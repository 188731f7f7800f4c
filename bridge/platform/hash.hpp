// SPDX-License-Identifier: BSD-3-Clause
//
// hash.hpp - adds a number to a hash that is the same in all ranks.
#pragma once

#include <cstdint>

namespace perfield {

inline uint64_t mix(uint64_t hash, uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

}  // namespace perfield
