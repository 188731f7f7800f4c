// SPDX-License-Identifier: BSD-3-Clause
//
// values.hpp - a program's view of its own measurement (perfield.h): the tables of a step entry as
// fields, regions and messages. The kernel that makes frames computes the fields. Used under the
// session's lock, off the hot path; may allocate.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fields/columns.hpp"
#include "fields/fields.hpp"
#include "format/entry.hpp"
#include "perfield.h"
#include "recorder/recorder.hpp"

namespace perfield {

class StepValues {
 public:
  // The world ranks with which this rank's exchange has arrays of their own.
  void focus_on(std::vector<int32_t> ranks) { focus_ = std::move(ranks); }
  // Keeps a step that has just closed.
  void closed(const unsigned char* body, size_t bytes) { last_.assign(body, body + bytes); }
  // Selects the open step; the last closed one if nothing was counted since.
  void look(Recorder& recorder, const StepBody& so_far, size_t room);
  // Selects the step that closed last. False if none has.
  bool look_at_closed() noexcept;
  bool none_closed() const noexcept { return last_.empty(); }

  // sources: this rank's. The texts live as long as the process.
  std::vector<perfield_value> fields(Recorder& recorder, int rank, int size,
                                     const std::vector<std::string>& sources);
  std::vector<perfield_region_value> regions(Recorder& recorder) const;
  std::vector<perfield_message_value> messages() const;

 private:
  KnownRun facts_of(Recorder& recorder, const StepView& step, int rank, int size,
                    const std::vector<std::string>& sources);
  void add_focus(const StepView& step, std::vector<perfield_value>* rows);
  const char* text(const std::string& name) { return texts_.insert(name).first->c_str(); }

  std::vector<unsigned char> last_;        // body of the step that closed last
  std::unique_ptr<unsigned char[]> open_;  // room for the open step's body
  size_t room_ = 0;
  const unsigned char* body_ = nullptr;  // the selected body
  size_t bytes_ = 0;

  Stems stems_;
  std::set<uint32_t> named_;          // ids of regions
  bool several_threads_ = false;      // were in the same region so far
  std::unique_ptr<Columns> columns_;  // remade when the known facts change
  std::vector<int32_t> focus_;
  std::set<std::string> texts_;
};

}  // namespace perfield
