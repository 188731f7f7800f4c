// SPDX-License-Identifier: BSD-3-Clause
//
// session_in_process.cpp - pictures inside the program: shown behind a step, and in none. What
// happens meanwhile is perfield's own work, and its time perfield's own.
#include "session/session.hpp"

namespace perfield {

// Does something long and collective outside the lock, between two steps.
template <typename F>
void Session::between_steps(F action) noexcept {
  OwnWork own;
  const uint64_t before = recorder().clock.ticks();
  through_gate([&] {
    if (phase_ == Phase::asleep || phase_ == Phase::ended) return;
    stop_clock(before);
    stream_.flush();  // for whoever looks at all ranks
    in_process_.describe_sources(sources_);
  });
  action();
  through_gate([&] {
    if (phase_ == Phase::asleep || phase_ == Phase::ended) return;
    const uint64_t after = recorder().clock.ticks();
    own_ticks_ += after - before;
    if (span_ == 0) begin_ticks_ = after;
    start_clock();
  });
}

void Session::show_in_process() noexcept {
  if (!in_process_.is_due()) return;
  between_steps([this] { in_process_.show(awake() ? &mesh_.fields() : nullptr); });
}

void Session::finish_in_process() noexcept {
  if (in_process_.wanted()) between_steps([this] { in_process_.finish(); });
}

}  // namespace perfield
