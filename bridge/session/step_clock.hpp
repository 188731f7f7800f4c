// SPDX-License-Identifier: BSD-3-Clause
//
// step_clock.hpp - decides which steps are measured, which end an entry, and when the recorder
// counts: from begin to end of a measured step, except while paused. Knows no files. Used under the
// session's lock; only before_close allocates.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "configuration/config.hpp"
#include "format/entry.hpp"
#include "session/span_of_entries.hpp"

namespace perfield {

// Depends on a step's number alone, so that all ranks decide alike without communication.
struct StepChoice {
  uint64_t skip = 0, measure_every = 1, sum_every = 1;

  static StepChoice of(const Config& config) noexcept {
    return {uint64_t(config.skip_steps), uint64_t(config.measure_every),
            uint64_t(config.sum_every)};
  }
  bool is_measured(uint64_t step) const noexcept {
    return step >= skip && (step - skip) % measure_every == 0;
  }
  // Whether each event of a measured step is kept: of one step in each stretch of `every` steps.
  // For short runs, the first stretch is cut into 0, 1, 2 to 3, 4 to 7, ... A hash of a stretch
  // chooses its step, so that the chosen ones do not lock to a period of the program, such as every
  // second step. A step that is not measured passes this on to the next measured one.
  bool keeps_events(uint64_t step, uint64_t every) const noexcept {
    if (!every || !is_measured(step)) return false;
    const uint64_t passed_on = std::min(step - skip, measure_every - 1);
    for (uint64_t from = step - passed_on;;) {
      const Stretch stretch = stretch_of(from, every);
      const uint64_t chosen = stretch.first + mixed(stretch.first) % stretch.steps;
      if (from <= chosen && chosen <= step) return true;
      from = stretch.first + stretch.steps;
      if (from > step) return false;
    }
  }
  // Whether a frame ends with this step: a measured step, or the last of a group of steps.
  bool ends_frame(uint64_t step) const noexcept {
    return is_measured(step) && (measure_every > 1 || (step + 1) % sum_every == 0);
  }

 private:
  struct Stretch {
    uint64_t first, steps;
  };
  static Stretch stretch_of(uint64_t step, uint64_t every) noexcept {
    if (step >= every) return {step - step % every, every};
    if (step == 0) return {0, 1};
    const uint64_t first = uint64_t{1} << (63 - __builtin_clzll(step));
    return {first, std::min(first, every - first)};
  }
  // All bits of a number in all bits of another (the end of SplitMix64).
  static uint64_t mixed(uint64_t number) noexcept {
    number = (number + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
    number = (number ^ number >> 27) * 0x94D049BB133111EBu;
    return number ^ number >> 31;
  }
};

class StepClock {
 public:
  // What to write when a step closes.
  enum class Entry { none, unmeasured, frame };

  // spans: how many steps share an entry or, with measure_every, how rarely one is measured.
  explicit StepClock(SpanOfEntries& spans) : spans_(spans) {}

  void configure(const Config& config) noexcept;
  // As configured: the same in all ranks, even where measuring has ended or never began.
  const StepChoice& configured() const noexcept { return configured_; }

  // Setup begins.
  void begin(uint64_t now) noexcept;
  // From here on windows close the steps, on their own thread.
  void close_by_windows() noexcept { windowed_ = true; }
  bool windowed() const noexcept { return windowed_; }
  bool in_setup() const noexcept { return in_setup_; }
  void end_setup() noexcept;
  // The steps so far were none: setup goes on.
  void restart_setup() noexcept { in_setup_ = true; }
  bool had_steps() const noexcept { return had_steps_; }  // even if they were none

  // --- counting
  // Resumes counting, if the open step is measured and nobody has paused.
  void start() noexcept;
  // Collects the counts and stops counting.
  void stop(uint64_t now) noexcept;
  // The same between two steps, without stopping.
  void cut(uint64_t now) noexcept;
  bool counts() const noexcept;
  // Calls of the API nest. The switch of MPI_Pcontrol is a pause of its own. A start in a pause
  // ends with the first resume that has no pause, or with the switch.
  void pause(uint64_t now) noexcept;
  void resume(uint64_t now) noexcept;
  void control(uint64_t now, bool measures) noexcept;
  // `function` reports what a source has gathered; called before each stop and cut.
  void before_close(void (*function)()) { before_close_.push_back(function); }
  // When these functions were called last, in ticks. Any thread may ask.
  uint64_t handed_in() const noexcept { return handed_in_.load(std::memory_order_relaxed); }

  // --- the open step
  uint64_t step() const noexcept { return step_; }  // its index
  uint32_t span() const noexcept { return span_; }  // closed steps whose entry is not written yet
  int64_t last_label() const noexcept { return last_label_; }
  // Sets the number of the closing step, which windows know.
  void set_step(uint64_t step) noexcept { step_ = step; }
  // Closes the open step. Write its entry, if any, before next_step.
  Entry close(int64_t label) noexcept;
  void next_step(int64_t label) noexcept;
  // The next entry is of so many.
  void set_span(uint32_t span) noexcept { span_ = span; }
  // Begins the next entry.
  void begin_entry(uint64_t ticks) noexcept;
  // perfield has worked for itself since then.
  void add_own(uint64_t since, uint64_t now) noexcept { own_ticks_ += now - since; }

  // --- the entry: its span, flags and times
  void fill(StepBody* body, uint64_t now) const noexcept;
  bool was_measured() const noexcept { return !(flags_ & kStepNotMeasured); }
  void entry_written() noexcept;
  uint64_t total_own_ticks() const noexcept { return total_own_ticks_; }

 private:
  bool is_measured(uint64_t step) const noexcept { return in_setup_ || choice_.is_measured(step); }
  // The next entry may be longer. was_measured: the step that was closed last.
  void choose_span(bool was_measured) noexcept;
  void hand_in() noexcept;
  bool is_paused() const noexcept { return paused_ > 0 || switched_off_ || starts_paused_; }
  template <typename F>
  void change_pauses(uint64_t now, F change) noexcept;

  SpanOfEntries& spans_;
  StepChoice configured_, choice_;
  uint64_t arrivals_every_ = 0;
  bool in_setup_ = true, had_steps_ = false, windowed_ = false;
  uint64_t step_ = 0;
  uint64_t first_ = 0;  // of the entry
  uint32_t span_ = 0;
  uint16_t flags_ = 0;
  int64_t last_label_ = 0;
  uint64_t begin_ns_ = 0;        // of the pending steps
  uint64_t counting_since_ = 0;  // valid while counting
  uint64_t measured_ticks_ = 0;
  uint64_t own_ticks_ = 0, total_own_ticks_ = 0;
  int paused_ = 0;  // by the API
  bool switched_off_ = false, starts_paused_ = false;
  std::vector<void (*)()> before_close_;
  std::atomic<uint64_t> handed_in_{0};
};

}  // namespace perfield
