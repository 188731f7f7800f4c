// SPDX-License-Identifier: BSD-3-Clause
//
// now.hpp - the time by which a source decides whether to ask again. Steps and regions have
// perfield's own clock.
#pragma once

#include <time.h>

#include <cstdint>

namespace perfield {

inline uint64_t now_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000u + uint64_t(now.tv_nsec);
}

}  // namespace perfield
