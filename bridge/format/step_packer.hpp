// SPDX-License-Identifier: BSD-3-Clause
//
// step_packer.hpp - decides which steps of a rank are written in full and which as differences to
// one of those, and keeps the bodies that this needs. Part of an Appender; never allocates.
//
// A packed step names a full one that is surely in the file before it: written, or waiting in front
// of it for the same write. After a failed write the next step is full.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/entry.hpp"
#include "format/pack.hpp"

namespace perfield {

class StepPacker {
 public:
  static constexpr uint32_t kMostPacked = 63;  // steps in a row, after a full one
  static constexpr size_t kBodies = 3;         // that it keeps room for

  // room: kBodies * largest bytes, 8-aligned.
  void open(unsigned char* room, size_t largest) noexcept;
  // Moves all bodies there, where each has more room. Returns the room that they had.
  unsigned char* move_to(unsigned char* room, size_t largest) noexcept;
  unsigned char* room() const noexcept { return room_; }
  size_t largest() const noexcept { return largest_; }
  // Where the body of the next step is made; valid until the one after is begun.
  unsigned char* begin() noexcept { return next_; }

  // Packs the body that was made into `out`, which has `room` bytes. Returns the bytes used; 0: the
  // step is to be written in full, see wrote_full().
  size_t pack(size_t bytes, unsigned char* out, size_t room) noexcept;
  // The body that was made is in an entry now. waiting: sequence of the first entry that waits to
  // be written, maybe this one.
  void wrote_full(size_t bytes, uint32_t sequence, uint32_t crc, uint32_t waiting) noexcept;
  // Names no earlier step any more.
  void forget() noexcept { names_ = false; }

  // The full step that waiting entries name although it is not among them: it is in the file that
  // is written until now.
  PlainBody named_outside() const noexcept { return outside_.at ? outside_ : now_.body; }
  // Copies that body from among entries that were written although some behind them still wait.
  void keep_outside(const unsigned char* body, size_t bytes) noexcept;
  // No entry waits.
  void nothing_waits() noexcept { outside_ = {}; }
  // All that is written from now on is in another file.
  void left_the_file() noexcept;

 private:
  // A body's room that is none of these.
  unsigned char* other_than(const unsigned char* a, const unsigned char* b) const noexcept;

  unsigned char* room_ = nullptr;
  size_t largest_ = 0;
  unsigned char* next_ = nullptr;
  struct {
    PlainBody body;
    PackedStart start;
    uint32_t used;  // by so many steps
  } now_{};         // the newest full step
  bool names_ = false;
  PlainBody outside_;  // an older one, see named_outside()
};

}  // namespace perfield
