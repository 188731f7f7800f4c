// SPDX-License-Identifier: BSD-3-Clause
//
// kept_file.hpp - reads a small file of the kernel again and again through one descriptor, so that
// reading needs no path. The program may close the descriptor or take its number: then the file is
// opened anew. Used by one thread at a time; never throws.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>

namespace perfield {

class KeptFile {
 public:
  // Reads the file from its start into `text`, with a NUL behind it. Returns the bytes read; 0,
  // with errno set, if there are none. path: the same in each call.
  size_t read(const char* path, char* text, size_t room) noexcept {
    text[0] = 0;
    const int file = descriptor(path);
    const ssize_t n = file < 0 ? 0 : pread(file, text, room - 1, 0);
    if (n <= 0) return 0;
    text[n] = 0;
    return size_t(n);
  }

  // Its descriptor; -1, with errno set, if it cannot be opened. flags: for open(2).
  int descriptor(const char* path, int flags = 0) noexcept {
    return is_ours() || open_above_standard_streams(path, flags) ? descriptor_ : -1;
  }

  void close() noexcept {
    if (is_ours()) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  bool is_ours() const noexcept {
    struct stat facts;
    return descriptor_ >= 0 && fstat(descriptor_, &facts) == 0 && facts.st_ino == inode_ &&
           facts.st_dev == device_;
  }

  // A program takes descriptors 0 to 2 for its standard streams.
  bool open_above_standard_streams(const char* path, int flags) noexcept {
    descriptor_ = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (descriptor_ >= 0 && descriptor_ <= STDERR_FILENO) {
      const int low = descriptor_;
      descriptor_ = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
      const int error = errno;
      ::close(low);
      errno = error;
    }
    struct stat facts;
    if (descriptor_ < 0 || fstat(descriptor_, &facts) != 0) return false;
    device_ = facts.st_dev;
    inode_ = facts.st_ino;
    return true;
  }

  int descriptor_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace perfield
