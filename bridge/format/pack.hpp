// SPDX-License-Identifier: BSD-3-Clause
//
// pack.hpp - writes the body of a step as differences to an earlier one of the same rank, its
// reference, and reads it again. docs/stream.md states the form. Packing runs on the thread that
// closes the step and never allocates; unpacking never reads out of bounds, whatever the bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "format/entry.hpp"

namespace perfield {

// Opens a packed body: the entry whose plain body is the reference, by its sequence and checksum.
struct PackedStart {
  uint32_t reference;
  uint32_t reference_crc;
};
static_assert(sizeof(PackedStart) == 8);

// A plain body in memory; its size is a multiple of 8.
struct PlainBody {
  const unsigned char* at = nullptr;
  size_t bytes = 0;
};

struct Packed {
  size_t bytes = 0;       // a multiple of 8; 0: it cannot be packed so small
  uint32_t new_rows = 0;  // that the reference does not have
  uint32_t rows = 0;
};

// Bytes that packing may touch beyond those that it uses.
inline constexpr size_t kPackingRoom = 640;

// Packs `plain` at `out`, into at most `most` bytes of `room`. Takes at least kPackingRoom of room.
Packed pack_step(PlainBody plain, PlainBody reference, PackedStart start, unsigned char* out,
                 size_t room, size_t most) noexcept;

// The start of a packed body; false if it is too short.
bool packed_start(const unsigned char* packed, size_t bytes, PackedStart* start) noexcept;

// False if the bytes are no differences to this reference; `plain` then holds anything. Whether the
// tables fit the plain body is for view_step to say. Throws only std::bad_alloc.
bool unpack_step(const unsigned char* packed, size_t bytes, PlainBody reference,
                 std::vector<unsigned char>* plain);

}  // namespace perfield
