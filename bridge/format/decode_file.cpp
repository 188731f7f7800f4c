// SPDX-License-Identifier: BSD-3-Clause
//
// decode_file.cpp - reads a stream file by pread, never by mmap: a file that shrinks under a
// mapping would kill the reader with SIGBUS.
#include "format/decode_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "format/entry.hpp"
#include "platform/regular_file.hpp"

namespace perfield {

// The file is RUN/ROOM/FILE, or an index that lies likewise in a cache.
StreamFile::StreamFile(const std::string& path)
    : path_(path), descriptor_(open_inside(path.c_str(), folder_of(folder_of(path)).c_str())) {
  refresh_size();
}

StreamFile::~StreamFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

uint64_t StreamFile::refresh_size() {
  struct stat status;
  size_ = descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && status.st_size > 0
              ? static_cast<uint64_t>(status.st_size)
              : 0;
  return size_;
}

const unsigned char* StreamFile::window(uint64_t offset, size_t bytes, size_t ahead) {
  if (bytes > kLargest || offset > size_ || bytes > size_ - offset) return nullptr;
  const bool inside =
      offset >= buffer_offset_ && offset - buffer_offset_ + bytes <= uint64_t{buffered_};
  if (inside) return buffer_.data() + (offset - buffer_offset_);

  const uint64_t left = size_ - offset;
  const auto wanted =
      static_cast<size_t>(std::min<uint64_t>(left, std::max(bytes, std::min(ahead, kLargest))));
  if (buffer_.size() < wanted) buffer_.resize(wanted);
  buffer_offset_ = offset;
  buffered_ = 0;
  while (buffered_ < wanted) {
    const ssize_t got = pread(descriptor_, buffer_.data() + buffered_, wanted - buffered_,
                              static_cast<off_t>(offset + buffered_));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    buffered_ += static_cast<size_t>(got);
  }
  return buffered_ >= bytes ? buffer_.data() : nullptr;
}

uint64_t StreamFile::find_marker(uint64_t from, uint64_t to) {
  to = std::min(to, size_);
  while (from < to && to - from >= sizeof(kMarker)) {
    // A hole of a sparse file may have terabytes; a marker that ends behind it begins 8 bytes
    // before.
    const off_t data = lseek(descriptor_, static_cast<off_t>(from), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return to;
    if (data > 0 && static_cast<uint64_t>(data) > from + sizeof(kMarker)) {
      from = static_cast<uint64_t>(data) - sizeof(kMarker);
      continue;
    }
    const auto bytes = static_cast<size_t>(std::min<uint64_t>(to - from, kAhead));
    const unsigned char* at = window(from, bytes);
    if (!at) return to;
    const void* found = memmem(at, bytes, kMarker, sizeof(kMarker));
    if (found) return from + static_cast<uint64_t>(static_cast<const unsigned char*>(found) - at);
    from += bytes - (sizeof(kMarker) - 1);
  }
  return to;
}

bool StreamFile::checksum(uint64_t offset, uint64_t bytes, uint32_t* crc) {
  *crc = 0;
  while (bytes) {
    const auto part = static_cast<size_t>(std::min<uint64_t>(bytes, kAhead));
    const unsigned char* at = window(offset, part);
    if (!at) return false;
    *crc = crc32c(at, part, *crc);
    offset += part;
    bytes -= part;
  }
  return true;
}

}  // namespace perfield
