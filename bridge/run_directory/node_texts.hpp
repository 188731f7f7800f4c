// SPDX-License-Identifier: BSD-3-Clause
//
// node_texts.hpp - which texts the ranks of a node have written, by the texts' hashes, in a
// small piece of shared memory (/dev/shm). So a text that all ranks need is written by few of them.
// Where there is no such memory, each rank writes all of its texts. Lock-free; a process that dies
// at any moment leaves it valid. Never throws or allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace perfield {

class NodeTexts {
 public:
  static constexpr uint32_t kCopies = 2;  // of each text, so that a damaged one loses no name

  NodeTexts() = default;
  NodeTexts(const NodeTexts&) = delete;
  NodeTexts& operator=(const NodeTexts&) = delete;
  ~NodeTexts() { leave(); }

  // Joins the others of this node and run. local_size: how many they are, -1: unknown. The last of
  // them to join removes the memory's name; where they are fewer than stated, the last to leave;
  // where their number is unknown, the first to leave.
  void join(uint64_t run_id, const std::string& node, int local_size) noexcept;
  void leave() noexcept;
  bool joined() const noexcept { return table_ != nullptr; }

  // Whether this process is to write the text: few have claimed it so far, or nobody can know.
  bool claim(uint64_t hash) noexcept;
  void note_written(uint64_t hash) noexcept;
  bool is_written(uint64_t hash) noexcept;

 private:
  struct Table;
  struct Slot;
  Slot* slot_of(uint64_t hash) noexcept;  // nullptr: no room

  Table* table_ = nullptr;
  int local_size_ = -1;
  char name_[96] = "";
};

}  // namespace perfield
