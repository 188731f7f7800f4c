// SPDX-License-Identifier: BSD-3-Clause
//
// index.hpp - the place of each entry of a stream file, so that any frame of a large run can be
// read directly. Kept in the run's analysis/ once a file is large, extended when the stream has
// grown, rebuilt when it does not match the stream. A place that cannot be written is no error.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "format/decode.hpp"

namespace perfield {

class StreamIndex {
 public:
  static constexpr uint64_t kSaveAfter = uint64_t{16} << 20;

  // index_path "": kept in memory only. The index is saved after every save_after bytes read.
  StreamIndex(std::string stream_path, std::string index_path, uint64_t run_id,
              uint64_t save_after = kSaveAfter);
  StreamIndex(const StreamIndex&) = delete;
  StreamIndex& operator=(const StreamIndex&) = delete;

  // Reads what is new in the stream, and again what was damaged or incomplete: on a network file
  // system an entry may become visible late. False if the stream cannot be opened.
  bool refresh();

  const std::vector<EntryPlace>& places() const { return places_; }  // by offset
  // Also packed steps whose full entry is lost: the rank has written a newer one since.
  std::vector<Damage> damage() const;
  const Damage& pending() const { return pending_; }  // bytes 0: all is read
  // Packed steps whose full entry is not there yet.
  std::vector<Damage> waiting() const;
  const std::map<uint64_t, uint64_t>& strangers() const { return strangers_; }
  // By number of call: whether a step's messages use it. Received ones are `recv`.
  const std::array<uint8_t, 128>& message_calls() const { return message_calls_; }
  // Whether a step has rows of region 0, `other regions`.
  bool other_regions() const { return other_regions_; }
  // Whether several threads of a rank were in the same region in one step.
  bool several_threads() const { return several_threads_; }

 private:
  void forget();
  bool load(StreamFile& file);
  void save();
  void read(StreamFile& file, uint64_t begin, uint64_t end, bool tail);
  void note_step(const StepView& step, EntryPlace* place);
  bool is_lost(const WaitingStep& step) const;
  bool find_full(int32_t rank, uint32_t sequence, uint64_t* offset);

  std::string stream_path_, index_path_;
  uint64_t run_id_, save_after_;
  uint64_t decided_ = 0, saved_ = 0;
  bool tried_to_load_ = false;
  std::vector<EntryPlace> places_;
  std::vector<Damage> damage_;
  std::vector<WaitingStep> waiting_;
  Damage pending_{};
  StepBodies bodies_{[this](int32_t rank, uint32_t sequence, uint64_t* offset) {
    return find_full(rank, sequence, offset);
  }};
  std::map<std::pair<int32_t, uint32_t>, uint64_t> full_;  // offsets, made where they are needed
  std::map<uint64_t, uint64_t> strangers_;
  std::array<uint8_t, 128> message_calls_{};
  bool other_regions_ = false, several_threads_ = false;
};

}  // namespace perfield
