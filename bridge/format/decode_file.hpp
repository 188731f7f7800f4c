// SPDX-License-Identifier: BSD-3-Clause
//
// decode_file.hpp - reads a stream file through a window that moves along it, so that a file of any
// size needs bounded memory. Read only; the file may grow meanwhile. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace perfield {

class StreamFile {
 public:
  static constexpr size_t kAhead = size_t{4} << 20;     // bytes per read when reading on
  static constexpr size_t kLargest = size_t{64} << 20;  // no window is larger

  explicit StreamFile(const std::string& path);
  ~StreamFile();
  StreamFile(const StreamFile&) = delete;
  StreamFile& operator=(const StreamFile&) = delete;

  const std::string& path() const { return path_; }
  bool opened() const { return descriptor_ >= 0; }
  // The size when it was last checked.
  uint64_t size() const { return size_; }
  uint64_t refresh_size();

  // Returns the bytes [offset, offset + bytes), valid until the next call. nullptr if the file ends
  // before, cannot be read, or bytes > kLargest. If it has to read at all, it reads `ahead` bytes.
  const unsigned char* window(uint64_t offset, size_t bytes, size_t ahead = kAhead);

  // Offset of the first marker in [from, to), or `to`.
  uint64_t find_marker(uint64_t from, uint64_t to);

  // CRC-32C of a range of any length; false if it cannot be read.
  bool checksum(uint64_t offset, uint64_t bytes, uint32_t* crc);

 private:
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  uint64_t buffer_offset_ = 0;
  size_t buffered_ = 0;
  std::vector<unsigned char> buffer_;
};

}  // namespace perfield
