// SPDX-License-Identifier: BSD-3-Clause
//
// region_table.hpp - maps Score-P's region handles to perfield's regions. All threads read and
// extend it without a lock. Handles are not dense, so it is a hash table, with room for 100,000 of
// them.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfield::scorep {

class RegionTable {
 public:
  static constexpr uint32_t kUnknown = ~uint32_t(0);

  uint32_t find(uint32_t handle) const noexcept {
    for (uint32_t n = 0; n < kFarthest; ++n) {
      const uint64_t slot = slots_[place(handle, n)].load(std::memory_order_acquire);
      if (slot >> 32 == handle) return uint32_t(slot);
      if (slot == 0) break;
    }
    return kUnknown;
  }

  // Sets a handle's value. Only a value of 0 can be replaced. False if the table is full.
  bool set(uint32_t handle, uint32_t value) noexcept {
    for (uint32_t n = 0; n < kFarthest; ++n) {
      std::atomic<uint64_t>& slot = slots_[place(handle, n)];
      uint64_t found = 0;
      const uint64_t wanted = uint64_t(handle) << 32 | value;
      if (slot.compare_exchange_strong(found, wanted, std::memory_order_acq_rel)) return true;
      if (found >> 32 != handle) continue;
      if (uint32_t(found) == 0) slot.store(wanted, std::memory_order_release);
      return true;
    }
    return false;
  }

 private:
  static constexpr uint32_t kBits = 18;
  static constexpr uint32_t kFarthest = 64;

  static uint32_t place(uint32_t handle, uint32_t n) noexcept {
    return ((handle * 2654435769u >> (32 - kBits)) + n) & ((1u << kBits) - 1);
  }

  std::atomic<uint64_t> slots_[1u << kBits];  // handle, value; 0: free. Only touched pages take
  // memory.
};

}  // namespace perfield::scorep
