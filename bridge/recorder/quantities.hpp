// SPDX-License-Identifier: BSD-3-Clause
//
// quantities.hpp - the quantities that sources have defined. They are added under a lock, never
// removed, and read without a lock. The first ones are perfield's own: the time inside regions in
// each class of MPI calls. They have the numbers of the classes.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "format/calls.h"
#include "format/units.hpp"
#include "recorder/source.h"

namespace perfield {

inline constexpr int kMostQuantities = 64;  // one bit each in a word

struct Quantity {
  std::string name, help;
  const Unit* unit = nullptr;
  perfield_scope scope{};
  perfield_over_steps over_steps{};
  perfield_over_threads over_threads{};
  bool of_kernel = false;  // perfield reads it itself

  // A time inside regions is written once a region has some; all other quantities at once.
  bool waits_for_use() const noexcept { return over_threads == PERFIELD_THREADS_LONGEST; }
  bool is_state() const noexcept { return over_steps != PERFIELD_STEPS_SUM; }
  bool is_ticks() const noexcept { return unit->added[0] == 't'; }
};

class Quantities {
 public:
  Quantities();

  // Returns the number of a quantity; defines it if it is new. -1 if it is refused.
  int define(const char* name, const char* unit, perfield_scope scope, perfield_over_steps steps,
             perfield_over_threads threads, const char* help) noexcept;
  // Why quantities were refused since the last call: one sentence each.
  std::vector<std::string> take_refusals();

  int size() const noexcept { return size_.load(std::memory_order_acquire); }
  Quantity& operator[](int number) noexcept { return rows_[number]; }
  const Quantity& operator[](int number) const noexcept { return rows_[number]; }
  // Returns the number of the quantity with that name and scope, or -1.
  int find(const std::string& name, perfield_scope scope) const noexcept;

  // Sets of quantities: bit n stands for number n.
  uint64_t all() const noexcept { return ~uint64_t{0} >> (kMostQuantities - size()); }
  uint64_t per_rank() const noexcept { return per_rank_.load(std::memory_order_relaxed); }
  uint64_t states() const noexcept { return states_.load(std::memory_order_relaxed); }
  uint64_t longest() const noexcept { return longest_.load(std::memory_order_relaxed); }
  // Time of regions in calls on files.
  uint64_t in_files() const noexcept { return in_files_.load(std::memory_order_relaxed); }

 private:
  void refuse(const std::string& sentence);

  std::mutex mutex_;
  std::atomic<int> size_{0};
  std::atomic<uint64_t> per_rank_{0}, states_{0}, longest_{0}, in_files_{0};
  Quantity rows_[kMostQuantities];
  std::vector<std::string> refusals_;
};

// A source's handle: the number + 1, and the flags that adding needs.
inline constexpr perfield_quantity kQuantityPerRank = 1u << 8, kQuantityIsState = 1u << 9;
inline bool is_quantity(perfield_quantity quantity) noexcept {
  return (quantity & 0xFF) - 1 < uint32_t(kMostQuantities);
}
inline int number_of(perfield_quantity quantity) noexcept { return int(quantity & 0xFF) - 1; }

}  // namespace perfield
