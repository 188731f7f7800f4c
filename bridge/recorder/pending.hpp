// SPDX-License-Identifier: BSD-3-Clause
//
// pending.hpp - what the threads of a rank have counted and no entry holds yet: which threads, and
// what their tables need together. Only the thread that closes steps uses it.
#pragma once

#include <cstdint>

#include "recorder/dirty_rows.hpp"
#include "recorder/message_table.hpp"
#include "recorder/path_table.hpp"
#include "recorder/quantity_table.hpp"

namespace perfield {

struct Pending {
  Bits profiles;  // those with anything pending
  PathTable::OfRank paths;
  QuantityTable::OfRank quantities;
  MessageTable::Calls calls_of_messages;
  uint64_t bytes = 0;  // that the tables of all profiles have touched

  // Allocates the tables; returns whether there was memory.
  bool start(uint32_t max_profiles, uint32_t max_regions, uint32_t max_paths) noexcept {
    return memory_ || memory_.map([=](Arena& arena) {
      profiles.place(arena, max_profiles);
      paths.place(arena, max_regions, max_paths);
      quantities.place(arena, max_regions);
    });
  }
  void end() noexcept { memory_.unmap(); }

 private:
  Arena memory_;
};

}  // namespace perfield
