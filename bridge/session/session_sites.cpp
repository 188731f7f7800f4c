// SPDX-License-Identifier: BSD-3-Clause
//
// session_sites.cpp - steps that the program does not tell: closed by a call site of MPI
// (step_call) or by the clock on the wall (step_seconds). What the configuration says goes before
// what the program says, so that all ranks agree from the first step on.
#include <cmath>

#include "run_directory/run_json.hpp"
#include "session/session.hpp"
#include "session/step_sites.hpp"
#include "session/tell.hpp"

namespace perfield {
namespace {

constexpr uint64_t kNoteEvery_ns = 1'000'000'000;

}  // namespace

void Session::follow_steps() {
  std::string complaint;  // none: the configuration has been checked
  step_call_ = read_step_call(config_.step_call, &complaint);
  recorder().sites.start(step_call_.call, step_call_.number);
  if (config_.step_seconds <= 0) return;
  RunFacts facts;
  read_run_facts(run_.path, &facts);
  windowed_ = windows_.start(config_.step_seconds, facts.start_ns,
                             [](uint64_t number) { session().close_window(number); });
  if (!windowed_)
    tell("windows",
         "there was no thread to close steps by the clock (step_seconds); the run has "
         "no steps");
}

bool Session::steps_are_configured() noexcept {
  if (!step_call_.call && config_.step_seconds <= 0) return false;
  if (!told_configured_.exchange(true))
    tell("steps-configured",
         "step_call or step_seconds is set and says where steps end; what the program itself or a "
         "hook tells of its steps is passed over");
  return true;
}

void Session::close_step_of_call() noexcept {
  if (!awake()) return;
  const uint64_t now = recorder().clock.ticks();
  OwnWork own;
  Gate::Pass pass(gate_);
  if (pass && phase_ != Phase::ended) close(int64_t(step_), NAN, now);
}

// On the thread of the windows, which has no shard: nothing is counted there.
void Session::close_window(uint64_t number) noexcept {
  if (!awake()) return;
  const uint64_t now = recorder().clock.ticks();
  OwnWork own;
  Gate::Pass pass(gate_);
  if (!pass || phase_ == Phase::asleep || phase_ == Phase::ended) return;
  if (number < step_) return;  // somebody has set the clock back
  const bool setup = phase_ == Phase::setup;
  step_ = setup ? number + 1 : number;
  close(int64_t(number), windows_.end_s(number), now);
}

void Session::note_sites() noexcept {
  if (!awake()) return;
  Recorder& r = recorder();
  const uint64_t now = r.clock.ticks();
  if (r.clock.span_ns(now - sites_ticks_.load()) < kNoteEvery_ns) return;
  OwnWork own;
  through_gate([&] {
    if (phase_ == Phase::asleep || phase_ == Phase::ended) return;
    sites_ticks_.store(now);
    write_sites();
    stream_.flush();
    check_writing();
  });
}

void Session::write_sites() {
  if (!recorder().sites.following() || recorder().sites.size() == 0) return;
  std::string text = sites_json(recorder(), config_.step_call);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const iovec body = {text.data(), text.size()};
  stream_.write_parts(EntryType::sites, 0, &body, 1);
}

void Session::tell_of_sites() {
  const CallSites& sites = recorder().sites;
  if (step_call_.call && sites.step_hits() == 0)
    tell("step-call", "the call site " + config_.step_call +
                          " (step_call) was never hit, so no step was closed; seen by rank " +
                          std::to_string(rank_) + ": " +
                          sites_in_words(recorder(), step_call_.call) + "; `perfield steps " +
                          run_.path + "` lists all");
  if (step_call_.call && sites.overflowed())
    tell("sites", "MPI was called from more places than are followed: " +
                      std::to_string(sites.overflowed()) +
                      " calls were not compared with step_call");
}

}  // namespace perfield

extern "C" void perfield_call_after(uint64_t after) noexcept {
  if (after & perfield::kNoteSites) perfield::session().note_sites();
  if (after & perfield::kCloseStep) perfield::session().close_step_of_call();
}
