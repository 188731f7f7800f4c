// SPDX-License-Identifier: BSD-3-Clause
//
// staging.hpp - staging for run directories on slow network file systems. A node first writes its
// files to its own disk (or memory). The last of its ranks to end moves them into the run
// directory, or `perfield-exec --collect` does so later. Runs once at the beginning and once at the
// end. Never throws: it returns failures as sentences, and they lose no data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/append.hpp"

namespace perfield {

// The files of this process's node, in the run directory or staged.
class NodeFiles {
 public:
  NodeFiles() = default;
  NodeFiles(const NodeFiles&) = delete;
  NodeFiles& operator=(const NodeFiles&) = delete;
  ~NodeFiles() { release(); }

  // stage: a directory of this node; "" to stage nothing. Returns why staging fails, or "".
  std::string begin(const std::string& stage, const std::string& run, uint64_t run_id) noexcept;
  // Call it after opening the stream, which holds the lock from then on.
  void release() noexcept;
  // Call it after this rank's last entry. Returns why collecting this node's files failed, or "".
  std::string end(Appender& stream) noexcept;

  bool staged() const { return !directory_.empty(); }
  std::string stream, mesh;                  // paths
  std::string stream_instead, mesh_instead;  // where to continue if a staged file fails, or ""

 private:
  void join(const std::string& stage);
  [[noreturn]] void give_up(const std::string& what);

  std::string run_, name_, directory_;
  uint64_t run_id_ = 0;
  int lock_ = -1;
};

// What `collect_staged` did, as sentences.
struct Collection {
  std::vector<std::string> done;       // one per node whose files were moved
  std::vector<std::string> trouble;    // one per node whose files are here but were not moved
  std::vector<std::string> elsewhere;  // hosts that still hold staged files
};

// Moves files staged on this host into the run directory. Several processes may do so at a time.
// Both must belong to this user: a note in a run of another user may name any file.
Collection collect_staged(const std::string& run);

}  // namespace perfield
