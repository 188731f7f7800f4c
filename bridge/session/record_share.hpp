// SPDX-License-Identifier: BSD-3-Clause
//
// record_share.hpp - this rank's part of record_limit: the limit divided by the ranks of the world.
// So the run keeps to the limit on any number of nodes, and no rank asks a file or another rank how
// much is taken. Says what does not fit. Used under the session's lock.
#pragma once

#include <cstdint>
#include <string>

#include "configuration/config.hpp"
#include "session/span_of_entries.hpp"

namespace perfield {

// Bytes that a rank has written, or will once the file system answers.
struct Taken {
  uint64_t by_stream = 0, by_mesh = 0;  // mesh: and fields
};

class RecordShare {
 public:
  explicit RecordShare(const Config& config) : config_(config) {}
  void divide(int rank, int size) noexcept;

  // What is left for entries; where something of its own is to be written, the end is kept free.
  uint64_t left(const Taken& taken) const noexcept;
  uint64_t left_before_end(const Taken& taken) const noexcept;
  // Whether the mesh or fields may take `bytes` more. Else says so under the topic: what takes
  // them, and what follows.
  bool may_take(uint64_t bytes, const Taken& taken, const char* topic, const std::string& what,
                const std::string& then) const;

  // "the share of rank 3 in record_limit (...)"
  std::string in_words() const;
  // Says, once each, that more steps share an entry than configured, and that the share is used up.
  // step: the next one.
  void warn_of(const SpanOfEntries& spans, uint64_t step) noexcept;

 private:
  const Config& config_;
  int rank_ = 0, size_ = 1;
  uint64_t bytes_ = 0;
  bool warned_of_spans_ = false, warned_of_end_ = false;
};

}  // namespace perfield
