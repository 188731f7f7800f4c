// SPDX-License-Identifier: BSD-3-Clause
//
// rank_log.hpp - with `log = true`, each rank's own text file, log/rank-<N>.log in the run
// directory: what perfield decided at the start, what happened, and how it ended. Never on the hot
// path: of the steps, only some have a line. The file is opened for each line,
// because a program may close descriptors that are not its own. If it cannot be written, that is
// said once, and nothing else changes. Any thread may write a line.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "configuration/config.hpp"
#include "format/entry.hpp"

namespace perfield {

class RankLog {
 public:
  // Makes the file. Until then, and where it fails, all other functions do nothing.
  void open(const std::string& run_path, int rank) noexcept;
  bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }
  // No more lines from this process, as in a forked child.
  void close() noexcept { open_.store(false, std::memory_order_relaxed); }

  // One line, behind the seconds since open().
  void line(const std::string& text) noexcept;
  // Every key with its value and origin.
  void configuration(const std::vector<ConfigOrigin>& keys) noexcept;
  // A closed step or other entry of the stream. Of plain steps, only the first ten and then ever
  // fewer have a line; a step has one in any case if its mesh is new or if it lost events.
  void entry(uint64_t index, const StepBody& body) noexcept;

 private:
  std::atomic<bool> open_{false};
  std::string path_;
  uint64_t since_ns_ = 0;
  uint16_t mesh_version_ = 0;
};

// The log of this process; never destroyed.
RankLog& rank_log() noexcept;

}  // namespace perfield
