// SPDX-License-Identifier: BSD-3-Clause
//
// append.hpp - one rank's writer to its node's file. It builds entries in a buffer of fixed size
// and hands them over with one write(2) on an O_APPEND descriptor, several at once where writing is
// slow. Used by one thread at a time; never throws. After the first failed write it goes on in
// another file if it has one, else it stays failed.
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
  // Opens (or creates) path for this rank. buffer_bytes: the largest entry plus what may be
  // gathered. instead: if not empty, path is staged (its writers share a lock on it, see
  // staging.hpp), and writing goes on in this file when path fails.
  bool open(const std::string& path, uint64_t run_id, int32_t rank, size_t buffer_bytes,
            const std::string& instead = "") noexcept;
  // Writes the gathered entries and returns to the unopened state; for a writer that serves many
  // ranks in turn.
  void close() noexcept;
  // Gives up its share of a staged file. True: it was the last one, and has the file alone now.
  bool last_writer() noexcept;
  int moved() const noexcept { return moved_; }  // errno that made it go on elsewhere, else 0

  // Starts an entry. Returns zeroed room for `bytes` of body in the buffer; nullptr if it is too
  // big.
  unsigned char* begin(EntryType type, uint64_t index, size_t bytes) noexcept;
  // Completes the entry, whose body has shrunk to `bytes` (padded to a multiple of 8).
  void end(size_t bytes) noexcept;
  // Appends an entry with a body of JSON text.
  void json(EntryType type, uint64_t index, const std::string& text) noexcept;
  // Appends an entry from parts that are too big for the buffer, in one writev(2). The sizes of the
  // parts are multiples of 8. Gathered entries go first.
  bool write_parts(EntryType type, uint64_t index, const iovec* parts, int n_parts) noexcept;

  // Writes the gathered entries. False if that failed, then and ever after.
  bool flush() noexcept;

  bool is_open() const noexcept { return descriptor_ >= 0; }
  bool failed() const noexcept { return error_ != 0; }
  int error() const noexcept { return error_; }  // errno of the first failure
  size_t gathered() const noexcept { return used_; }
  uint64_t bytes_written() const noexcept { return bytes_written_; }
  uint64_t file_bytes() const noexcept;  // written by all ranks of the node
  const std::string& path() const noexcept { return path_; }

 private:
  bool open_file() noexcept;
  // Opens the file again if the program has closed all descriptors and ours now belongs to another
  // file.
  bool ready() noexcept;
  // After a failure: changes to the other file, where this rank's entries count from 0.
  bool go_on_elsewhere() noexcept;
  // Removes from the gathered entries those that are whole in the first `written` bytes, and
  // numbers the others from the file's next number on.
  void gather_anew(size_t written) noexcept;
  // Writes all parts, `bytes` together, in one write(2). Anything that cuts it short is an error.
  // Returns the number of bytes written.
  size_t write_all(const iovec* parts, int n_parts, size_t bytes) noexcept;
  EntryHeader header(EntryType type, uint64_t index, uint32_t body_bytes,
                     uint32_t body_crc) noexcept;

  std::string path_, instead_;
  bool shares_lock_ = false;
  int staged_ = -1;  // the staged file that failed; keeps the lock
  uint64_t staged_inode_ = 0;
  int moved_ = 0;
  uint64_t run_id_ = 0;
  int32_t rank_ = 0;
  uint32_t sequence_ = 0;
  int descriptor_ = -1;
  uint64_t device_ = 0, inode_ = 0;
  uint64_t size_limit_ = ~uint64_t(0);  // RLIMIT_FSIZE: reaching it raises a signal
  int error_ = 0;
  unsigned char* buffer_ = nullptr;
  size_t capacity_ = 0, used_ = 0;
  EntryType open_type_{};
  uint64_t open_index_ = 0;
  uint64_t bytes_written_ = 0;
};

}  // namespace perfield
