// SPDX-License-Identifier: BSD-3-Clause
//
// configured_steps.hpp - steps that the configuration closes: at a call site of MPI (step_call) or
// by the clock on the wall (step_seconds). The configuration goes before the program's own steps,
// so that all ranks agree from the first step on.
#pragma once

#include <atomic>
#include <string>

#include "configuration/config.hpp"
#include "configuration/step_call.hpp"
#include "session/windows.hpp"

namespace perfield {

class ConfiguredSteps {
 public:
  // True if windows close the steps from here on, by calling close_window.
  bool start(const Config& config, const std::string& run, Windows::Close close_window);
  // Whether the configuration closes the steps; tells so, once, as the program's own end is
  // ignored.
  bool replace_the_programs() noexcept;
  // No more windows.
  void stop() noexcept { windows_.stop(); }

  uint16_t call() const noexcept { return call_.call; }  // 0: none
  double end_of_window_s(uint64_t number) const noexcept { return windows_.end_s(number); }

 private:
  StepCall call_;
  Windows windows_;
  bool by_clock_ = false;
  std::atomic<bool> told_{false};
};

}  // namespace perfield
