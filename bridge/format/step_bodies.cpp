// SPDX-License-Identifier: BSD-3-Clause
//
// step_bodies.cpp - see step_bodies.hpp.
#include "format/step_bodies.hpp"

#include "format/decode.hpp"

namespace perfield {

bool StepBodies::newest(int32_t rank, uint32_t* sequence) const {
  const auto found = newest_.find(rank);
  if (found == newest_.end()) return false;
  *sequence = found->second.sequence;
  return true;
}

StepBytes StepBodies::plain(const StreamFile& file, const EntryHeader& header, uint64_t offset,
                            const unsigned char* body) {
  PackedStart start;
  if (header.version != kPackedStep || !packed_start(body, header.body_bytes, &start))
    return plain_with(file, header, offset, body, offset);
  const auto found = newest_.find(header.rank);
  uint64_t there = 0;
  if (found != newest_.end() && found->second.sequence == start.reference)
    there = found->second.offset;
  else if (!look_up_ || !look_up_(header.rank, start.reference, &there))
    return {{}, true, 0, start.reference};
  return plain_with(file, header, offset, body, there);
}

StepBytes StepBodies::plain_with(const StreamFile& file, const EntryHeader& header, uint64_t offset,
                                 const unsigned char* body, uint64_t reference_offset) {
  if (header.version != kPackedStep)
    return {{body, header.body_bytes}, false, offset, header.sequence};
  PackedStart start;
  if (!packed_start(body, header.body_bytes, &start)) return {};
  const Kept* full = read(file, header, reference_offset);
  if (!full || full->header.sequence != start.reference ||
      full->header.body_crc != start.reference_crc)
    return {{}, true, 0, start.reference};
  const PlainBody reference = {full->body.data(), full->body.size()};
  if (!unpack_step(body, header.body_bytes, reference, &plain_)) return {};
  return {{plain_.data(), plain_.size()}, false, reference_offset, start.reference};
}

const StepBodies::Kept* StepBodies::read(const StreamFile& file, const EntryHeader& packed,
                                         uint64_t offset) {
  constexpr size_t kAhead = 64 << 10;  // full entries of other ranks may lie near
  Kept& kept = kept_[packed.rank];
  if (kept.offset == offset) return &kept;
  kept.offset = UINT64_MAX;
  if (!file_) file_ = std::make_unique<StreamFile>(file.path());
  if (offset >= file_->size()) file_->refresh_size();
  const unsigned char* body = nullptr;
  file_->window(offset, sizeof(EntryHeader), kAhead);
  if (!read_header(*file_, offset, &kept.header) || !is_full_step(kept.header) ||
      kept.header.rank != packed.rank || kept.header.run_id != packed.run_id ||
      !read_body(*file_, offset, kept.header, &body) || !body)
    return nullptr;
  kept.body.assign(body, body + kept.header.body_bytes);
  kept.offset = offset;
  return &kept;
}

void StepBodies::close() {
  kept_.clear();
  file_.reset();
}

void StepBodies::forget() {
  close();
  newest_.clear();
}

}  // namespace perfield
