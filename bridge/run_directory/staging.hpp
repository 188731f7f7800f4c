// SPDX-License-Identifier: BSD-3-Clause
//
// staging.hpp - where the run directory lies on a slow network file system, a node's files are
// first written on a disk (or in the memory) of the node, and moved into the run directory by the
// last of its ranks to end, or later by `perfield-exec --collect`. Runs once at the beginning and
// once at the end; never throws; what goes wrong comes back as a sentence, and nothing is lost by
// it.
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

  // stage: a directory of this node; "": nothing is staged. Returns why nothing can be, or "".
  std::string begin(const std::string& stage, const std::string& run, uint64_t run_id) noexcept;
  // To be called when the stream has been opened: it holds the lock from here on.
  void release() noexcept;
  // After this rank's last entry. Returns why this node's files could not be collected, or "".
  std::string end(Appender& stream) noexcept;

  bool staged() const { return !directory_.empty(); }
  std::string stream, mesh;                  // paths
  std::string stream_instead, mesh_instead;  // where to go on if a staged file fails; else ""

 private:
  void join(const std::string& stage, uint64_t run_id);
  [[noreturn]] void give_up(const std::string& what);

  std::string run_, name_, directory_;
  int lock_ = -1;
};

// What `collect_staged` did, in sentences.
struct Collection {
  std::vector<std::string> done;       // one for each node's files that were moved
  std::vector<std::string> trouble;    // one for each that lies here and could not be
  std::vector<std::string> elsewhere;  // hosts on which something is still staged
};

// Moves what is staged on this host into the run directory. Any number may do so at a time.
Collection collect_staged(const std::string& run);

}  // namespace perfield
