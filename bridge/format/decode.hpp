// SPDX-License-Identifier: BSD-3-Clause
//
// decode.hpp - finds the entries of a stream file and reads step entries. Never reads out of
// bounds, whatever the bytes are. Skips damage up to the next marker and reports it. Any thread,
// one file per thread; throws only std::bad_alloc.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "format/decode_file.hpp"
#include "format/entry.hpp"
#include "format/step_bodies.hpp"

namespace perfield {

// The place of an entry in its file, as the file's index keeps it.
struct EntryPlace {
  uint64_t offset;
  uint64_t index;
  uint32_t body_bytes;
  int32_t rank;
  uint32_t sequence;
  uint16_t type;
  uint16_t version;
  uint16_t kind;  // this and what follows are for step entries, else 0
  uint16_t flags;
  uint16_t mesh_version;
  uint16_t zero;
  uint32_t span;       // steps that the entry adds up; the last one is `index`
  uint32_t reference;  // sequence of the full entry that it is unpacked with, which may be itself
  uint64_t reference_offset;
};
static_assert(sizeof(EntryPlace) == 56);

// Bytes that belong to no whole entry, and a sentence that says why.
struct Damage {
  uint64_t offset;
  uint64_t bytes;
  std::string sentence;
};

// A packed step that is whole, but the entry that it names is not there (yet).
struct WaitingStep {
  Damage place;
  int32_t rank;
  uint32_t reference;  // sequence of that entry
};

// The rows of one table of a step, as they lie in its body: unaligned, and longer if a newer
// perfield wrote them. A range of Row by value.
template <class Row>
class TableView {
 public:
  class Iterator {
   public:
    Iterator(const TableView* table, size_t number) : table_(table), number_(number) {}
    Row operator*() const noexcept { return (*table_)[number_]; }
    Iterator& operator++() noexcept {
      ++number_;
      return *this;
    }
    bool operator!=(const Iterator& other) const noexcept { return number_ != other.number_; }

   private:
    const TableView* table_;
    size_t number_;
  };

  TableView() = default;
  TableView(const unsigned char* rows, size_t size, size_t row_bytes)
      : rows_(rows), size_(size), row_bytes_(row_bytes) {}

  size_t size() const noexcept { return size_; }
  Row operator[](size_t number) const noexcept {
    Row row;
    std::memcpy(&row, rows_ + number * row_bytes_, sizeof(Row));
    return row;
  }
  Iterator begin() const noexcept { return {this, 0}; }
  Iterator end() const noexcept { return {this, size_}; }

  // Appends all rows.
  template <class Rows>
  void append_to(Rows* rows) const {
    const size_t before = rows->size();
    rows->resize(before + size_);
    if (row_bytes_ == sizeof(Row) && size_)
      std::memcpy(rows->data() + before, rows_, size_ * sizeof(Row));
    else
      for (size_t n = 0; n < size_; ++n) (*rows)[before + n] = (*this)[n];
  }

 private:
  const unsigned char* rows_ = nullptr;
  size_t size_ = 0, row_bytes_ = sizeof(Row);
};

// The parts of a step entry's body; missing tables are empty.
struct StepView {
  StepBody fixed;
  TableView<RegionRow> regions;
  TableView<MessageRow> messages;
  TableView<WaitRow> waits;
  TableView<CallRow> calls;
  TableView<QuantityRow> quantities;
  TableView<CollectiveRow> collectives;
  TableView<SynchronisationRow> synchronisations;
  TableView<PathRow> paths;
  uint32_t reference = 0;  // as in EntryPlace
  uint64_t reference_offset = 0;
};

// Whether an entry may have this index: where it is that of a step, others count on from it.
bool is_index_possible(uint16_t type, uint64_t index) noexcept;

// False if the tables do not fill the body exactly, or a known one has rows that are too short.
bool view_step(const unsigned char* body, size_t bytes, StepView* view) noexcept;

// Reads and checks the header at `offset`; false if there is none.
bool read_header(StreamFile& file, uint64_t offset, EntryHeader* header);

// Checks the body that follows a header. `body`: its first byte, or nullptr if it is a mesh or
// field too large for one window (whose checksum has been checked).
bool read_body(StreamFile& file, uint64_t offset, const EntryHeader& header,
               const unsigned char** body);

// Called for each whole entry of the run, in the order of the file. step: nullptr for other
// entries.
using EntryVisitor = std::function<void(const EntryHeader& header, uint64_t offset,
                                        const unsigned char* body, const StepView* step)>;

struct ScanResult {
  uint64_t decided = 0;        // everything before is settled
  std::vector<Damage> damage;  // in [begin, decided); likewise:
  std::vector<WaitingStep> waiting;
  std::string pending;  // why [decided, end) is not an entry; "" if decided == end
  std::map<uint64_t, uint64_t> strangers;  // run id -> number of entries from other runs
};

// Visits the entries in [begin, end). run_id 0: of any run. Incomplete bytes at the end may be an
// entry that is being written, so they stay undecided. bodies: knows the full entries before
// `begin`, and learns those that are visited.
ScanResult scan_entries(StreamFile& file, uint64_t begin, uint64_t end, uint64_t run_id,
                        const EntryVisitor& visit, StepBodies* bodies = nullptr);

}  // namespace perfield
