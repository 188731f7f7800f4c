// SPDX-License-Identifier: BSD-3-Clause
//
// values.cpp - see values.hpp.
#include "session/values.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "format/decode.hpp"
#include "recorder/step_entry.hpp"

namespace perfield {
namespace {

bool counts_something(const StepView& step) {
  for (const RegionRow row : step.regions)
    if (row.count) return true;
  return step.calls.size() || step.messages.size() || step.waits.size();
}

}  // namespace

void StepValues::look(Recorder& recorder, const StepBody& so_far, size_t room) {
  if (room > room_) {
    open_.reset(new unsigned char[room]);  // takes memory only for the part that is written to
    room_ = room;
  }
  body_ = open_.get();
  bytes_ = encode_step(recorder, so_far, open_.get(), room, false);
  StepView step;
  if (!last_.empty() && view_step(body_, bytes_, &step) && !counts_something(step)) {
    body_ = last_.data();
    bytes_ = last_.size();
  }
}

bool StepValues::look_at_closed() noexcept {
  body_ = last_.data();
  bytes_ = last_.size();
  return !last_.empty();
}

// A region is known once its definition is in the stream, or in the step that first enters it.
KnownRun StepValues::facts_of(Recorder& recorder, const StepView& step, int rank, int size,
                              const std::vector<std::string>& sources) {
  KnownRun facts;
  facts.world_size = uint32_t(size);
  facts.first_rank = rank;
  facts.has_all_ranks = false;
  facts.ranks.resize(1);
  for (const std::string& name : sources) facts.ranks[0].has_source(name);
  facts.calls_seen = recorder.pending.calls_of_messages;  // their fields stay once they exist

  std::set<uint32_t> here;
  for (const RegionRow row : step.regions) {
    here.insert(row.id);
    several_threads_ |= row.threads > 1;
  }
  facts.several_threads = several_threads_;
  std::set<Stems::Place> met;
  const uint32_t n_regions = recorder.regions.size();
  for (uint32_t id = 0; id < n_regions; ++id) {
    const RegionDefinition& d = recorder.regions[id];
    if ((recorder.is_defined(id) || here.count(id)) && named_.insert(id).second)
      met.insert({d.name, d.place});
  }
  stems_.add(met);
  facts.stems = stems_.names();
  facts.local_begin = {0, n_regions};
  facts.local.assign(n_regions, -1);
  for (const uint32_t id : named_) {
    const RegionDefinition& d = recorder.regions[id];
    facts.local[id] = int32_t(facts.regions.size());
    facts.regions.push_back({stems_.of({d.name, d.place}), -1});  // blocks are not distinguished
  }

  const Quantities& quantities = recorder.quantities;
  for (int n = 0; n < quantities.size(); ++n) {
    const Quantity& q = quantities[n];
    const bool is_there = !q.waits_for_use() || (recorder.quantities_used >> n & 1);
    const RunQuantity quantity{q.name,       q.unit->stored,
                               q.help,       q.scope == PERFIELD_PER_RANK,
                               q.is_state(), q.over_steps == PERFIELD_STEPS_MAX};
    facts.ranks[0].quantities.push_back(is_there ? facts.place_of(quantity) : int16_t(-1));
  }
  return facts;
}

std::vector<perfield_value> StepValues::fields(Recorder& recorder, int rank, int size,
                                               const std::vector<std::string>& sources) {
  std::vector<perfield_value> rows;
  StepView step;
  if (!view_step(body_, bytes_, &step)) return rows;
  KnownRun facts = facts_of(recorder, step, rank, size, sources);
  if (!columns_ || !(columns_->facts() == facts))
    columns_ = std::make_unique<Columns>(std::move(facts));
  const std::vector<Column>& all = columns_->all();
  std::vector<uint32_t> wanted(all.size());
  std::iota(wanted.begin(), wanted.end(), 0u);
  std::vector<double> values(all.size(), NAN);
  ColumnFiller filler(*columns_, wanted);
  filler.begin(0);
  filler.add(step, nullptr);
  filler.end(values.data(), 1, nullptr);
  for (size_t n = 0; n < all.size(); ++n) rows.push_back({text(all[n].name), values[n]});
  add_focus(step, &rows);
  return rows;
}

// What this rank counts itself: messages that it sent or put, data that it fetched, messages that
// it received. NaN where it exchanged none. Pictures have more, from the counts of the other rank.
void StepValues::add_focus(const StepView& step, std::vector<perfield_value>* rows) {
  for (const int32_t focus : focus_) {
    MessageSums sent, received, calls[PERFIELD_CALL_LIMIT];
    const auto add_row = [](const MessageRow& row, MessageSums* sum) {
      sum->count += double(row.count);
      sum->bytes += double(row.bytes);
    };
    for (const MessageRow row : step.messages) {
      if (row.peer != focus) continue;
      add_row(row, &calls[std::min<uint16_t>(row.call, PERFIELD_CALL_LIMIT - 1)]);
      if (!fetches(row.call)) add_row(row, sends(row.call) ? &sent : &received);
    }
    const auto add = [&](const std::string& what, const char* way, const MessageSums& sum) {
      const std::string end = way + std::to_string(focus);
      rows->push_back({text(what + "_count" + end), sum.count ? sum.count : NAN});
      rows->push_back({text(what + "_bytes" + end), sum.count ? sum.bytes : NAN});
    };
    add("sent", "_to_", sent);
    add("received", "_from_", received);
    for (uint16_t call = 0; call < PERFIELD_CALL_LIMIT; ++call)
      if (columns_->facts().calls_seen[call] && sends(call))
        add(call_name(call), fetches(call) ? "_from_" : "_to_", calls[call]);
  }
}

std::vector<perfield_region_value> StepValues::regions(Recorder& recorder) const {
  std::vector<perfield_region_value> rows;
  StepView step;
  if (!view_step(body_, bytes_, &step)) return rows;
  std::map<std::string, size_t> row_of;
  auto row_for = [&](const RegionDefinition& d) -> perfield_region_value& {
    auto [found, is_new] = row_of.insert({d.name, rows.size()});
    if (is_new) rows.push_back({d.name.c_str(), 0, 0});  // definitions are never removed
    return rows[found->second];
  };
  for (uint32_t id = 0; id < recorder.regions.size(); ++id)
    if (recorder.is_defined(id)) row_for(recorder.regions[id]);
  for (const RegionRow row : step.regions) {
    perfield_region_value& of = row_for(recorder.regions[row.id]);
    of.count += row.count;
    of.time_s += double(row.inclusive_max_ns) * 1e-9;
  }
  return rows;
}

std::vector<perfield_message_value> StepValues::messages() const {
  std::vector<perfield_message_value> rows;
  StepView step;
  if (!view_step(body_, bytes_, &step)) return rows;
  std::map<std::pair<int32_t, uint16_t>, size_t> row_of;  // threads count separately
  for (const MessageRow row : step.messages) {
    if (!sends(row.call)) continue;
    auto [found, is_new] = row_of.insert({{row.peer, row.call}, rows.size()});
    if (is_new) rows.push_back({row.peer, call_name(row.call), 0, 0});
    rows[found->second].count += row.count;
    rows[found->second].bytes += row.bytes;
  }
  return rows;
}

}  // namespace perfield
