// SPDX-License-Identifier: BSD-3-Clause
//
// step_clock.cpp - see step_clock.hpp.
#include "session/step_clock.hpp"

#include <algorithm>

#include "recorder/recorder.hpp"

namespace perfield {

void StepClock::configure(const Config& config) noexcept {
  configured_ = choice_ = StepChoice::of(config);
  arrivals_every_ = uint64_t(config.arrivals_every);
  starts_paused_ = config.start_paused;
  spans_.configure(configured_.measure_every > 1 ? configured_.measure_every
                                                 : configured_.sum_every);
}

void StepClock::begin(uint64_t now) noexcept {
  begin_entry(now);
  recorder().close();  // follows events; start() makes it count
  start();
}

// --- counting ------------------------------------------------------------------------------------

bool StepClock::counts() const noexcept { return recorder().state() == Activity::active; }

void StepClock::start() noexcept {
  Recorder& r = recorder();
  if (is_paused()) flags_ |= kStepPaused;
  const bool counted = counts();  // see cut
  if (is_paused() || !is_measured(step_)) {
    if (counted) r.close();
    return;
  }
  if (!in_setup_ && configured_.keeps_events(step_, arrivals_every_)) r.begin_log(step_);
  if (counted && windowed_) return;
  counting_since_ = r.clock.ticks();
  r.open(counting_since_);
}

// What sources have gathered belongs to the program, even during perfield's own work.
void StepClock::hand_in() noexcept {
  ThreadProfile* s = before_close_.empty() ? nullptr : recorder().profile();
  if (!s) return;
  const uint32_t own_work = s->own_work;
  s->set_own_work(0, s->pipeline_armed);
  for (auto* function : before_close_) function();
  handed_in_.store(recorder().clock.ticks(), std::memory_order_relaxed);
  s->set_own_work(own_work, s->pipeline_armed);
}

void StepClock::stop(uint64_t now) noexcept {
  hand_in();
  if (!counts()) return;
  recorder().collect(now);
  recorder().close();
  measured_ticks_ += now - counting_since_;
}

// Other threads continue, and what they do meanwhile counts for the next step. With windows their
// time continues, too, since the program does not know that a step closes.
void StepClock::cut(uint64_t now) noexcept {
  hand_in();
  if (!counts()) return;
  recorder().collect(now);
  if (windowed_) recorder().open(now);
  measured_ticks_ += now - counting_since_;
  counting_since_ = now;
}

template <typename F>
void StepClock::change_pauses(uint64_t now, F change) noexcept {
  const bool before = is_paused();
  change();
  if (is_paused()) {
    if (!before) stop(now);
    flags_ |= kStepPaused;
  } else if (before) {
    hand_in();  // gathered during the pause: dropped
    start();
  }
}

void StepClock::pause(uint64_t now) noexcept {
  change_pauses(now, [this] { ++paused_; });
}

void StepClock::resume(uint64_t now) noexcept {
  change_pauses(now, [this] {
    if (paused_ > 0)
      --paused_;
    else
      starts_paused_ = false;
  });
}

void StepClock::control(uint64_t now, bool measures) noexcept {
  change_pauses(now, [this, measures] {
    switched_off_ = !measures;
    if (measures) starts_paused_ = false;
  });
}

// --- the open step -------------------------------------------------------------------------------

void StepClock::end_setup() noexcept {
  in_setup_ = false;
  had_steps_ = true;
  choose_span(false);
}

StepClock::Entry StepClock::close(int64_t label) noexcept {
  if (step_ > 0 && label <= last_label_) flags_ |= kStepLabelFell;
  if (span_++ == 0) first_ = step_;
  if (!choice_.is_measured(step_)) {
    flags_ |= kStepNotMeasured;
    // Each has an entry of its own as configured. In longer spans, all up to the next measured one
    // share an entry.
    const bool ends = !spans_.is_longer() || choice_.is_measured(step_ + 1);
    return ends ? Entry::unmeasured : Entry::none;
  }
  if (choice_.measure_every > 1) return Entry::frame;
  // Windows may pass over the last step of a group.
  const bool ends = (step_ + 1) / choice_.sum_every > first_ / choice_.sum_every;
  return ends ? Entry::frame : Entry::none;
}

void StepClock::next_step(int64_t label) noexcept {
  last_label_ = label;
  const bool was_measured = choice_.is_measured(step_);
  ++step_;
  if (span_ == 0) choose_span(was_measured);
}

// The steps that a rank measures are among those of a rank that measures more often.
void StepClock::choose_span(bool was_measured) noexcept {
  if (configured_.measure_every == 1) {
    if (spans_.begin_entry(step_)) choice_.sum_every = spans_.steps();
  } else if (was_measured || spans_.is_full()) {
    const uint64_t last = step_ > 0 ? step_ - 1 : 0;
    if (spans_.begin_entry(last - std::min(last, choice_.skip)))
      choice_.measure_every = spans_.steps();
  }
}

// --- the entry -----------------------------------------------------------------------------------

void StepClock::begin_entry(uint64_t ticks) noexcept {
  begin_ns_ = recorder().clock.since_start_ns(ticks);
}

void StepClock::fill(StepBody* body, uint64_t now) const noexcept {
  const Clock& clock = recorder().clock;
  body->span = span_ ? span_ : 1;
  body->flags = flags_;
  body->begin_ns = begin_ns_;
  body->end_ns = clock.since_start_ns(now);
  body->measured_ns = clock.span_ns(measured_ticks_);
  body->perfield_ns = clock.span_ns(own_ticks_);
}

void StepClock::entry_written() noexcept {
  total_own_ticks_ += own_ticks_;
  own_ticks_ = measured_ticks_ = 0;
  flags_ = 0;
  span_ = 0;
}

}  // namespace perfield
