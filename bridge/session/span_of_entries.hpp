// SPDX-License-Identifier: BSD-3-Clause
//
// span_of_entries.hpp - how many steps share an entry of this rank: level 0 as configured, each
// level twice as many as the one before. Each level takes a quarter of the space that is left, so
// none is the last. A longer span begins at a multiple of itself. Knows no files and no other rank.
#pragma once

#include <cstdint>

namespace perfield {

class SpanOfEntries {
 public:
  enum class Cause { none, limit, slow };
  static constexpr uint64_t kEndBytes = 2048;  // that a rank's end entry may take

  // steps: at level 0.
  void configure(uint64_t steps) noexcept;

  // Steps from one full entry to the next, once `begin_entry` was called.
  uint64_t steps() const noexcept { return steps_at_0_ << level_; }
  bool is_longer() const noexcept { return level_ > 0; }
  // What last made it longer.
  Cause cause() const noexcept { return cause_; }
  // No further entry fits: the rest of the run shares the last one.
  bool is_full() const noexcept { return full_; }

  // An entry was written. bytes: its size. left: what this rank may still write.
  void written(uint64_t bytes, uint64_t left) noexcept;
  // The same for something that steps are written with, of any size.
  void also_written(uint64_t bytes, uint64_t left) noexcept;
  // Writing is too slow: twice as many steps share an entry, from the next border on.
  void lengthen() noexcept { lengthen(Cause::slow); }
  // An entry begins with step `first`: takes the longest span wanted that begins there. Returns
  // whether it has changed.
  bool begin_entry(uint64_t first) noexcept;

 private:
  void lengthen(Cause cause) noexcept;

  uint64_t steps_at_0_ = 1;
  int level_ = 0, wanted_ = 0, most_ = 0;
  uint64_t of_level_ = 0;  // bytes
  uint64_t largest_ = 0;   // bytes of an entry
  bool full_ = false;
  Cause cause_ = Cause::none;
};

}  // namespace perfield
