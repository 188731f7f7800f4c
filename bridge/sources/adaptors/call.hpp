// SPDX-License-Identifier: BSD-3-Clause
//
// call.hpp - one call of the program into Catalyst or Ascent. It is a region, `catalyst` or
// `ascent`, and it is where time steps are seen.
#pragma once

#include <cstdint>

namespace perfield::adaptors {

// Marks such a call while it lives. Calls inside a call, on other threads meanwhile, or in
// perfield's own work count for nothing; neither do calls while nothing is measured.
class Call {
 public:
  // source: "catalyst" or "ascent". frame: of the hook. has_data: the program passes its data, so
  // it has called MPI_Init by now if it ever will; one without MPI starts to be measured here.
  Call(const char* source, const void* frame, bool has_data = false) noexcept;
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Whether the hook does its work.
  bool counts() const noexcept { return counts_; }
  // Whether an earlier call never returned: it was left by an exception.
  bool follows_a_left_one() const noexcept { return follows_a_left_one_; }
  // The program's time step, before it is shown: perfield may close a step with it.
  void step(int64_t label, double time) noexcept;
  // The region begins: what the program calls follows.
  void begin() noexcept;

 private:
  const char* const source_;
  bool counts_ = false, follows_a_left_one_ = false;
};

// Long work of perfield's own inside a call, while it lives; in no region, and in no step.
class Excluded {
 public:
  Excluded() noexcept;
  ~Excluded();
  Excluded(const Excluded&) = delete;
  Excluded& operator=(const Excluded&) = delete;
};

}  // namespace perfield::adaptors
