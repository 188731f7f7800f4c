// SPDX-License-Identifier: BSD-3-Clause
//
// program_state.hpp - saves what Python and ParaView change in a process: signal handlers,
// floating-point traps and modes, the locale. Restores it for the simulation when it goes.
#pragma once

#include <fenv.h>
#include <locale.h>
#include <signal.h>

#include <cstring>

namespace perfield::catalyst {

class ProgramState {
 public:
  ProgramState() noexcept {
    feholdexcept(&floating_point_);  // no traps: ParaView divides by zero while loading
    for (int number = 1; number < kSignals; ++number)
      known_[number] = sigaction(number, nullptr, &handlers_[number]) == 0;
    signal(SIGPIPE, SIG_IGN);  // if ParaView exits, only the connection ends
    if (const char* name = setlocale(LC_ALL, nullptr))
      if (strlen(name) < sizeof locale_) strcpy(locale_, name);
  }
  ~ProgramState() {
    if (locale_[0]) setlocale(LC_ALL, locale_);
    for (int number = 1; number < kSignals; ++number)
      if (known_[number]) sigaction(number, &handlers_[number], nullptr);
    fesetenv(&floating_point_);
  }
  ProgramState(const ProgramState&) = delete;
  ProgramState& operator=(const ProgramState&) = delete;

 private:
  static constexpr int kSignals = 32;  // nobody here uses real-time signals
  fenv_t floating_point_;
  struct sigaction handlers_[kSignals] = {};
  bool known_[kSignals] = {};
  char locale_[512] = "";
};

}  // namespace perfield::catalyst
