// SPDX-License-Identifier: BSD-3-Clause
//
// region_quantities.hpp - a sparse table of (region, quantity) pairs: rows for the pairs that
// occur, and a hash table from pair to row. A pair without room uses the row of `other regions` of
// its quantity, which always exists. One thread adds rows; others may read them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/arena.hpp"
#include "recorder/quantities.hpp"

namespace perfield {

inline constexpr uint32_t kOtherRegion = 0;  // id of `other regions`

template <class Value>
class RegionQuantities {
 public:
  struct Row {
    uint32_t region;
    uint16_t quantity;
    Value value;
  };

  static uint32_t capacity(uint32_t max_regions) noexcept {
    constexpr uint32_t most = 60000;  // the map's numbers have 16 bits
    return std::min(most, 4 * max_regions) + kFirst;
  }
  // The most bytes of the table that its rows can have touched.
  size_t used() const noexcept {
    const size_t slots = (slot_mask_ + 1) * sizeof(uint16_t);
    return size() * sizeof(Row) + std::min(slots, (size() - kFirst) * size_t{4096});
  }
  void place(Arena& arena, uint32_t max_regions) noexcept {
    max_regions_ = max_regions;
    capacity_ = capacity(max_regions);
    slot_mask_ = n_slots(max_regions) - 1;
    rows_ = arena.take<Row>(capacity_);
    slots_ = arena.take<uint16_t>(n_slots(max_regions));
  }

  // By the thread that adds: the number of a pair's row, added if it is new. full: set if it found
  // no room.
  uint32_t row_of(uint32_t region, uint16_t quantity, bool* full) noexcept {
    if (region == kOtherRegion || region >= max_regions_) return other(quantity);
    uint16_t& at = slots_[slot_of(region, quantity)];
    if (__builtin_expect(at, 1)) return at;
    const uint32_t n = size();
    if (n >= capacity_) {
      *full = true;
      return other(quantity);
    }
    rows_[n].region = region;
    rows_[n].quantity = quantity;
    at = uint16_t(n);
    size_.store(n + 1, std::memory_order_release);
    return n;
  }
  Row& row(uint32_t number) noexcept { return rows_[number]; }
  // By other threads: the same, of a row that is new perhaps.
  Row& new_row(uint32_t number) noexcept {
    if (number < kFirst)
      (void)has_other();
    else
      (void)size();
    return rows_[number];
  }
  // The number of a row that was found.
  uint32_t number_of(const Row& row) const noexcept { return uint32_t(&row - rows_); }

  // By other threads: the row of a pair, or nullptr.
  Row* find(uint32_t region, uint16_t quantity) noexcept {
    if (region == kOtherRegion || region >= max_regions_)
      return has_other() ? &rows_[quantity] : nullptr;
    const uint16_t at = slots_[slot_of(region, quantity)];
    return at ? &rows_[at] : nullptr;
  }

  // The numbers of rows lie below.
  uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }

 private:
  static constexpr uint32_t kFirst =
      kMostQuantities;  // the rows before are `other regions`, by quantity
  // At most half of the slots are used.
  static uint32_t n_slots(uint32_t max_regions) noexcept {
    uint32_t n = 64;
    while (n < 2 * capacity(max_regions)) n *= 2;
    return n;
  }
  // The slot that names the pair's row; a free one if it has none.
  uint32_t slot_of(uint32_t region, uint16_t quantity) const noexcept {
    const uint32_t pair = region * kMostQuantities + quantity;
    for (uint32_t slot = pair * 0x9E3779B9u >> 16;; ++slot) {
      const uint16_t at = slots_[slot & slot_mask_];
      if (!at || (rows_[at].region == region && rows_[at].quantity == quantity))
        return slot & slot_mask_;
    }
  }
  bool has_other() const noexcept { return has_other_.load(std::memory_order_acquire); }
  uint32_t other(uint16_t quantity) noexcept {
    if (!has_other_.load(std::memory_order_relaxed)) {  // then others read all these rows
      for (uint32_t q = 0; q < kFirst; ++q) rows_[q].quantity = uint16_t(q);
      has_other_.store(true, std::memory_order_release);
    }
    return quantity;
  }

  Row* rows_ = nullptr;
  uint16_t* slots_ = nullptr;  // numbers of rows; 0: free
  uint32_t max_regions_ = 0, capacity_ = 0, slot_mask_ = 0;
  std::atomic<uint32_t> size_{kFirst};
  std::atomic<bool> has_other_{false};
};

}  // namespace perfield
