// SPDX-License-Identifier: BSD-3-Clause
//
// decode.hpp - finds the entries of a stream file and reads step entries. Whatever the bytes are,
// nothing is read out of bounds; damage is passed over to the next marker and reported. Any thread,
// one file per thread; throws only std::bad_alloc.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "format/decode_file.hpp"
#include "format/entry.hpp"

namespace perfield {

// Where an entry lies: what the index of a file keeps of it.
struct EntryPlace {
  uint64_t offset;
  uint64_t index;
  uint32_t body_bytes;
  int32_t rank;
  uint32_t sequence;
  uint16_t type;
  uint16_t version;
  uint16_t kind;  // these three are of a step entry, else 0
  uint16_t flags;
  uint16_t mesh_version;
  uint16_t zero;
};
static_assert(sizeof(EntryPlace) == 40);

// Bytes that belong to no whole entry, and a sentence that says why.
struct Damage {
  uint64_t offset;
  uint64_t bytes;
  std::string sentence;
};

// The parts of a step entry's body. Rows lie unaligned: take them with row_at.
struct StepView {
  StepBody fixed;
  const unsigned char *regions, *messages, *waits, *calls, *inside;
};

// False if the tables do not fill the body exactly.
bool view_step(const unsigned char* body, size_t bytes, StepView* view) noexcept;

template <class Row>
Row row_at(const unsigned char* rows, size_t number) noexcept {
  Row row;
  std::memcpy(&row, rows + number * sizeof(Row), sizeof(Row));
  return row;
}

// Reads and checks the header at `offset`; false if there is none.
bool read_header(StreamFile& file, uint64_t offset, EntryHeader* header);

// Checks the body behind a header that was read; `body` is its first byte, or nullptr if it is a
// mesh or field too large for one window (its checksum holds all the same).
bool read_body(StreamFile& file, uint64_t offset, const EntryHeader& header,
               const unsigned char** body);

// Called for each whole entry of the run, in the order of the file.
using EntryVisitor = std::function<void(const EntryHeader& header, uint64_t offset,
                                        const unsigned char* body, const StepView* step)>;

struct ScanResult {
  uint64_t decided = 0;                    // what lies before is read for good
  std::vector<Damage> damage;              // in [begin, decided)
  std::string pending;                     // why [decided, end) is no entry; "" if decided == end
  std::map<uint64_t, uint64_t> strangers;  // run id -> number of entries of another run
};

// Visits the entries in [begin, end). run_id 0: those of any run. Bytes at the end that are no
// whole entry may be one that is being written: they are left undecided.
ScanResult scan_entries(StreamFile& file, uint64_t begin, uint64_t end, uint64_t run_id,
                        const EntryVisitor& visit);

}  // namespace perfield
