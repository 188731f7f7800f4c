// SPDX-License-Identifier: BSD-3-Clause
//
// definitions.hpp - writes what this rank's ids of regions and quantities mean: a `defined` entry
// with the hashes of the texts, and those texts that other ranks of the node leave to this one.
// A text that others have claimed, but not written after a while, is written here, too. Used under
// the session's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "format/append.hpp"
#include "format/entry.hpp"
#include "run_directory/node_texts.hpp"

namespace perfield {

class Definitions {
 public:
  // patience_s: how long entries may be gathered before they are written.
  void start(uint64_t run_id, const std::string& node, int local_size, double patience_s) noexcept;

  // Takes a definition, text: JSON without the id. now_ns: on any clock, here and below.
  void add(EntryType type, uint32_t id, const std::string& text, uint64_t now_ns);
  // Writes what is due to the stream.
  void write(Appender& stream, uint64_t now_ns);
  // The same at the end of the program, when nothing can wait.
  void write_last(Appender& stream);
  // Lets the other ranks know which texts have reached the file.
  void share_written(const Appender& stream) noexcept;
  void finish() noexcept { node_.leave(); }

 private:
  struct Text {
    uint64_t hash;
    std::string json;
    uint64_t due_ns;  // when this rank writes it if no other has; 0: now
    int closings;     // that it waits at least
  };

  NodeTexts node_;
  uint64_t patience_ns_ = 0, now_ns_ = 0;
  uint64_t look_ns_ = 0;            // at the texts, from then on
  std::vector<DefinedRow> rows_;    // not in the stream yet
  std::vector<Text> texts_;         // others claimed them, or they are due
  std::vector<uint64_t> gathered_;  // hashes of texts that the stream has taken
  uint64_t missing_ = 0;            // of the stream, when it took them
};

}  // namespace perfield
