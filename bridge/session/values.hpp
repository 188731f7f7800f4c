// SPDX-License-Identifier: BSD-3-Clause
//
// values.hpp - what a program may ask of its own measurement (perfield.h): the tables of a step
// entry as fields, regions and messages, with the names and by the arithmetic of a frame in
// Python. Used under the session's lock; off the hot path, may allocate.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "format/entry.hpp"
#include "perfield.h"
#include "recorder/recorder.hpp"

namespace perfield {

struct StepView;

class StepValues {
 public:
  // Keeps a step that has just been closed.
  void closed(const unsigned char* body, size_t bytes) { last_.assign(body, body + bytes); }
  // Looks at the step that is open; at the one closed last if nothing was counted since.
  void look(Recorder& recorder, const StepBody& so_far, size_t room);

  // has_mpi, has_io: MPI, and files, are measured in this process. The texts live as long as the
  // process.
  std::vector<perfield_value> fields(Recorder& recorder, int rank, int size, bool has_mpi,
                                     bool has_io);
  std::vector<perfield_region_value> regions(Recorder& recorder) const;
  std::vector<perfield_message_value> messages() const;

 private:
  struct Sums {
    double time = 0, count = 0, self = 0;
  };
  void name_regions(Recorder& recorder);
  // Adds the fields of counters of each region: values_counters.cpp.
  void add_counters(Recorder& recorder, const StepView& step, std::vector<perfield_value>* rows);
  const char* text(const std::string& name) { return texts_.insert(name).first->c_str(); }

  std::vector<unsigned char> last_;        // body of the step that was closed last
  std::unique_ptr<unsigned char[]> open_;  // room for that of the open one
  size_t room_ = 0;
  const unsigned char* body_ = nullptr;  // the one that is looked at
  size_t bytes_ = 0;

  using Place = std::pair<std::string, uint64_t>;  // a region's name, and where it was armed
  std::map<Place, std::string> stems_;
  std::vector<Place> order_;     // of naming
  std::set<uint32_t> named_;     // ids of regions
  std::set<std::string> taken_;  // names of regions' fields
  std::set<std::string> texts_;
};

}  // namespace perfield
