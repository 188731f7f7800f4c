// SPDX-License-Identifier: BSD-3-Clause
//
// region_bits.hpp - a bit for each region, so that what few regions have is found without looking
// at all of them. Written by one thread and read by others, as all of a shard.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/counter.hpp"

namespace perfield {

class RegionBits {
 public:
  static size_t bytes(uint32_t max_regions) noexcept {
    return words_of(max_regions) * sizeof(Counter);
  }
  // memory: so many bytes, zero. Returns what lies behind them.
  char* place(char* memory, uint32_t max_regions) noexcept {
    words_ = reinterpret_cast<Counter*>(memory);
    return memory + bytes(max_regions);
  }

  void set(uint32_t region) noexcept { word(region).set(word(region).get() | bit(region)); }
  void clear(uint32_t region) noexcept { word(region).set(word(region).get() & ~bit(region)); }
  bool has(uint32_t region) const noexcept { return word(region).get() & bit(region); }

  // Calls visit(region) for those below n_regions that are set.
  template <class Visit>
  void for_each(uint32_t n_regions, Visit visit) const noexcept {
    for (uint32_t n = 0; n < words_of(n_regions); ++n) {
      for (uint64_t bits = words_[n].get(); bits; bits &= bits - 1) {
        const uint32_t region = n * 64 + uint32_t(__builtin_ctzll(bits));
        if (region >= n_regions) return;  // defined just now
        visit(region);
      }
    }
  }

 private:
  static uint32_t words_of(uint32_t n_regions) noexcept { return (n_regions + 63) / 64; }
  static uint64_t bit(uint32_t region) noexcept { return uint64_t(1) << (region % 64); }
  Counter& word(uint32_t region) const noexcept { return words_[region / 64]; }

  Counter* words_ = nullptr;
};

}  // namespace perfield
