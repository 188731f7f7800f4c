// SPDX-License-Identifier: BSD-3-Clause
//
// within.hpp - does something that may hang (a dead file system) on a thread of its own, and waits
// for it no longer than so long.
#pragma once

#include <functional>

namespace perfield {

enum class Ended {
  in_time,
  late,      // it may still run, until the process ends, so all that it uses must live as long
  not_begun  // no thread could be had
};

// Runs `work` on a thread without signals. Programs may replace clock_gettime and sleep, so the
// kernel alone knows the time.
Ended within(double seconds, std::function<void()> work) noexcept;

}  // namespace perfield
