// SPDX-License-Identifier: BSD-3-Clause
//
// configured_steps.cpp - see configured_steps.hpp.
#include "session/configured_steps.hpp"

#include "recorder/recorder.hpp"
#include "run_directory/run_json.hpp"
#include "session/warnings.hpp"

namespace perfield {
namespace {

constexpr int kMostThatAgree = 4096;  // ranks that look for notes of one another in one folder

}  // namespace

bool ConfiguredSteps::start(const Config& config, const std::string& run, int rank, int size,
                            Windows::Close close_window) {
  std::string complaint;  // stays empty: the configuration has been checked
  call_ = read_step_call(config.step_call, &complaint);
  by_clock_ = config.step_seconds > 0;
  finds_ = config.find_steps && !call_.call && !by_clock_ && config.step_region.empty();
  recorder().sites.start(call_, {finds_, finds_ && size <= kMostThatAgree, rank == 0});
  if (!by_clock_ && !finds_) return false;
  RunFacts facts;
  read_run_facts(run, &facts);
  clock_windows_ = ClockWindows(facts.start_ns);
  if (!by_clock_) return false;
  const bool started = windows_.start(config.step_seconds, facts.start_ns, close_window);
  if (!started)
    warn_once_per_node(
        "windows",
        "there was no thread to close steps by the clock (step_seconds); the run has "
        "no steps");
  return started;
}

bool ConfiguredSteps::replace_the_programs() noexcept {
  if (!are_set()) return false;
  if (!warned_.exchange(true))
    warn_once_per_node(
        "steps-configured",
        "step_call or step_seconds is set and says where steps end; steps that the program or a "
        "hook reports are ignored");
  return true;
}

}  // namespace perfield
