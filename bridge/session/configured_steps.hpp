// SPDX-License-Identifier: BSD-3-Clause
//
// configured_steps.hpp - steps that the configuration closes: at a call site of MPI (step_call) or
// by wall-clock time (step_seconds). They take precedence over the program's own steps, so that all
// ranks agree from the first step on.
#pragma once

#include <atomic>
#include <string>

#include "configuration/config.hpp"
#include "configuration/step_call.hpp"
#include "fields/clock_windows.hpp"
#include "session/windows.hpp"

namespace perfield {

class ConfiguredSteps {
 public:
  // Starts the windows, which call close_window. True if they close the steps from here on.
  bool start(const Config& config, const std::string& run, int rank, int size,
             Windows::Close close_window);
  // Whether the configuration closes the steps. If so, says once that the program's own step ends
  // are ignored.
  bool replace_the_programs() noexcept;
  // Stops the windows.
  void stop() noexcept { windows_.stop(); }

  bool are_set() const noexcept { return call_.call || by_clock_; }
  uint16_t call() const noexcept { return call_.call; }  // 0: none
  double end_of_window_s(uint64_t number) const noexcept { return windows_.end_s(number); }
  // Whether perfield looks for the program's steps, and windows of the clock take their place until
  // it finds any.
  bool are_looked_for() const noexcept { return finds_; }
  ClockWindows& clock_windows() noexcept { return clock_windows_; }

 private:
  StepCall call_;
  Windows windows_;
  ClockWindows clock_windows_;
  bool by_clock_ = false, finds_ = false;
  std::atomic<bool> warned_{false};
};

}  // namespace perfield
