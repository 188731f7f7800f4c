// SPDX-License-Identifier: BSD-3-Clause
//
// on_stream.hpp - a call on a stream of the C library. Most of them only touch the stream's buffer:
// of those, events and bytes are counted and no clock is read. What the C library then reads and
// writes itself does not come through descriptors.cpp, so nothing is counted twice.
#pragma once

#include <stdio.h>

#include "sources/io/counting.hpp"

namespace perfield::io {

// A line, or a text that is formatted at once, is seldom longer: with so little left in the buffer,
// a call whose length is not known beforehand is timed.
inline constexpr size_t kLine = 512;

// What is still in the buffer, and what still goes into it. The C library calls the kernel where
// these do not suffice, and the latter is 0 for streams without a buffer or with one per line.
inline size_t readable(const FILE* stream) noexcept {
  const auto left = stream->_IO_read_end - stream->_IO_read_ptr;
  return left > 0 ? static_cast<size_t>(left) : 0;
}
inline size_t writable(const FILE* stream) noexcept {
  const auto left = stream->_IO_write_end - stream->_IO_write_ptr;
  return left > 0 ? static_cast<size_t>(left) : 0;
}
inline bool is_pending(const FILE* stream) noexcept {
  return stream->_IO_write_ptr > stream->_IO_write_base;
}

// -1 for streams that have none (in memory, with functions of the program's own).
inline int descriptor_of(FILE* stream) noexcept {
  const int error = errno;
  const int descriptor = fileno_unlocked(stream);
  errno = error;
  return descriptor;
}

// length: what the call moves at least, or kLine. bytes(result): what it has moved.
template <Way way, class Call, class Bytes>
__attribute__((always_inline)) inline auto on_stream(FILE* stream, size_t length, Call call,
                                                     Bytes bytes) {
  if (!is_file(descriptor_of(stream))) return call();
  const size_t room = way == Way::out ? writable(stream) : readable(stream);
  const uint64_t stamp = room < length ? enter<way>() : 0;
  const auto result = call();
  const uint64_t moved = bytes(result);
  if (stamp)
    leave<way>(stamp, moved);
  else if (room >= length)
    perfield_operation_count(operation<way>(), moved);
  return result;
}

// Of a function that returns their number, or a negative one.
inline constexpr auto kItsResult = [](auto result) {
  return result > 0 ? static_cast<uint64_t>(result) : 0;
};
// Of one that moves a single character.
inline constexpr auto kOneOrNone = [](int result) { return uint64_t{result != EOF}; };

}  // namespace perfield::io
