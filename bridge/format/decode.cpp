// SPDX-License-Identifier: BSD-3-Clause
//
// decode.cpp - walks a stream file from header to header. Accepts a header or body only if its
// checksum matches. Compares lengths with the file's size before it uses them.
#include "format/decode.hpp"

#include <algorithm>
#include <iterator>

namespace perfield {
namespace {

std::string name_of_type(uint16_t type) {
  static const char* const kNames[] = {
      "",       "rank",         "region",  "place",    "clock",      "step",    "mesh",
      "end",    "field",        "sites",   "quantity", "definition", "defined", "reference",
      "events", "communicator", "samples", "modules",  "paths"};
  return type >= 1 && type < std::size(kNames) ? std::string(kNames[type]) + " entry"
                                               : "entry of unknown type " + std::to_string(type);
}

std::string name_of_entry(const EntryHeader& header) {
  return "the " + name_of_type(header.type) + " of rank " + std::to_string(header.rank) +
         (header.index ? ", index " + std::to_string(header.index) : "");
}

// The result of reading at an offset: a whole entry, or the reason why there is none.
struct Found {
  bool whole = false;
  EntryHeader header{};
  const unsigned char* body = nullptr;
  StepView step{};
  bool is_step = false;
  bool waits = false;  // not whole, but only since the entry that it names is not there
  std::string reason;
};

bool known(const EntryHeader& header, EntryType type) {
  return header.type == static_cast<uint16_t>(type) && header.version == body_version(type);
}

// Unpacks and checks a step.
void look_at_step(StreamFile& file, uint64_t offset, StepBodies* bodies, Found* found) {
  const StepBytes bytes =
      found->body ? bodies->plain(file, found->header, offset, found->body) : StepBytes();
  found->waits = bytes.waits;
  found->is_step = bytes.body.at && view_step(bytes.body.at, bytes.body.bytes, &found->step);
  found->step.reference = bytes.reference;
  found->step.reference_offset = bytes.reference_offset;
  if (bytes.waits)
    found->reason = name_of_entry(found->header) + " builds on entry " +
                    std::to_string(bytes.reference) + " of this rank, which is not there";
  else if (!found->is_step)
    found->reason = "the tables of " + name_of_entry(found->header) + " do not fit its length";
}

void look_at(StreamFile& file, uint64_t offset, uint64_t end, uint64_t run_id, StepBodies* bodies,
             Found* found) {
  found->whole = found->is_step = found->waits = false;
  if (end - offset < sizeof(EntryHeader)) {
    found->reason = "the file ends inside an entry's header";
    return;
  }
  if (!read_header(file, offset, &found->header)) {
    found->reason = "no entry's header is there whole";
    return;
  }
  if (found->header.body_bytes > end - offset - sizeof(EntryHeader)) {
    found->reason = name_of_entry(found->header) + " is not there to its end";
    return;
  }
  if (!read_body(file, offset, found->header, &found->body)) {
    found->reason = "the checksum of " + name_of_entry(found->header) + " is wrong";
    return;
  }
  const bool is_ours = !run_id || found->header.run_id == run_id;
  if (is_ours && !is_index_possible(found->header.type, found->header.index)) {
    found->reason = name_of_entry(found->header) + ", is of no step: expected an index below " +
                    std::to_string(kMostSteps);
    return;
  }
  if (is_ours && is_step(found->header)) {
    look_at_step(file, offset, bodies, found);
    if (!found->is_step) return;
  }
  if (is_ours && is_full_step(found->header)) bodies->note(found->header, offset);
  found->whole = true;
}

template <class Row>
bool set_rows(const TableHeader& header, const unsigned char* rows, TableView<Row>* table) {
  if (header.row_bytes < sizeof(Row)) return false;
  *table = {rows, header.rows, header.row_bytes};
  return true;
}

// Returns false if a known table has rows that are too short.
bool set_table(const TableHeader& header, const unsigned char* rows, StepView* view) {
  switch (StepTable(header.table)) {
    case StepTable::regions:
      return set_rows(header, rows, &view->regions);
    case StepTable::messages:
      return set_rows(header, rows, &view->messages);
    case StepTable::waits:
      return set_rows(header, rows, &view->waits);
    case StepTable::calls:
      return set_rows(header, rows, &view->calls);
    case StepTable::quantities:
      return set_rows(header, rows, &view->quantities);
    case StepTable::collectives:
      return set_rows(header, rows, &view->collectives);
    case StepTable::synchronisations:
      return set_rows(header, rows, &view->synchronisations);
    case StepTable::paths:
      return set_rows(header, rows, &view->paths);
  }
  return true;  // from a newer perfield
}

}  // namespace

bool is_index_possible(uint16_t type, uint64_t index) noexcept {
  switch (EntryType(type)) {
    case EntryType::step:
    case EntryType::reference:
    case EntryType::events:
    case EntryType::field:
      return index < kMostSteps;
    default:
      return true;  // a number, a name or a hash
  }
}

bool view_step(const unsigned char* body, size_t bytes, StepView* view) noexcept {
  *view = {};
  if (bytes < sizeof(StepBody)) return false;
  std::memcpy(&view->fixed, body, sizeof(StepBody));
  size_t at = sizeof(StepBody);
  for (uint32_t n = 0; n < view->fixed.n_tables; ++n) {
    TableHeader header;
    if (bytes - at < sizeof header) return false;
    std::memcpy(&header, body + at, sizeof header);
    at += sizeof header;
    const uint64_t length = uint64_t{header.rows} * header.row_bytes;
    if (length > bytes - at || !set_table(header, body + at, view)) return false;
    at += size_t(length);
  }
  return at == bytes;
}

bool read_header(StreamFile& file, uint64_t offset, EntryHeader* header) {
  const unsigned char* at = file.window(offset, sizeof(EntryHeader));
  if (!at || std::memcmp(at, kMarker, sizeof(kMarker)) != 0) return false;
  std::memcpy(header, at, sizeof(EntryHeader));
  return crc32c(at, offsetof(EntryHeader, header_crc)) == header->header_crc;
}

bool read_body(StreamFile& file, uint64_t offset, const EntryHeader& header,
               const unsigned char** body) {
  const uint64_t begin = offset + sizeof(EntryHeader);
  const bool large = header.body_bytes > StreamFile::kAhead;
  const bool array = known(header, EntryType::mesh) || known(header, EntryType::field);
  uint32_t crc = 0;
  *body = nullptr;
  if ((large && array) || header.body_bytes > StreamFile::kLargest)
    return file.checksum(begin, header.body_bytes, &crc) && crc == header.body_crc;
  *body = file.window(begin, header.body_bytes);
  return *body && crc32c(*body, header.body_bytes) == header.body_crc;
}

ScanResult scan_entries(StreamFile& file, uint64_t begin, uint64_t end, uint64_t run_id,
                        const EntryVisitor& visit, StepBodies* bodies) {
  StepBodies own;
  if (!bodies) bodies = &own;
  ScanResult result;
  end = std::min(end, file.size());
  uint64_t at = begin, hole = 0;
  std::string hole_reason;
  bool in_hole = false;
  Found found;
  while (at < end) {
    look_at(file, at, file.size(), run_id, bodies, &found);
    const uint64_t bytes = sizeof(EntryHeader) + found.header.body_bytes, after = at + bytes;
    if (!(found.whole || found.waits) || after > end) {
      if (!in_hole) hole = at, hole_reason = found.reason;
      in_hole = true;
      at = file.find_marker(at + 1, end);
      continue;
    }
    if (in_hole) result.damage.push_back({hole, at - hole, hole_reason});
    in_hole = false;
    if (found.waits)
      result.waiting.push_back(
          {{at, bytes, found.reason}, found.header.rank, found.step.reference});
    else if (run_id && found.header.run_id != run_id)
      ++result.strangers[found.header.run_id];
    else
      visit(found.header, at, found.body, found.is_step ? &found.step : nullptr);
    at = after;
  }
  result.decided = in_hole ? hole : std::max(begin, end);
  if (in_hole) result.pending = hole_reason;
  return result;
}

}  // namespace perfield
