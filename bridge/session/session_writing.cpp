// SPDX-License-Identifier: BSD-3-Clause
//
// session_writing.cpp - when entries and fields are written, how much of the disk they may take,
// and what happens when that fails. Runs under the session's lock.
#include <cstring>

#include "session/environment.hpp"
#include "session/session.hpp"
#include "session/tell.hpp"

namespace perfield {
namespace {

constexpr double kWritingShare = 0.005;  // of the time; above it entries are gathered, once
constexpr uint64_t kWritingGrace_ns = 10'000'000;  // this much has been spent

}  // namespace

// Unless the configuration says it: half as often after each doubling of the steps, so that a long
// run stores few fields and those of a picture are at most a sixteenth of the run old. By the
// number of the step alone, so that all ranks store the same.
uint64_t Session::fields_interval() const noexcept {
  if (config_.fields_every >= 0) return uint64_t(config_.fields_every);
  uint64_t interval = 10;
  while (step_ >= 32 * interval) interval *= 2;
  return interval;
}

// The simulation's own fields go with the first frame at or after each multiple of their interval.
void Session::store_fields() noexcept {
  uint64_t every = fields_interval();
  if (!every || step_ < next_fields_ || !mesh_.has_fields()) return;
  next_fields_ = (step_ / every + 1) * every;
  try {
    if (mesh_.file().file_bytes() < uint64_t(config_.record_limit))
      mesh_.write_fields(step_);
    else
      tell("fields-limit", "the simulation's own fields take record_limit (" +
                               std::to_string(config_.record_limit) + " bytes); from step " +
                               std::to_string(step_) +
                               " on they are not stored; raise it or fields_every");
  } catch (...) {
    tell("fields", "there was no memory to store the simulation's fields of a step");
  }
}

// Writes at once as long as that stays cheap beside the steps; gathers where it does not.
void Session::flush_when_due(uint64_t now) noexcept {
  Recorder& r = recorder();
  bool cheap = double(write_ticks_) < kWritingShare * double(now - wake_ticks_) ||
               r.clock.span_ns(write_ticks_) < kWritingGrace_ns;
  double gathered_s = double(r.clock.span_ns(now - last_flush_ticks_)) * 1e-9;
  if (!cheap && stream_.gathered() < kGatherBytes && gathered_s < config_.flush_seconds) return;
  uint64_t before = r.clock.ticks();
  stream_.flush();
  last_flush_ticks_ = r.clock.ticks();
  write_ticks_ += last_flush_ticks_ - before;
}

void Session::check_writing() noexcept {
  int error = stream_.failed() ? stream_.error() : mesh_.file().failed() ? mesh_.file().error() : 0;
  if (!error || phase_ == Phase::ended) return;
  phase_ = Phase::ended;
  recorder().stop();
  try {
    tell("writing", "writing to " + run_.path + " failed in step " + std::to_string(step_) + " (" +
                        strerror(error) +
                        "); measuring ends here, what was written can be read, "
                        "the program runs on");
  } catch (...) {
  }
}

// Where the run directory nears its limit, ever more steps share an entry: half of the space for
// the steps as configured, half of what is left for pairs of them, and so on. Where one step in so
// many is measured, ever fewer are.
void Session::limit_record() noexcept {
  constexpr uint64_t kMostSteps = 1u << 30;
  if ((step_ & 255) != 0) return;
  auto limit = double(config_.record_limit) / double(nodes_of_run());
  double used = double(stream_.file_bytes());
  uint64_t factor = 1;
  for (double left = 1.0 - used / limit; left < 0.5 && factor < 1u << 20; left *= 2) factor *= 2;
  bool one_in_many = config_.measure_every > 1;
  auto wanted = uint64_t(one_in_many ? config_.measure_every : config_.sum_every) * factor;
  if (wanted > kMostSteps || wanted <= (one_in_many ? measure_every_ : sum_every_)) return;
  (one_in_many ? measure_every_ : sum_every_) = wanted;
  try {
    tell("limit", "the run directory nears record_limit; from step " + std::to_string(step_) +
                      " on, " +
                      (one_in_many ? "one step in " + std::to_string(wanted) + " is measured"
                                   : std::to_string(wanted) + " steps share an entry"));
  } catch (...) {
  }
}

}  // namespace perfield
