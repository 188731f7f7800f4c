// SPDX-License-Identifier: BSD-3-Clause
//
// fields_pace.cpp - see fields_pace.hpp. The interval follows from the step's number, so that all
// ranks store the same, and from what ranks agreed by a note (agreed_change.hpp).
#include "session/fields_pace.hpp"

#include <algorithm>
#include <cstdio>

#include "platform/clock.hpp"

namespace perfield {
namespace {

constexpr uint64_t kFirstInterval = 10;
constexpr uint64_t kMostInterval = uint64_t(1) << 40;
constexpr double kMostShare = 0.02;         // of the time, for storing fields
constexpr uint64_t kGrace_ns = 50'000'000;  // storing has taken this long

std::string in_ms(double ns) {
  char text[32];
  snprintf(text, sizeof text, "%.3g ms", ns * 1e-6);
  return text;
}

}  // namespace

void FieldsPace::configure(int64_t every, const std::string& note) {
  every_ = every;
  note_ = note;
}

// The default interval doubles with each doubling of the steps. So a long run stores few fields,
// and those in a picture are at most a sixteenth of the run old.
uint64_t FieldsPace::interval(uint64_t step) const noexcept {
  if (every_ >= 0) return uint64_t(every_);
  uint64_t interval = kFirstInterval;
  while (step >= 32 * interval) interval *= 2;
  for (const Change& slower : agreed_)  // the next one may be agreed before this one holds
    if (step >= slower.from) interval = std::max<uint64_t>(interval, slower.to);
  return interval;
}

// A look costs an operation on a path, and the file server of thousands of ranks feels it. So there
// are four in each doubling of the steps. A change holds from the second look on.
uint64_t FieldsPace::next_look(uint64_t step) noexcept {
  uint64_t octave = kFirstInterval;
  while (step >= 2 * octave) octave *= 2;
  const uint64_t apart = std::max(kFirstInterval, octave / 4);
  return (step / apart + 1) * apart;
}

bool FieldsPace::are_due(uint64_t step, std::string* warning) {
  if (every_ == 0) return false;
  if (every_ < 0 && step >= look_) {
    slow_down(step, monotonic_ns(), warning);
    look_ = next_look(step);
  }
  if (step < next_) return false;
  const uint64_t every = interval(step);
  next_ = (step / every + 1) * every;
  return true;
}

void FieldsPace::stored(uint64_t step, uint64_t begin_ns, uint64_t end_ns) noexcept {
  const uint64_t took_ns = end_ns - begin_ns;
  cheapest_ns_ = std::min(cheapest_ns_, took_ns);  // one that was held up says little
  if (n_++ > 0) {
    since_first_ns_ += took_ns;
    return;
  }
  first_step_ = step;
  first_end_ns_ = end_ns;
}

void FieldsPace::slow_down(uint64_t step, uint64_t now_ns, std::string* warning) {
  const auto next_note = [this] { return note_ + "-" + std::to_string(agreed_.size() + 1); };
  for (Change c = agreed_change(next_note()); c.to; c = agreed_change(next_note()))
    agreed_.push_back(c);
  if (n_ < 2 || step <= first_step_ || n_ * cheapest_ns_ <= kGrace_ns) return;
  const double others_ns = double(now_ns - first_end_ns_) - double(since_first_ns_);
  const double step_ns = others_ns / double(step - first_step_);
  const double least = double(cheapest_ns_) / (kMostShare * step_ns);
  uint64_t wanted = kFirstInterval;
  while (wanted < kMostInterval && double(wanted) < least) wanted *= 2;
  if (wanted <= interval(step) || (!agreed_.empty() && wanted <= agreed_.back().to)) return;
  const Change change = agree(next_note(), {next_look(next_look(step)), wanted});
  if (!change.to) return;
  agreed_.push_back(change);
  *warning = "storing the simulation's own fields takes " + in_ms(double(cheapest_ns_)) +
             " on a rank, and a step " + in_ms(step_ns) + "; from step " +
             std::to_string(change.from) + " on they are stored every " +
             std::to_string(change.to) + " steps; set fields_every to store them more often";
}

}  // namespace perfield
