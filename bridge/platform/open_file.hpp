// SPDX-License-Identifier: BSD-3-Clause
//
// open_file.hpp - an open file or folder that is closed when this ends.
#pragma once

#include <unistd.h>

namespace perfield {

class OpenFile {
 public:
  explicit OpenFile(int file) noexcept : file_(file) {}  // -1: none
  ~OpenFile() {
    if (file_ >= 0) close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int number() const noexcept { return file_; }

 private:
  const int file_;
};

}  // namespace perfield
