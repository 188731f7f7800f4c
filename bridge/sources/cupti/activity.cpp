// SPDX-License-Identifier: BSD-3-Clause
//
// activity.cpp - see activity.hpp. Newer versions of CUPTI append to its records, so each is read
// as the oldest type of its kind in the headers.
#include "sources/cupti/activity.hpp"

namespace perfield::cupti {

Activity::Kind Activity::kind_of_copy(uint8_t kind) noexcept {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return kTo;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return kFrom;
    default:
      return kWithin;
  }
}

void Activity::define() noexcept {
  const DeviceCopies copies = define_device_copies();
  operations_[kTo] = copies.to;
  operations_[kFrom] = copies.from;
  operations_[kWithin] = copies.within;
  operations_[kKernel] = {
      of_devices("device_kernel_count", "1", "kernels that the rank's devices finished"), 0,
      of_devices("device_kernel_time", "ticks",
                 "time that these took, added up where they ran at once"),
      0};
}

void Activity::add(Kind kind, uint64_t start, uint64_t end, uint64_t bytes) noexcept {
  Sums& sums = sums_[kind];
  sums.count.fetch_add(1, std::memory_order_relaxed);
  // Both are 0 if the device has no time stamps.
  sums.ns.fetch_add(end > start ? end - start : 0, std::memory_order_relaxed);
  sums.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void Activity::add(const CUpti_Activity* record) noexcept {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel4*>(record);
      return add(kKernel, kernel->start, kernel->end, 0);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy*>(record);
      return add(kind_of_copy(copy->copyKind), copy->start, copy->end, copy->bytes);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {  // from device to device
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpyPtoP*>(record);
      return add(kWithin, copy->start, copy->end, copy->bytes);
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* set = reinterpret_cast<const CUpti_ActivityMemset*>(record);
      return add(kWithin, set->start, set->end, set->bytes);
    }
    default:
      return;
  }
}

void Activity::hand_in() noexcept {
  const auto take = [](std::atomic<uint64_t>& sum) {
    return sum.exchange(0, std::memory_order_relaxed);
  };
  for (int kind = 0; kind < kKinds; ++kind) {
    perfield_quantity_add(operations_[kind].count, take(sums_[kind].count));
    perfield_quantity_add(operations_[kind].bytes, take(sums_[kind].bytes));
    perfield_quantity_add(operations_[kind].time,
                          perfield_source_ticks_of_ns(take(sums_[kind].ns)));
  }
}

}  // namespace perfield::cupti
