// SPDX-License-Identifier: BSD-3-Clause
//
// session_writing.cpp - when entries and fields are written, how much of the disk they may take,
// and what happens when that fails. Runs under the session's lock.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "run_directory/shared_note.hpp"
#include "session/environment.hpp"
#include "session/session.hpp"
#include "session/tell.hpp"

namespace perfield {
namespace {

constexpr double kWritingShare = 0.005;  // of the time; above it entries are gathered, once
constexpr uint64_t kWritingGrace_ns = 10'000'000;  // this much has been spent
constexpr uint64_t kLimitEvery = 64;               // steps between two looks at record_limit

// From which step on how many times more steps share an entry; 0, 0: not agreed upon yet.
struct Sharing {
  unsigned long long from = 0, factor = 0;
};

Sharing read_note(const std::string& path) {
  Sharing sharing;
  char text[64] = "";
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return sharing;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0 || sscanf(text, "%llu %llu", &sharing.from, &sharing.factor) != 2) return {};
  return sharing;
}

// Unless another rank was faster; returns what stands there.
Sharing agree(const std::string& path, uint64_t from, uint64_t factor) {
  const std::string text = std::to_string(from) + " " + std::to_string(factor);
  return leave_note(path, text) ? read_note(path) : Sharing{};
}

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

// A node's disk that fails is no loss: entries go where they would have gone without it.
void Session::check_staging() noexcept {
  int error = stream_.moved() ? stream_.moved() : mesh_.file().moved();
  if (!error || stage_failed_) return;
  stage_failed_ = true;
  try {
    tell("stage", "writing to " + config_.stage + " (stage) failed in step " +
                      std::to_string(step_) + " (" + strerror(error) +
                      "); from here on entries are written into the run directory at once");
  } catch (...) {
  }
}

void Session::check_writing() noexcept {
  check_staging();
  int error = stream_.failed() ? stream_.error() : mesh_.file().failed() ? mesh_.file().error() : 0;
  if (!error || phase_ == Phase::ended) return;
  stop_measuring();
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
// many is measured, ever fewer are. The first rank that sees it leaves a note that says from which
// step on, a little ahead, so that all ranks change there.
void Session::limit_record() noexcept {
  if ((step_ % kLimitEvery) != 0) return;
  try {
    std::string note = run_.path + "/stream/.shared-" + std::to_string(times_shared_ + 1);
    Sharing sharing = read_note(note);
    double used = double(stream_.file_bytes()) * double(nodes_of_run());
    uint64_t factor = sharing_;
    for (double left = 1.0 - used / double(config_.record_limit);
         left < 1.0 / double(2 * factor) && factor < 1u << 20;)
      factor *= 2;
    if (!sharing.factor && factor > sharing_) sharing = agree(note, step_ + kLimitEvery, factor);
    if (sharing.factor && step_ >= sharing.from) share_entries(sharing.factor);
  } catch (...) {
    // no memory for a name: the limit is looked at again
  }
}

void Session::share_entries(uint64_t factor) {
  constexpr uint64_t kMostSteps = 1u << 30;
  ++times_shared_;
  sharing_ = factor;
  bool one_in_many = config_.measure_every > 1;
  uint64_t configured = uint64_t(one_in_many ? config_.measure_every : config_.sum_every);
  uint64_t& steps = one_in_many ? measure_every_ : sum_every_;
  if (configured * factor > kMostSteps) return;
  steps = configured * factor;
  tell("limit", "the run directory nears record_limit; from step " + std::to_string(step_) +
                    " on, " +
                    (one_in_many ? "one step in " + std::to_string(steps) + " is measured"
                                 : std::to_string(steps) + " steps share an entry"));
}

}  // namespace perfield
