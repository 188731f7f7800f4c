// SPDX-License-Identifier: BSD-3-Clause
//
// paths.cpp - see paths.hpp.
#include "recorder/paths.hpp"

#include <algorithm>

#include "platform/pages.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

void Paths::configure(uint32_t max_paths) noexcept {
  if (!keys_) capacity_ = (std::max(max_paths, 1u) + 63) / 64 * 64;
}

bool Paths::start(uint32_t max_regions) noexcept {
  if (keys_) return true;
  uint32_t n_slots = 64;
  while (n_slots < 2 * capacity_) n_slots *= 2;
  const size_t keys = capacity_ * sizeof *keys_, slots = n_slots * sizeof *slots_;
  memory_bytes_ = keys + slots + capacity_;
  char* const at = map_pages(memory_bytes_);
  if (!at) return false;
  max_regions_ = max_regions;
  slot_mask_ = n_slots - 1;
  slots_ = reinterpret_cast<std::atomic<uint32_t>*>(at + keys);
  is_outermost_ = reinterpret_cast<bool*>(at + keys + slots);
  keys_ = reinterpret_cast<std::atomic<uint64_t>*>(at);
  return true;
}

Paths::~Paths() {
  if (keys_) munmap(static_cast<void*>(keys_), memory_bytes_);
}

uint32_t Paths::size() const noexcept {
  return std::min(size_.load(std::memory_order_acquire), capacity_);
}

uint64_t Paths::bytes() const noexcept {
  const uint64_t n = size();
  return keys_ ? bytes_of_pages(n * sizeof *keys_) + bytes_of_pages(n) +
                     std::min(bytes_of_pages((slot_mask_ + 1) * sizeof *slots_), n * 4096)
               : 0;
}

uint32_t Paths::inside(uint32_t outer, uint32_t region) noexcept {
  if (is_other(outer)) return other(region);
  if (const uint32_t known = find(outer, region)) return known;
  return add(outer, region);
}

// Two threads may add the same path at once: one of their numbers is then never used.
uint32_t Paths::add(uint32_t outer, uint32_t region) noexcept {
  const uint32_t path = size_.load(relaxed) < capacity_ ? size_.fetch_add(1) : capacity_;
  if (path >= capacity_) {
    is_full_.store(true, relaxed);
    return other(region);
  }
  const uint64_t key = uint64_t(outer) << 32 | region;
  bool is_outermost = true;
  for (uint32_t around = outer; around && is_outermost; around = outer_of(around))
    is_outermost = region_of(around) != region;
  is_outermost_[path] = is_outermost;
  keys_[path].store(key, relaxed);
  for (uint32_t slot = first_slot(key);; slot = (slot + 1) & slot_mask_) {
    uint32_t taken = 0;
    if (slots_[slot].compare_exchange_strong(taken, path, std::memory_order_acq_rel)) return path;
    if (keys_[taken].load(relaxed) == key) return taken;
  }
}

}  // namespace perfield
