// SPDX-License-Identifier: BSD-3-Clause
//
// step_entry.cpp - the tables of a step's entry, in their order.
#include "recorder/step_entry.hpp"

#include <cstring>

#include "recorder/recorder.hpp"

namespace perfield {
namespace {

// Bytes for the tables that are written last: they are few and always fit.
size_t kept_room(Recorder& r) noexcept {
  return CallTable::kRoom + QuantityTable::room(r) + CollectiveTable::room(r);
}

constexpr size_t kTableHeaders = kStepTables * sizeof(TableHeader);

// What found no room in the entry stays pending.
void forget_empty_profiles(Recorder& r) noexcept {
  if (r.pending.quantities.n_rows || r.pending.quantities.of_rank || !r.n_profiles()) return;
  r.pending.profiles.for_each(uint32_t(r.n_profiles()), [&](uint32_t i) {
    if (!r.profile_at(int(i)).collectives.has_pending()) r.pending.profiles.remove(i);
  });
}

}  // namespace

StepRoom step_body_room(Recorder& r) noexcept {
  const size_t least =
      sizeof(StepBody) + 2 * kTableHeaders + MessageTable::kReserved + kept_room(r);
  return {least, least + PathTable::room(r) + MessageTable::room(r)};
}

std::string with_id(uint32_t id, const std::string& json) {
  return "{\"id\":" + std::to_string(id) + "," + json.substr(1);
}

size_t encode_step(Recorder& r, StepBody body, unsigned char* at, size_t room,
                   bool empties) noexcept {
  r.for_each_pending([&](ThreadProfile& s) {
    for (MonotonicCounter* faults : {&s.faults, &s.left_calls})
      body.faults += empties ? faults->take() : faults->grown();
    body.overflowed += empties ? s.messages.overflowed.take() : s.messages.overflowed.grown();
  });
  const size_t kept = kept_room(r);
  StampSums sums(r.clock, r.collected_until(), body.begin_ns);
  StepRows rows(r, body, sums, empties, at + sizeof body, room - sizeof body - kept);
  rows.keep(MessageTable::kReserved + kTableHeaders);
  PathTable::encode_regions(rows);
  MessageTable::encode(rows);
  PathTable::encode_paths(rows);
  StepRows last(r, body, sums, empties, rows.at(), kept + kTableHeaders);
  CallTable::encode(last);
  QuantityTable::encode(last);
  CollectiveTable::encode(last);
  if (empties) forget_empty_profiles(r);
  memcpy(at, &body, sizeof body);
  return size_t(last.at() - at);
}

}  // namespace perfield
