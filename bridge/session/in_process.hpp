// SPDX-License-Identifier: BSD-3-Clause
//
// in_process.hpp - pictures inside the measured program: decides which steps are shown, keeps their
// data until then, and loads libperfield_catalyst.so with the first of them. Does nothing unless
// catalyst_in_process is set.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "catalyst/catalyst.h"
#include "configuration/config.hpp"
#include "format/json.hpp"
#include "session/mesh.hpp"
#include "session/step_clock.hpp"

namespace perfield {

class InProcess {
 public:
  void configure(const Config& config);
  bool wanted() const noexcept { return wanted_; }
  // The facts of this run that the pictures need, as JSON. Without them this rank cannot take part.
  // focus: the world ranks that get arrays for what each rank exchanges with them.
  void describe_run(const std::string& path, int rank, int size, const std::string& mpi,
                    const std::vector<int32_t>& focus);
  // The sources, as known when the pictures begin.
  void describe_sources(const std::vector<std::string>& sources) { sources_ = sources; }

  // Keeps here, too, what is written to the run, until it is shown.
  void keep_definition(const std::string& json);
  void keep_entry(uint64_t index, const unsigned char* body, size_t bytes);
  void keep_block(uint64_t mesh_version, const iovec* parts, int n_parts);

  // The time loop begins: the next closed step is the first.
  void steps_begin() noexcept { steps_begun_ = true; }
  // Whether the step just closed is shown. Call it once per step: it counts the steps. So all ranks
  // decide alike without communication, even those that no longer measure.
  bool is_due(const StepChoice& configured) noexcept;
  // The step just closed, and the mesh as it is now.
  void closed(uint64_t index, int64_t label, double time, uint16_t mesh_version) noexcept;
  // Shows the step: its number, mesh and fields, and the newest entries of all ranks that cover the
  // same steps. Collective. fields: nullptr where measuring has ended.
  void show(const std::vector<Mesh::Field>* fields) noexcept;
  void finish() noexcept;

 private:
  enum class Library { not_loaded, ready, unusable };

  bool load() noexcept;

  bool wanted_ = false, is_first_rank_ = false, steps_begun_ = false, busy_ = false;
  uint64_t every_ = 1;
  uint64_t step_ = 0, next_shown_ = 0;
  Config config_;
  JsonObject settings_;
  bool is_described_ = false;
  std::vector<std::string> sources_;
  perfield_catalyst_step shown_{};
  // Another rank's entry may share the steps of so many.
  static constexpr size_t kMostEntries = 128;
  struct Entry {
    uint64_t index;
    std::string body;
  };
  std::deque<Entry> entries_;
  uint64_t blocks_version_ = 0;
  std::vector<std::string> definitions_, blocks_;
  std::set<std::string> known_;  // definitions
  Library library_ = Library::not_loaded;
  decltype(&perfield_catalyst_start) start_ = nullptr;
  decltype(&perfield_catalyst_show) show_ = nullptr;
  decltype(&perfield_catalyst_finish) finish_ = nullptr;
};

}  // namespace perfield
