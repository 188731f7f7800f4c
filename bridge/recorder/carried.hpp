// SPDX-License-Identifier: BSD-3-Clause
//
// carried.hpp - what all shards together carry from the closing of a step until it is written. Only
// the thread that closes steps uses it.
#pragma once

#include <bitset>
#include <cstdint>

#include "format/calls.h"
#include "format/entry.hpp"
#include "recorder/touched.hpp"

namespace perfield {

struct Carried {
  Bits shards;                 // those that carry anything
  Bits regions;                // those with a row in any shard
  Bits defined_regions;        // those whose definition is in the stream
  Bits paths, defined_paths;   // the same
  Bits sampled_paths;          // that samples name since definitions were last written
  uint32_t quantity_rows = 0;  // rows of quantities of regions in all shards
  uint64_t quantities = 0;     // the quantities of these rows, as bits
  uint64_t of_rank = 0;        // the quantities of the rank, as bits
  std::bitset<PERFIELD_CALL_LIMIT> calls_of_messages;  // those ever written with a message

  // For adding up the rows of all shards: unused ones have no threads, or are zero.
  RegionRow* region_rows;   // [max_regions]
  uint32_t* only_path;      // [max_regions], see add_paths() in step_entry.cpp
  uint64_t* quantities_of;  // [max_regions], as bits
  Bits regions_with_quantities;

  // Allocates the tables; returns whether there was memory.
  bool start(uint32_t max_shards, uint32_t max_regions, uint32_t max_paths) noexcept;
  void end() noexcept;

  uint64_t bytes = 0;  // that the tables of all shards have touched

 private:
  void* memory_ = nullptr;
  size_t memory_bytes_ = 0;
};

}  // namespace perfield
