// SPDX-License-Identifier: BSD-3-Clause
//
// regions.hpp - the names of measured regions. Definitions are added under a lock, never removed,
// and found without a lock. A region is identified by its name, the block of the mesh that gets its
// time, and the place that armed it. When the table is full, a new region becomes `other regions`.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "configuration/selection.hpp"

namespace perfield {

struct RegionDefinition {
  std::string name, file;
  int line = 0;
  int block = -1;
  uintptr_t armed_at = 0;               // return address of the arming call, 0: none
  uint64_t place = 0;                   // the same on all ranks, wherever their files are loaded
  bool selected = true;                 // by the configuration's `regions`
  std::atomic<bool> armed_only{false};  // once armed, entries from elsewhere are not measured
  uint64_t name_hash = 0;
  std::atomic<uint64_t> hash{0};  // of the name, block and armed_at
};

class Regions {
 public:
  Regions() = default;
  ~Regions();
  // Called once, before measuring. Keeps earlier definitions and applies the selection to them.
  void configure(uint32_t max_regions, const Selection& selection) noexcept;

  // Returns the id of a region; defines it if it is new. Never fails; cuts names at kLongestName.
  uint32_t define(const char* name, const char* file, int line, int block = -1,
                  uintptr_t armed_at = 0) noexcept;

  // Returns the part of a region for one block of the mesh, or armed at one place. Each part is a
  // definition of its own, made at its first entry. On the hot path.
  uint32_t part_of(uint32_t id, int block, uintptr_t armed_at) noexcept;

  RegionDefinition& operator[](uint32_t id) noexcept {
    return *table_.load(std::memory_order_acquire)->rows[id];
  }
  uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  // At least max_regions; more only if more were defined before configure().
  uint32_t capacity() const noexcept { return capacity_.load(std::memory_order_relaxed); }
  uint32_t step_region() const noexcept { return step_region_.load(std::memory_order_relaxed); }
  // Which regions are measured, and which close steps. Read it after configure().
  const Selection& selection() const noexcept { return selection_; }
  uint64_t overflowed() const noexcept { return overflowed_.load(std::memory_order_relaxed); }

  static constexpr size_t kLongestName = 1000;
  static constexpr uint32_t kNone = ~uint32_t(0);

 private:
  struct Table {
    RegionDefinition** rows;       // [capacity_]
    std::atomic<uint32_t>* slots;  // hash table of id + 1
    uint32_t slot_mask;
    Table* outgrown;  // kept until the end: others may be reading it
  };

  static uint32_t find(const Table& table, uint64_t hash, const char* name, size_t length,
                       int block, uintptr_t armed_at) noexcept;
  static void note(const Table& table, uint64_t hash, uint32_t id) noexcept;
  // Makes room for this many regions in total; false if there is no memory.
  bool make_table(uint32_t capacity) noexcept;

  std::mutex mutex_;
  std::atomic<Table*> table_{nullptr};
  // Until configure() the table grows.
  std::atomic<uint32_t> capacity_{256};
  std::atomic<uint32_t> size_{0};
  std::atomic<uint32_t> step_region_{kNone};
  std::atomic<uint64_t> overflowed_{0};
  std::atomic<bool> configured_{false};
  Selection selection_;
};

}  // namespace perfield
