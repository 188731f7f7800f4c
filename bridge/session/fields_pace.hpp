// SPDX-License-Identifier: BSD-3-Clause
//
// fields_pace.hpp - decides in which steps the simulation's own fields are stored, the same in all
// ranks of a group. Used under the session's lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "session/agreed_change.hpp"

namespace perfield {

class FieldsPace {
 public:
  // every: the setting fields_every. note: a path of the run directory for this group's changes.
  void configure(int64_t every, const std::string& note);

  // Fields go with the first frame at or after each multiple of their interval. Returns whether
  // this is one, and a warning for the user ("": none).
  bool are_due(uint64_t step, std::string* warning);

  // Storing the fields of a step took so long.
  void stored(uint64_t step, uint64_t begin_ns, uint64_t end_ns) noexcept;

 private:
  uint64_t interval(uint64_t step) const noexcept;
  // The next step after this one in which ranks look for a change.
  static uint64_t next_look(uint64_t step) noexcept;
  // Stores more rarely if storing takes too much of the time, on this rank or on another.
  void slow_down(uint64_t step, uint64_t now_ns, std::string* warning);

  int64_t every_ = 0;
  std::string note_;
  uint64_t next_ = 0;           // due from this step on
  uint64_t look_ = 0;           // for a change, from this step on
  std::vector<Change> agreed_;  // no shorter interval than `to`, each from its step on
  uint64_t n_ = 0, cheapest_ns_ = ~uint64_t(0);
  uint64_t first_step_ = 0, first_end_ns_ = 0;
  uint64_t since_first_ns_ = 0;  // spent on storing
};

}  // namespace perfield
