// SPDX-License-Identifier: BSD-3-Clause
//
// step_clock.hpp - which steps are measured and which end an entry, and when the recorder counts:
// from a step's begin to its end, in measured steps, and not while paused. Knows no files. Used
// under the session's lock; allocates nothing except in before_close.
#pragma once

#include <cstdint>
#include <vector>

#include "configuration/config.hpp"
#include "format/entry.hpp"

namespace perfield {

// Follows from a step's number alone, so that all ranks decide alike without asking one another.
struct StepChoice {
  uint64_t skip = 0, measure_every = 1, sum_every = 1;

  static StepChoice of(const Config& config) noexcept {
    return {uint64_t(config.skip_steps), uint64_t(config.measure_every),
            uint64_t(config.sum_every)};
  }
  bool is_measured(uint64_t step) const noexcept {
    return step >= skip && (step - skip) % measure_every == 0;
  }
  // Whether a frame ends with this step: a measured step, or the last of those that are added up.
  bool ends_frame(uint64_t step) const noexcept {
    return is_measured(step) && (measure_every > 1 || (step + 1) % sum_every == 0);
  }
};

class StepClock {
 public:
  // What is written when a step closes.
  enum class Entry { none, unmeasured, frame };

  void configure(const Config& config) noexcept;
  // As configured: the same in all ranks, also where measuring has ended or never began.
  const StepChoice& configured() const noexcept { return configured_; }
  const StepChoice& choice() const noexcept { return choice_; }
  // Near the limit of the run directory: so many times more steps share an entry, or so many times
  // fewer are measured. False if that would be too many.
  bool share(uint64_t factor) noexcept;

  // Setup begins.
  void begin(uint64_t now) noexcept;
  // From here on windows close the steps, on a thread of their own.
  void close_by_windows() noexcept { windowed_ = true; }
  bool windowed() const noexcept { return windowed_; }
  bool in_setup() const noexcept { return in_setup_; }
  void end_setup() noexcept { in_setup_ = false; }

  // --- counting
  // Goes on, if the open step is measured and nobody has paused.
  void start() noexcept;
  // Takes what was counted into carry and stops.
  void stop(uint64_t now) noexcept;
  // The same between two steps, without stopping.
  void cut(uint64_t now) noexcept;
  bool counts() const noexcept;
  void pause(uint64_t now) noexcept;
  void resume() noexcept;
  // `function` hands in what a source has gathered; called before each stop and cut.
  void before_close(void (*function)()) { before_close_.push_back(function); }

  // --- the open step
  uint64_t step() const noexcept { return step_; }  // its index
  uint32_t span() const noexcept { return span_; }  // closed steps whose entry is still to come
  int64_t last_label() const noexcept { return last_label_; }
  // Windows know the number of the step that closes.
  void set_step(uint64_t step) noexcept { step_ = step; }
  // The open step closes. Its entry, if any, is to be written before next_step.
  Entry close(int64_t label) noexcept;
  void next_step(int64_t label) noexcept;
  // The next entry begins here.
  void begin_entry(uint64_t ticks) noexcept { begin_ticks_ = ticks; }
  // Since then perfield worked for itself.
  void add_own(uint64_t since, uint64_t now) noexcept { own_ticks_ += now - since; }

  // --- the entry: its span, flags and times
  void fill(StepBody* body, uint64_t now) const noexcept;
  bool was_measured() const noexcept { return !(flags_ & kStepNotMeasured); }
  void entry_written() noexcept;
  uint64_t total_own_ticks() const noexcept { return total_own_ticks_; }

 private:
  bool is_measured(uint64_t step) const noexcept { return in_setup_ || choice_.is_measured(step); }
  void hand_in() noexcept;

  StepChoice configured_, choice_;
  bool in_setup_ = true, windowed_ = false;
  uint64_t step_ = 0;
  uint32_t span_ = 0;
  uint16_t flags_ = 0;
  int64_t last_label_ = 0;
  uint64_t begin_ticks_ = 0;     // of the steps in carry
  uint64_t counting_since_ = 0;  // valid while it counts
  uint64_t measured_ticks_ = 0;
  uint64_t own_ticks_ = 0, total_own_ticks_ = 0;
  int paused_ = 0;
  std::vector<void (*)()> before_close_;
};

}  // namespace perfield
