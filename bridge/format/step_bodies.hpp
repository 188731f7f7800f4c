// SPDX-License-Identifier: BSD-3-Clause
//
// step_bodies.hpp - gives the plain body of any step entry of one file. A packed one is unpacked
// with the full entry that it names, of which the newest of each rank is kept. One thread at a
// time; throws only std::bad_alloc.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "format/decode_file.hpp"
#include "format/entry.hpp"
#include "format/pack.hpp"

namespace perfield {

// A step's body without differences.
struct StepBytes {
  PlainBody body;                 // at: nullptr if there is none; valid until the next call
  bool waits = false;             // why: the entry that it names is not there
  uint64_t reference_offset = 0;  // of the full entry, which may be itself
  uint32_t reference = 0;         // its sequence
};

class StepBodies {
 public:
  // Finds an entry by rank and sequence, where the newest full one of the rank is another.
  using LookUp = std::function<bool(int32_t rank, uint32_t sequence, uint64_t* offset)>;
  explicit StepBodies(LookUp look_up = nullptr) : look_up_(std::move(look_up)) {}

  // A full entry has passed, which later ones may name. entry: its header, or its place.
  template <class Entry>
  void note(const Entry& entry, uint64_t offset) {
    newest_[entry.rank] = {entry.sequence, offset};
  }
  // Sequence of the newest full entry of a rank; false if none has passed.
  bool newest(int32_t rank, uint32_t* sequence) const;
  // body: of a step entry, whose checksum is right.
  StepBytes plain(const StreamFile& file, const EntryHeader& header, uint64_t offset,
                  const unsigned char* body);
  // The same where the offset of the full entry is known.
  StepBytes plain_with(const StreamFile& file, const EntryHeader& header, uint64_t offset,
                       const unsigned char* body, uint64_t reference_offset);
  // Frees the kept bodies, but remembers where they lie.
  void close();
  // Also forgets that.
  void forget();

 private:
  struct Newest {
    uint32_t sequence;
    uint64_t offset;
  };
  struct Kept {
    uint64_t offset = UINT64_MAX;
    EntryHeader header{};
    std::vector<unsigned char> body;
  };
  const Kept* read(const StreamFile& file, const EntryHeader& packed, uint64_t offset);

  LookUp look_up_;
  std::unordered_map<int32_t, Newest> newest_;  // by rank; likewise:
  std::unordered_map<int32_t, Kept> kept_;
  std::unique_ptr<StreamFile> file_;  // a window of its own, which lies farther back
  std::vector<unsigned char> plain_;
};

// Whether an entry is a step of a version that this perfield reads.
inline bool is_step(const EntryHeader& header) noexcept {
  return header.type == uint16_t(EntryType::step) &&
         (header.version == body_version(EntryType::step) || header.version == kPackedStep);
}

// Whether an entry keeps events, in a version that this perfield reads.
inline bool is_events(const EntryHeader& header) noexcept {
  return header.type == uint16_t(EntryType::events) &&
         header.version == body_version(EntryType::events);
}

// Whether packed steps may name it. entry: its header, or its place.
template <class Entry>
bool is_full_step(const Entry& entry) noexcept {
  const auto type = EntryType(entry.type);
  return (type == EntryType::step || type == EntryType::reference) &&
         entry.version == body_version(type);
}

}  // namespace perfield
