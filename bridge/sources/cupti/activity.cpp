// SPDX-License-Identifier: BSD-3-Clause
//
// activity.cpp - see activity.hpp. CUPTI's records grow at their ends from version to version, so
// each is read as the oldest type of its kind that newer headers still have.
#include "sources/cupti/activity.hpp"

#include "recorder/source.h"

namespace perfield::cupti {
namespace {

constexpr int kFirst = PERFIELD_CALL_device_kernel;

perfield_call kind_of_copy(uint8_t kind) noexcept {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return PERFIELD_CALL_device_copy_to;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return PERFIELD_CALL_device_copy_from;
    default:
      return PERFIELD_CALL_device_copy_within;
  }
}

}  // namespace

void Activity::add(perfield_call call, uint64_t start, uint64_t end, uint64_t bytes) noexcept {
  Sums& sums = sums_[call - kFirst];
  const bool is_from = call == PERFIELD_CALL_device_copy_from;
  sums.count.fetch_add(1, std::memory_order_relaxed);
  // Both are 0 where the device could not tell the time.
  sums.ns.fetch_add(end > start ? end - start : 0, std::memory_order_relaxed);
  (is_from ? sums.bytes_in : sums.bytes_out).fetch_add(bytes, std::memory_order_relaxed);
}

void Activity::add(const CUpti_Activity* record) noexcept {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel4*>(record);
      return add(PERFIELD_CALL_device_kernel, kernel->start, kernel->end, 0);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy*>(record);
      return add(kind_of_copy(copy->copyKind), copy->start, copy->end, copy->bytes);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {  // from device to device
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpyPtoP*>(record);
      return add(PERFIELD_CALL_device_copy_within, copy->start, copy->end, copy->bytes);
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* set = reinterpret_cast<const CUpti_ActivityMemset*>(record);
      return add(PERFIELD_CALL_device_copy_within, set->start, set->end, set->bytes);
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
    Sums& sums = sums_[kind];
    const uint64_t count = take(sums.count);
    if (!count) continue;
    perfield_source_count(perfield_call(kFirst + kind), count, take(sums.ns), take(sums.bytes_out),
                          take(sums.bytes_in));
  }
}

}  // namespace perfield::cupti
