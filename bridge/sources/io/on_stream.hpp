// SPDX-License-Identifier: BSD-3-Clause
//
// on_stream.hpp - counts a call on a stream of the C library. Most calls only touch the stream's
// buffer: they are counted with their bytes, and no clock is read, which would take longer than
// they do. The C library's own reads and writes do not pass through descriptors.cpp, so nothing is
// counted twice.
#pragma once

#include <stdio.h>

#include "sources/io/counting.hpp"

namespace perfield::io {

// Lines and formatted texts are seldom longer. If the buffer has less room than this, a call of
// unknown length is timed.
inline constexpr size_t kLine = 512;

// Bytes that can still be read from the buffer, or written to it. The C library calls the kernel
// for more. writable is 0 for streams that are unbuffered or line-buffered.
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

// -1 for streams without one (in memory, or with the program's own functions).
inline int descriptor_of(FILE* stream) noexcept {
  const int error = errno;
  const int descriptor = fileno_unlocked(stream);
  errno = error;
  return descriptor;
}

// length: bytes that the call moves at least, or kLine. bytes(result): bytes that it moved.
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

// For functions that return the number of bytes, or a negative number.
inline constexpr auto kItsResult = [](auto result) {
  return result > 0 ? static_cast<uint64_t>(result) : 0;
};
// For functions that move a single character.
inline constexpr auto kOneOrNone = [](int result) { return uint64_t{result != EOF}; };

}  // namespace perfield::io
