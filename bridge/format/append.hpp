// SPDX-License-Identifier: BSD-3-Clause
//
// append.hpp - one rank's writer to its node's file. It builds entries in a buffer that grows with
// the largest of them, and hands them over with one write(2) on an O_APPEND descriptor, several at
// once where writing is slow. Used by one thread at a time; never throws.
//
// After a failed write it goes on in another file if it has one. Else it keeps the entries that are
// not whole in the file and tries them again: at the next flush, then ever more rarely. Entries
// that find no room meanwhile are missing; readers see the gap in their sequence. After so many
// failures in a row it has failed for good.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "format/entry.hpp"
#include "format/step_packer.hpp"

namespace perfield {

class Appender {
 public:
  // Failures in a row that a measured program's files are given: an hour, as attempts are at last a
  // minute apart. A disk that is freed within that time costs a gap, not the rest of the run.
  static constexpr int kPatient = 72;
  // Bytes of the largest entry that there is room for until begin() is asked for a larger one, and
  // of entries that may be gathered.
  struct Room {
    size_t largest, gathered;
  };
  // Opens (or creates) path for this rank. instead: if not empty, path is staged (its writers share
  // a lock on it, see staging.hpp), and writing goes on in this file when path fails.
  // most_failures: in a row, before it has failed for good.
  bool open(const std::string& path, uint64_t run_id, int32_t rank, Room room,
            const std::string& instead = "", int most_failures = 1) noexcept;
  // Writes the gathered entries and returns to the unopened state; for a writer that serves many
  // ranks in turn. Returns the errno that closing the file gave, else 0.
  int close() noexcept;
  // Waits until the file's data are safe. Returns 0, or the errno that the file system reports of
  // any write since the file was opened; ENOTSUP if that is unknown.
  int sync() noexcept;
  // Gives up its share of a staged file. True: it was the last one, and has the file alone now.
  bool last_writer() noexcept;
  int moved() const noexcept { return moved_; }  // errno that made it go on elsewhere, else 0

  // Starts an entry. Returns room for `bytes` of body; nullptr if there is no memory for it. A
  // step's body lies there until the next step; in the file it may be packed.
  unsigned char* begin(EntryType type, uint64_t index, size_t bytes) noexcept;
  // Completes the entry, whose body has shrunk to `bytes` (padded to a multiple of 8). False if it
  // is missing: the file cannot be written, and too much waits for it.
  bool end(size_t bytes) noexcept;
  // Appends an entry with a body of JSON text. False as for end.
  bool json(EntryType type, uint64_t index, const std::string& text) noexcept;
  // The same with a body of rows, a multiple of 8 bytes.
  template <class Row>
  bool rows(EntryType type, const std::vector<Row>& rows) noexcept {
    const size_t bytes = rows.size() * sizeof(Row);
    unsigned char* const at = begin(type, 0, bytes);
    if (at) memcpy(at, rows.data(), bytes);
    return at && end(bytes);
  }
  // Appends an entry from parts that are too big for the buffer, in one writev(2). The sizes of the
  // parts are multiples of 8. Gathered entries go first. False if it is not in the file; the caller
  // may try again, or call miss().
  bool write_parts(EntryType type, uint64_t index, const iovec* parts, int n_parts) noexcept;
  // Makes the next attempt due.
  void hurry() noexcept { next_try_ns_ = 0; }
  // Counts an entry that write_parts will not be given again as missing.
  void miss() noexcept;

  // From now on so many bytes of entries may be gathered. False if there is no memory for more.
  bool gather_up_to(size_t bytes) noexcept;
  // Writes the gathered entries. False if they still wait: that failed, or the next attempt is not
  // due.
  bool flush() noexcept;
  // Writes the gathered entries now, due or not. Those that find no place are missing.
  void flush_or_miss() noexcept;

  // The largest body of a step that there is room for without more memory.
  size_t largest_step() const noexcept { return packer_.largest(); }

  bool is_open() const noexcept { return buffer_ != nullptr; }
  bool failed() const noexcept { return failed_; }  // for good
  int error() const noexcept { return error_; }     // errno of the last write that failed; 0: none
  bool fails() const noexcept { return failures_ > 0; }   // the last write did
  uint64_t missing() const noexcept { return missing_; }  // entries
  size_t gathered() const noexcept { return used_; }
  uint64_t bytes_written() const noexcept { return bytes_written_; }
  uint64_t file_bytes() const noexcept;  // written by all ranks of the node
  const std::string& path() const noexcept { return path_; }

 private:
  bool open_file() noexcept;
  // Makes room for bodies of so many bytes; false if there is no memory.
  bool make_room(size_t largest) noexcept;
  bool make_room_for_steps(size_t largest) noexcept;
  bool is_ours() const noexcept;  // the descriptor still belongs to the file
  // Opens the file again if the program has closed all descriptors and ours now belongs to another
  // file.
  bool ready() noexcept;
  // After a failure: changes to the other file, where this rank's entries count from 0.
  bool go_on_elsewhere() noexcept;
  // Removes from the gathered entries those that are whole in the first `written` bytes.
  void keep_after(size_t written) noexcept;
  void note_failure() noexcept;
  // Numbers the gathered entries from the file's next number on.
  void number_anew() noexcept;
  // Puts the full step that gathered ones name, and which is not among them, in front of them.
  void bring_named() noexcept;
  uint64_t n_gathered() const noexcept;
  // Whether a write after a failure is due.
  bool is_due() const noexcept;
  bool flush_now() noexcept;
  // Writes all parts, `bytes` together, in one write(2). Anything that cuts it short is an error.
  // Returns the number of bytes written.
  size_t write_all(const iovec* parts, int n_parts, size_t bytes) noexcept;
  // Frees the space of the last write, which was torn: the block may be large, and the disk full.
  // Readers find zeros, and pass over them.
  void give_back(size_t torn) noexcept;
  size_t write_once(const iovec* parts, int n_parts, size_t bytes) noexcept;
  EntryHeader header(EntryType type, uint16_t version, uint64_t index, uint32_t body_bytes,
                     uint32_t body_crc) noexcept;
  // The header of the gathered entry that begins there.
  EntryHeader gathered_at(size_t at) const noexcept;
  // Writes a gathered entry's header there, with its checksum.
  void seal(size_t at, EntryHeader h) noexcept;

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
  int error_ = 0;
  int failures_ = 0, most_failures_ = 1;  // in a row
  uint64_t next_try_ns_ = 0;              // CLOCK_MONOTONIC
  bool failed_ = false;
  bool misses_ = false;  // since an entry found no room: later ones may need what it defined
  uint64_t missing_ = 0;
  unsigned char* buffer_ = nullptr;
  Room room_{};
  size_t capacity_ = 0, used_ = 0;
  StepPacker packer_;
  EntryType open_type_{};
  uint64_t open_index_ = 0;
  uint64_t bytes_written_ = 0;
};

}  // namespace perfield
