// SPDX-License-Identifier: BSD-3-Clause
//
// regions.cpp - the region table. Defining happens once per region, off the hot path; looking up
// by name is a hash and a comparison.
#include "recorder/regions.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "recorder/shard.hpp"

namespace perfield {
namespace {

uint64_t hash_of(const char* name, size_t length, int block, uintptr_t site) noexcept {
  uint64_t h = 1469598103934665603u;  // FNV-1a
  for (size_t i = 0; i < length; ++i)
    h = (h ^ static_cast<unsigned char>(name[i])) * 1099511628211u;
  h ^= uint64_t(uint32_t(block)) * 0x9E3779B97F4A7C15u;
  h ^= uint64_t(site) * 0xC2B2AE3D27D4EB4Fu;
  return h ^ (h >> 29);
}

}  // namespace

void Regions::ensure_table() noexcept {
  if (table_) return;
  uint32_t slots = 16;
  while (slots < capacity_ * 2) slots *= 2;
  slots_ = new (std::nothrow) std::atomic<uint32_t>[slots]();
  auto* table = new (std::nothrow) RegionDefinition*[capacity_]();
  auto* other = new (std::nothrow) RegionDefinition;
  if (!slots_ || !table || !other) return;
  slot_mask_ = slots - 1;
  other->name = "other regions";
  table[kOtherRegion] = other;
  table_ = table;
  size_.store(1, std::memory_order_release);
  published_.store(table, std::memory_order_release);
}

bool Regions::matches_selection(const std::string& name) const noexcept {
  return std::any_of(globs_.begin(), globs_.end(), [&](const std::string& glob) {
    return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  });
}

void Regions::configure(uint32_t max_regions, const std::vector<std::string>& globs,
                        const std::string& step_region) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  globs_ = globs;
  step_region_name_ = step_region;
  if (!table_) capacity_ = std::max<uint32_t>(max_regions, 2);
  ensure_table();
  for (uint32_t id = 1; table_ && id < size(); ++id) {
    table_[id]->selected = matches_selection(table_[id]->name);
    if (!step_region_name_.empty() && table_[id]->name == step_region_name_) step_region_ = id;
  }
}

uint32_t Regions::find(uint64_t hash, const char* name, size_t length, int block,
                       uintptr_t site) const noexcept {
  for (uint32_t slot = uint32_t(hash) & slot_mask_;; slot = (slot + 1) & slot_mask_) {
    uint32_t entry = slots_[slot].load(std::memory_order_acquire);
    if (entry == 0) return kNone;
    const RegionDefinition& r = *table_[entry - 1];
    if (r.hash.load(std::memory_order_relaxed) == hash && r.block == block && r.site == site &&
        r.name.size() == length && !memcmp(r.name.data(), name, length))
      return entry - 1;
  }
}

uint32_t Regions::define(const char* name, const char* file, int line, int block,
                         uintptr_t site) noexcept {
  if (!name || !*name) name = "unnamed";
  size_t length = strnlen(name, kLongestName);
  uint64_t hash = hash_of(name, length, block, site);
  if (published_.load(std::memory_order_acquire)) {
    uint32_t known = find(hash, name, length, block, site);
    if (known != kNone) return known;
    if (size() >= capacity_) {
      overflowed_.fetch_add(1, std::memory_order_relaxed);
      return kOtherRegion;
    }
  }
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    ensure_table();
    if (!table_) return kOtherRegion;
    uint32_t known = find(hash, name, length, block, site);
    if (known != kNone) return known;
    uint32_t id = size();
    if (id >= capacity_) {
      overflowed_.fetch_add(1, std::memory_order_relaxed);
      return kOtherRegion;
    }
    auto* r = new RegionDefinition;
    r->name.assign(name, length);
    if (file) r->file.assign(file, strnlen(file, kLongestName));
    r->line = line;
    r->block = block;
    r->site = site;
    // An armed region was chosen in the code; a block's share goes with its region.
    r->selected = site != 0 || matches_selection(r->name);
    r->hash.store(hash, std::memory_order_relaxed);
    table_[id] = r;
    if (!step_region_name_.empty() && r->name == step_region_name_ && block < 0 && site == 0)
      step_region_ = id;
    size_.store(id + 1, std::memory_order_release);
    uint32_t slot = uint32_t(hash) & slot_mask_;
    while (slots_[slot].load(std::memory_order_relaxed)) slot = (slot + 1) & slot_mask_;
    slots_[slot].store(id + 1, std::memory_order_release);
    return id;
  } catch (...) {
    return kOtherRegion;  // no memory: counted there
  }
}

}  // namespace perfield
