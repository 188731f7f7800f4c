// SPDX-License-Identifier: BSD-3-Clause
//
// session_clock.cpp - when the recorder counts: from a step's begin to its end, in measured steps,
// and not while it is paused.
#include <utility>

#include "session/session.hpp"

namespace perfield {

bool Session::is_measured(uint64_t step) const noexcept {
  if (phase_ == Phase::setup) return true;
  auto skip = uint64_t(config_.skip_steps);
  return step >= skip && (step - skip) % measure_every_ == 0;
}

void Session::start_clock() noexcept {
  Recorder& r = recorder();
  if (paused_ > 0) flags_ |= kStepPaused;
  const bool counts = r.state() == Activity::active;  // see cut_clock
  if (paused_ > 0 || !is_measured(step_)) {
    if (counts) r.close();
    return;
  }
  if (counts && windowed_) return;
  counting_since_ = r.clock.ticks();
  r.open(counting_since_);
}

// What sources have gathered is the program's, though it is counted amid perfield's own work.
void Session::hand_in() noexcept {
  Shard* s = before_close_.empty() ? nullptr : recorder().shard();
  if (!s) return;
  const uint32_t own_work = std::exchange(s->own_work, 0);
  for (auto* function : before_close_) function();
  s->own_work = own_work;
}

void Session::stop_clock(uint64_t now) noexcept {
  hand_in();
  Recorder& r = recorder();
  if (r.state() != Activity::active) return;
  r.fold(now);
  r.close();
  measured_ticks_ += now - counting_since_;
}

// Between two steps. Other threads go on, and what they do meanwhile counts for the next one; so
// does their time where the clock closes steps, and the program knows nothing of it.
void Session::cut_clock(uint64_t now) noexcept {
  hand_in();
  Recorder& r = recorder();
  if (r.state() != Activity::active) return;
  r.fold(now);
  if (windowed_) r.open(now);
  measured_ticks_ += now - counting_since_;
  counting_since_ = now;
}

void Session::pause() noexcept {
  if (!awake()) return;
  uint64_t now = recorder().clock.ticks();
  Gate::Pass pass(gate_);
  if (!pass) return;
  if (paused_++ == 0) stop_clock(now);
  flags_ |= kStepPaused;
}

void Session::resume() noexcept {
  if (!awake()) return;
  Gate::Pass pass(gate_);
  if (!pass) return;
  if (paused_ == 0) return;
  if (--paused_ > 0) return;
  hand_in();  // of the pause: dropped
  start_clock();
}

}  // namespace perfield
