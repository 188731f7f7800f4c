// SPDX-License-Identifier: BSD-3-Clause
//
// activity.hpp - adds up CUPTI's records until a step takes the sums. Records come on CUPTI's
// threads at any moment, so the sums are atomic. Nothing allocates or locks.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "sources/device_quantities.hpp"

namespace perfield::cupti {

class Activity {
 public:
  // Declares the quantities. Call it first.
  void define() noexcept;

  // Adds one kernel, copy or memory set; ignores other records.
  void add(const CUpti_Activity* record) noexcept;

  // Moves the sums into the open step; drops them if it is not measured.
  void hand_in() noexcept;

 private:
  enum Kind { kKernel, kTo, kFrom, kWithin, kKinds };
  struct Sums {
    std::atomic<uint64_t> count, ns, bytes;
  };

  static Kind kind_of_copy(uint8_t kind) noexcept;
  void add(Kind kind, uint64_t start, uint64_t end, uint64_t bytes) noexcept;

  perfield_operation operations_[kKinds] = {};
  Sums sums_[kKinds] = {};
};

}  // namespace perfield::cupti
