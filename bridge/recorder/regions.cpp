// SPDX-License-Identifier: BSD-3-Clause
//
// regions.cpp - the region table. Each region is defined once, off the hot path. Looking up a name
// takes a hash and a comparison.
#include "recorder/regions.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "recorder/thread_profile.hpp"

namespace perfield {
namespace {

uint64_t hash_of(const char* name, size_t length) noexcept {
  uint64_t h = 1469598103934665603u;  // FNV-1a
  for (size_t i = 0; i < length; ++i)
    h = (h ^ static_cast<unsigned char>(name[i])) * 1099511628211u;
  return h;
}

uint64_t hash_of(uint64_t name_hash, int block, uintptr_t armed_at) noexcept {
  uint64_t h = name_hash ^ uint64_t(uint32_t(block)) * 0x9E3779B97F4A7C15u;
  h ^= uint64_t(armed_at) * 0xC2B2AE3D27D4EB4Fu;
  return h ^ (h >> 29);
}

// Turns an address into its offset in the file it was loaded from, with that file's name. An
// address outside any file stays unchanged. Results are below 2^63, so any reader can hold them.
uint64_t place_of(uintptr_t armed_at) noexcept {
  Dl_info found;
  if (armed_at == 0 || dladdr(reinterpret_cast<void*>(armed_at), &found) == 0 || !found.dli_fbase)
    return armed_at;
  const char* slash = strrchr(found.dli_fname, '/');
  const char* name = slash ? slash + 1 : found.dli_fname;
  uint64_t file = hash_of(name, strlen(name)) >> 33;
  return file << 32 ^ (armed_at - reinterpret_cast<uintptr_t>(found.dli_fbase));
}

}  // namespace

bool Regions::make_table(uint32_t capacity) noexcept {
  uint32_t mask = 15;
  while (mask + 1 < capacity * 2) mask = mask * 2 + 1;
  auto* slots = new (std::nothrow) std::atomic<uint32_t>[mask + 1]();
  auto* rows = new (std::nothrow) RegionDefinition*[capacity]();
  Table* const before = table_.load(std::memory_order_relaxed);
  auto* table = new (std::nothrow) Table{rows, slots, mask, before};
  auto* other = before ? before->rows[kOtherRegion] : new (std::nothrow) RegionDefinition;
  if (!slots || !rows || !table || !other) return false;
  rows[kOtherRegion] = other;
  for (uint32_t id = 1; before && id < size(); ++id) {
    rows[id] = before->rows[id];
    note(*table, rows[id]->hash.load(std::memory_order_relaxed), id);
  }
  capacity_.store(capacity, std::memory_order_relaxed);
  table_.store(table, std::memory_order_release);
  if (!before) {
    other->name = "other regions";
    size_.store(1, std::memory_order_release);
  }
  return true;
}

Regions::~Regions() {
  Table* table = table_.load(std::memory_order_relaxed);
  for (uint32_t id = 0; table && id < size(); ++id) delete table->rows[id];
  while (table) {
    Table* const outgrown = table->outgrown;
    delete[] table->rows;
    delete[] table->slots;
    delete table;
    table = outgrown;
  }
}

void Regions::configure(uint32_t max_regions, const Selection& selection) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  selection_ = selection;
  configured_.store(true, std::memory_order_relaxed);
  uint32_t wanted = std::max({max_regions, size(), uint32_t(2)});
  Table* table = table_.load(std::memory_order_relaxed);
  if (!table || wanted != capacity()) {
    if (!make_table(wanted)) return;
    table = table_.load(std::memory_order_relaxed);
  }
  for (uint32_t id = 1; id < size(); ++id) {
    RegionDefinition& r = *table->rows[id];
    r.selected = selection_.measures(r.name);
    if (selection_.closes_steps(r.name)) step_region_ = id;
  }
}

uint32_t Regions::find(const Table& table, uint64_t hash, const char* name, size_t length,
                       int block, uintptr_t armed_at) noexcept {
  for (uint32_t slot = uint32_t(hash) & table.slot_mask;; slot = (slot + 1) & table.slot_mask) {
    uint32_t entry = table.slots[slot].load(std::memory_order_acquire);
    if (entry == 0) return kNone;
    const RegionDefinition& r = *table.rows[entry - 1];
    if (r.hash.load(std::memory_order_relaxed) == hash && r.block == block &&
        r.armed_at == armed_at && r.name.size() == length && !memcmp(r.name.data(), name, length))
      return entry - 1;
  }
}

void Regions::note(const Table& table, uint64_t hash, uint32_t id) noexcept {
  uint32_t slot = uint32_t(hash) & table.slot_mask;
  while (table.slots[slot].load(std::memory_order_relaxed)) slot = (slot + 1) & table.slot_mask;
  table.slots[slot].store(id + 1, std::memory_order_release);
}

uint32_t Regions::define(const char* name, const char* file, int line, int block,
                         uintptr_t armed_at) noexcept {
  if (!name || !*name) name = "unnamed";
  size_t length = strnlen(name, kLongestName);
  uint64_t name_hash = hash_of(name, length), hash = hash_of(name_hash, block, armed_at);
  if (const Table* table = table_.load(std::memory_order_acquire)) {
    uint32_t known = find(*table, hash, name, length, block, armed_at);
    if (known != kNone) return known;
    if (size() >= capacity() && configured_.load(std::memory_order_relaxed)) {
      overflowed_.fetch_add(1, std::memory_order_relaxed);
      return kOtherRegion;
    }
  }
  // Asks the dynamic loader before locking: a thread that holds the loader's lock may wait for
  // ours.
  const uint64_t place = place_of(armed_at);
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!table_.load(std::memory_order_relaxed) && !make_table(capacity())) return kOtherRegion;
    // The table's final size is not known before waking, so it grows.
    if (size() >= capacity() && !configured_.load(std::memory_order_relaxed))
      make_table(capacity() * 4);
    const Table& table = *table_.load(std::memory_order_relaxed);
    uint32_t known = find(table, hash, name, length, block, armed_at);
    if (known != kNone) return known;
    uint32_t id = size();
    if (id >= capacity()) {
      overflowed_.fetch_add(1, std::memory_order_relaxed);
      return kOtherRegion;
    }
    auto* r = new RegionDefinition;
    r->name.assign(name, length);
    if (file) r->file.assign(file, strnlen(file, kLongestName));
    r->line = line;
    r->block = block;
    r->armed_at = armed_at;
    r->place = place;
    // An armed region was chosen in the code; a block's part follows its region.
    r->selected = armed_at != 0 || selection_.measures(r->name);
    r->name_hash = name_hash;
    r->hash.store(hash, std::memory_order_relaxed);
    table.rows[id] = r;
    if (block < 0 && armed_at == 0 && selection_.closes_steps(r->name)) step_region_ = id;
    size_.store(id + 1, std::memory_order_release);
    note(table, hash, id);
    return id;
  } catch (...) {
    return kOtherRegion;  // no memory: counts there
  }
}

uint32_t Regions::part_of(uint32_t id, int block, uintptr_t armed_at) noexcept {
  const Table& table = *table_.load(std::memory_order_acquire);
  const RegionDefinition& r = *table.rows[id];
  uint32_t known = find(table, hash_of(r.name_hash, block, armed_at), r.name.data(), r.name.size(),
                        block, armed_at);
  return known != kNone ? known : define(r.name.c_str(), r.file.c_str(), r.line, block, armed_at);
}

}  // namespace perfield
