// SPDX-License-Identifier: BSD-3-Clause
//
// session_values.cpp - the program asks what was measured: the clock stands still meanwhile, and
// the step goes on as if nobody had looked.
#include <cmath>

#include "recorder/step_entry.hpp"
#include "session/session.hpp"

namespace perfield {

template <typename Row, typename F>
std::vector<Row> Session::look_at_step(F rows_of) noexcept {
  std::vector<Row> rows;
  if (!awake()) return rows;
  Recorder& r = recorder();
  uint64_t now = r.clock.ticks();
  OwnWork own;
  Gate::Pass pass(gate_);
  if (!pass || (phase_ != Phase::setup && phase_ != Phase::steps)) return rows;
  const bool counts = r.state() == Activity::active;
  stop_clock(now);
  try {
    const StepKind kind = phase_ == Phase::setup ? StepKind::setup : StepKind::step;
    StepBody so_far = body_of(kind, last_label_, NAN, now, process_figures());
    values_.look(r, so_far, largest_step_body(r.regions.capacity(), uint32_t(config_.max_peers)));
    rows = rows_of();
  } catch (...) {
    rows.clear();  // no memory: nothing to tell
  }
  own_ticks_ += r.clock.ticks() - now;
  if (counts) start_clock();
  return rows;
}

std::vector<perfield_value> Session::field_values() noexcept {
  return look_at_step<perfield_value>([this] {
    const bool has_mpi = has("pmpi") || has("scorep-mpi"), has_io = has("io") || has("scorep-io");
    return values_.fields(recorder(), rank_, size_, has_mpi, has_io);
  });
}

std::vector<perfield_region_value> Session::region_values() noexcept {
  return look_at_step<perfield_region_value>([this] { return values_.regions(recorder()); });
}

std::vector<perfield_message_value> Session::message_values() noexcept {
  return look_at_step<perfield_message_value>([this] { return values_.messages(); });
}

int Session::world_size() noexcept {
  int size = 0;
  through_gate([&] {
    if (phase_ == Phase::setup || phase_ == Phase::steps) size = size_;
  });
  return size;
}

}  // namespace perfield
