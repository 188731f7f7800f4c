// SPDX-License-Identifier: BSD-3-Clause
//
// append.hpp - one rank's end of a node's file: entries are put together in a buffer of fixed size
// and handed over with one write(2) on an O_APPEND descriptor, several at once where writing is
// slow. Used by one thread at a time; never throws; after the first failed write it goes on in
// another file if it was given one, and stays failed without.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "format/entry.hpp"

namespace perfield {

class Appender {
 public:
  // Opens (creating) path for this rank; buffer_bytes: the largest entry plus what may be gathered.
  // instead: if not empty, path is staged: its writers share a lock on it (see staging.hpp), and
  // this is where to go on when it fails.
  bool open(const std::string& path, uint64_t run_id, int32_t rank, size_t buffer_bytes,
            const std::string& instead = "") noexcept;
  // Hands over what is gathered, and is as if never opened; for who writes for many ranks in turn.
  void close() noexcept;
  // Gives up the share in a staged file. True: this was the last, and has the file alone now.
  bool last_writer() noexcept;
  int moved() const noexcept { return moved_; }  // errno for which it goes on elsewhere, else 0

  // Starts an entry; room for `bytes` of body in the buffer, zeroed, or nullptr if it is too big.
  unsigned char* begin(EntryType type, uint64_t index, size_t bytes) noexcept;
  // Completes it: the body has shrunk to `bytes` (padded to a multiple of 8).
  void end(size_t bytes) noexcept;
  // The same for a body of JSON text.
  void json(EntryType type, uint64_t index, const std::string& text) noexcept;
  // An entry from parts that are too big for the buffer, in one writev(2). The parts' sizes are
  // multiples of 8. What is gathered goes first.
  bool write_parts(EntryType type, uint64_t index, const iovec* parts, int n_parts) noexcept;

  // Hands over what is gathered. False if that failed, then and ever after.
  bool flush() noexcept;

  bool is_open() const noexcept { return descriptor_ >= 0; }
  bool failed() const noexcept { return error_ != 0; }
  int error() const noexcept { return error_; }  // errno of the first failure
  size_t gathered() const noexcept { return used_; }
  uint64_t bytes_written() const noexcept { return bytes_written_; }
  uint64_t file_bytes() const noexcept;  // of all ranks of the node
  const std::string& path() const noexcept { return path_; }

 private:
  bool open_file() noexcept;
  // Opens the file again where the program has closed all descriptors and ours is another file's.
  bool ready() noexcept;
  // After a failure: takes the other file, in which this rank's entries are counted from 0.
  bool go_on_elsewhere() noexcept;
  // Takes out of what is gathered the entries that are whole in the first `written` bytes, and
  // numbers the others from the file's next on.
  void gather_anew(size_t written) noexcept;
  // One write(2) of all parts, `bytes` together; whatever keeps it from being whole is an error.
  // Returns how many were written.
  size_t write_all(const iovec* parts, int n_parts, size_t bytes) noexcept;
  EntryHeader header(EntryType type, uint64_t index, uint32_t body_bytes,
                     uint32_t body_crc) noexcept;

  std::string path_, instead_;
  bool shares_lock_ = false;
  int staged_ = -1;  // the staged file that failed: keeps the lock
  uint64_t staged_inode_ = 0;
  int moved_ = 0;
  uint64_t run_id_ = 0;
  int32_t rank_ = 0;
  uint32_t sequence_ = 0;
  int descriptor_ = -1;
  uint64_t device_ = 0, inode_ = 0;
  uint64_t size_limit_ = ~uint64_t(0);  // RLIMIT_FSIZE: to reach it raises a signal
  int error_ = 0;
  unsigned char* buffer_ = nullptr;
  size_t capacity_ = 0, used_ = 0;
  EntryType open_type_{};
  uint64_t open_index_ = 0;
  uint64_t bytes_written_ = 0;
};

}  // namespace perfield
