// SPDX-License-Identifier: BSD-3-Clause
//
// activity.hpp - sums over what CUPTI reports of a device, until they are handed in. Records come
// on threads of CUPTI at any moment, so the sums are atomic; nothing allocates or locks.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "format/calls.h"

namespace perfield::cupti {

class Activity {
 public:
  // Adds one kernel, copy or setting of memory; other records are passed over.
  void add(const CUpti_Activity* record) noexcept;

  // Counts the sums for the step that is open, or nowhere if none is measured, and empties them.
  void hand_in() noexcept;

 private:
  struct Sums {
    std::atomic<uint64_t> count, ns, bytes_out, bytes_in;
  };
  static constexpr int kKinds = 4;

  void add(perfield_call call, uint64_t start, uint64_t end, uint64_t bytes) noexcept;

  Sums sums_[kKinds] = {};  // by call, from PERFIELD_CALL_device_kernel on
};

}  // namespace perfield::cupti
