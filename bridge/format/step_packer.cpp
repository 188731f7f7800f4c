// SPDX-License-Identifier: BSD-3-Clause
//
// step_packer.cpp - see step_packer.hpp.
#include "format/step_packer.hpp"

#include <cstring>
#include <utility>

namespace perfield {
namespace {

// A packed step is worth it below this share of its plain size, in eighths.
constexpr size_t kWorth = 6;
// A step with more new rows than this share of all is written in full, so that later ones find them
// there; not soon after another, as steps may differ by turns.
constexpr uint32_t kNewRows = 4, kNotSoon = 4;

uint16_t kind_of(const unsigned char* body) noexcept {
  uint16_t kind;
  memcpy(&kind, body + offsetof(StepBody, kind), sizeof kind);
  return kind;
}

}  // namespace

void StepPacker::open(unsigned char* room, size_t largest) noexcept {
  *this = StepPacker();
  room_ = next_ = room;
  largest_ = largest;
}

unsigned char* StepPacker::move_to(unsigned char* room, size_t largest) noexcept {
  const auto moved = [&](const unsigned char* at) {
    return at ? room + size_t(at - room_) / largest_ * largest : nullptr;
  };
  for (size_t i = 0; i < kBodies; ++i) memcpy(room + i * largest, room_ + i * largest_, largest_);
  next_ = moved(next_);
  now_.body.at = moved(now_.body.at);
  outside_.at = moved(outside_.at);
  largest_ = largest;
  return std::exchange(room_, room);
}

size_t StepPacker::pack(size_t bytes, unsigned char* out, size_t room) noexcept {
  if (!names_ || now_.used >= kMostPacked || kind_of(next_) != kind_of(now_.body.at)) return 0;
  const Packed packed =
      pack_step({next_, bytes}, now_.body, now_.start, out, room, bytes / 8 * kWorth);
  if (packed.new_rows * kNewRows > packed.rows && now_.used >= kNotSoon) return 0;
  now_.used += packed.bytes != 0;
  return packed.bytes;
}

void StepPacker::wrote_full(size_t bytes, uint32_t sequence, uint32_t crc,
                            uint32_t waiting) noexcept {
  if (now_.body.at && !outside_.at && waiting > now_.start.reference) outside_ = now_.body;
  now_ = {{next_, bytes}, {sequence, crc}, 0};
  names_ = true;
  next_ = other_than(now_.body.at, outside_.at);
}

void StepPacker::keep_outside(const unsigned char* body, size_t bytes) noexcept {
  if (bytes > largest_) return;
  unsigned char* const at = other_than(now_.body.at, next_);
  memcpy(at, body, bytes);
  outside_ = {at, bytes};
}

void StepPacker::left_the_file() noexcept {
  now_ = {};
  outside_ = {};
  names_ = false;
}

unsigned char* StepPacker::other_than(const unsigned char* a,
                                      const unsigned char* b) const noexcept {
  unsigned char* at = room_;
  while (at == a || at == b) at += largest_;
  return at;
}

}  // namespace perfield
