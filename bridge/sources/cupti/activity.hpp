// SPDX-License-Identifier: BSD-3-Clause
//
// activity.hpp - sums over what CUPTI reports of a device, until they are handed in. Records come
// on threads of CUPTI at any moment, so the sums are atomic; nothing allocates or locks.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "sources/device_quantities.hpp"

namespace perfield::cupti {

class Activity {
 public:
  // Declares what is handed in. To be called first.
  void define() noexcept;

  // Adds one kernel, copy or setting of memory; other records are passed over.
  void add(const CUpti_Activity* record) noexcept;

  // Adds the sums to the step that is open, or nowhere if none is measured, and empties them.
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
