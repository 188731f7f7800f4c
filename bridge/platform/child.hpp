// SPDX-License-Identifier: BSD-3-Clause
//
// child.hpp - runs another program whose output goes into a file. For perfield-exec alone: a rank
// never forks.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace perfield {

class Child {
 public:
  // Starts `command` (its words, then nullptr), whose output goes into the open file from its
  // beginning. Output beyond `most_bytes` is refused to it. `variable` gets this value in its
  // environment, unless it is set already; nullptr: none.
  Child(const char* const* command, int file, uint64_t most_bytes, const char* variable = nullptr,
        const char* value = nullptr);
  ~Child() { end(0); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits until it has run for `patience_ms` since its start, then kills it and what it started.
  // Its exit status: 127 if there is no such program, kKilled if it ran too long or died by a
  // signal.
  static constexpr int kKilled = -1;
  int end(int patience_ms);

 private:
  pid_t child_;
  int64_t start_ns_;
  int status_ = kKilled;
};

}  // namespace perfield
