// SPDX-License-Identifier: BSD-3-Clause
//
// session_values.cpp - the program asks for its own measurement. The clock stops meanwhile, and the
// step continues unchanged.
#include <cmath>
#include <cstring>

#include "recorder/step_entry.hpp"
#include "session/session.hpp"

namespace perfield {

template <typename Row, typename F>
std::vector<Row> Session::look_at_step(F rows_of, bool closed) noexcept {
  std::vector<Row> rows;
  while_measuring([&](uint64_t now) {
    Recorder& r = recorder();
    const bool counts = clock_.counts();
    clock_.stop(now);
    try {
      if (!closed || !values_.look_at_closed()) {
        set_mesh_size();
        const StepKind kind = clock_.in_setup() ? StepKind::setup : StepKind::step;
        const StepBody so_far = body_of(kind, clock_.last_label(), NAN, now);
        values_.look(r, so_far, step_body_room(r).all);
      }
      rows = rows_of();
    } catch (...) {
      rows.clear();  // no memory: returns nothing
    }
    clock_.add_own(now, r.clock.ticks());
    if (counts) clock_.start();
  });
  return rows;
}

std::vector<perfield_value> Session::field_values() noexcept {
  return look_at_step<perfield_value>(
      [this] { return values_.fields(recorder(), rank_, size_, sources_); });
}

std::vector<perfield_value> Session::closed_values() noexcept {
  return look_at_step<perfield_value>(
      [this] {
        std::vector<perfield_value> rows = values_.fields(recorder(), rank_, size_, sources_);
        const bool no_step_yet =
            values_.none_closed() && (clock_.in_setup() || offered_steps_.are_taken());
        for (perfield_value& row : rows)
          if (no_step_yet && strcmp(row.name, "rank")) row.value = NAN;
        return rows;
      },
      true);
}

std::vector<perfield_region_value> Session::region_values() noexcept {
  return look_at_step<perfield_region_value>([this] { return values_.regions(recorder()); });
}

std::vector<perfield_message_value> Session::message_values() noexcept {
  return look_at_step<perfield_message_value>([this] { return values_.messages(); });
}

}  // namespace perfield
