// SPDX-License-Identifier: BSD-3-Clause
//
// paths.hpp - on which paths regions were entered: a path is a region inside the path around it.
// Paths are added at their first entry, without a lock, and never removed. The numbers of all
// threads mean the same. A path that finds no room counts as `other paths` of its region, and so do
// all paths inside it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace perfield {

class Paths {
 public:
  static constexpr uint32_t kOutside = 0;  // of all regions
  static constexpr uint32_t kDefaultRoom = 4096;

  Paths() = default;
  ~Paths();
  Paths(const Paths&) = delete;
  Paths& operator=(const Paths&) = delete;

  // How many paths there may be; before start().
  void configure(uint32_t max_paths) noexcept;
  // Allocates the table; returns whether there was memory.
  bool start(uint32_t max_regions) noexcept;

  // The path of a region inside a path. On the hot path, where it was not guessed.
  uint32_t inside(uint32_t outer, uint32_t region) noexcept;
  // The same without adding it; kOutside: it is not there.
  uint32_t find(uint32_t outer, uint32_t region) const noexcept {
    const uint64_t key = uint64_t(outer) << 32 | region;
    for (uint32_t slot = first_slot(key);; slot = (slot + 1) & slot_mask_) {
      const uint32_t path = slots_[slot].load(std::memory_order_acquire);
      if (!path || keys_[path].load(std::memory_order_relaxed) == key) return path;
    }
  }

  // A thread has a row for each path, and behind them one for the other paths of each region.
  uint32_t n_rows() const noexcept { return capacity_ + max_regions_; }
  uint32_t other(uint32_t region) const noexcept { return capacity_ + region; }
  bool is_other(uint32_t row) const noexcept { return row >= capacity_; }
  uint32_t capacity() const noexcept { return capacity_; }
  // The rows of paths that are in use are below this one.
  uint32_t size() const noexcept;

  uint32_t region_of(uint32_t row) const noexcept {
    return is_other(row) ? row - capacity_ : uint32_t(keys_[row].load(std::memory_order_relaxed));
  }
  // Of a path, not of other paths.
  uint32_t outer_of(uint32_t path) const noexcept {
    return uint32_t(keys_[path].load(std::memory_order_relaxed) >> 32);
  }
  // Whether no path around it has the same region.
  bool is_outermost(uint32_t path) const noexcept { return is_outermost_[path]; }
  // Whether a path found no room.
  bool is_full() const noexcept { return is_full_.load(std::memory_order_relaxed); }
  // What the table has touched, in bytes.
  uint64_t bytes() const noexcept;

 private:
  uint32_t add(uint32_t outer, uint32_t region) noexcept;
  uint32_t first_slot(uint64_t key) const noexcept {
    return uint32_t((key * 0x9E3779B97F4A7C15u) >> 32) & slot_mask_;
  }

  uint32_t capacity_ = kDefaultRoom, max_regions_ = 0;  // capacity: a multiple of 64
  std::atomic<uint32_t> size_{1};
  std::atomic<bool> is_full_{false};
  std::atomic<uint64_t>* keys_ = nullptr;   // [capacity_], outer << 32 | region
  bool* is_outermost_ = nullptr;            // [capacity_]
  std::atomic<uint32_t>* slots_ = nullptr;  // hash table of paths; 0: free
  uint32_t slot_mask_ = 0;
  size_t memory_bytes_ = 0;
};

}  // namespace perfield
