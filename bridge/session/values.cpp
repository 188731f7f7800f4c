// SPDX-License-Identifier: BSD-3-Clause
//
// values.cpp - see values.hpp. Sums are formed in the order and with the factors of
// perfield/run/frame.py and its neighbours, so that both give the same numbers to the last bit.
#include "session/values.hpp"

#include <algorithm>
#include <cmath>

#include "fields/field_names.hpp"
#include "format/decode.hpp"
#include "format/known_quantities.hpp"
#include "recorder/step_entry.hpp"
#include "session/values_inside.hpp"
#include "session/values_io.hpp"

namespace perfield {
namespace {

struct CallFacts {
  const char* name = nullptr;
  bool sends = false, fetches = false;
};

struct CallTable {
  CallFacts of[PERFIELD_CALL_LIMIT];
  CallTable() {
#define PERFIELD_CALL(number, name, time_class, message) \
  of[number] = {#name, #message[0] != 'n', #message[0] == 'f'};
#include "format/calls.def"
#undef PERFIELD_CALL
  }
};

const CallFacts& facts_of(uint16_t call) {
  static const CallTable table;
  return table.of[std::min<uint16_t>(call, PERFIELD_CALL_LIMIT - 1)];
}

constexpr const char* kMpiClassNames[kMpiClasses] = {"p2p",      "wait", "collective",
                                                     "onesided", "io",   "other"};

bool counts_mpi(const StepView& step) { return step.calls.size() || step.messages.size(); }

bool counts_something(const StepView& step) {
  for (const RegionRow row : step.regions)
    if (row.count) return true;
  return step.calls.size() || step.messages.size() || step.waits.size();
}

// The kind of time inside a region, as SecondsInside numbers them; -1: something else.
int kind_inside(const Quantity& quantity) {
  const KnownQuantity known = known_quantity(quantity.name, quantity.scope == PERFIELD_PER_RANK);
  return known <= KnownQuantity::file_time_inside ? int(known) : -1;
}

// The quantities of the rank that are fields by themselves.
template <class Add>
void add_of_rank(const Quantities& quantities, const StepView& step, Add add) {
  for (int q = 0; q < quantities.size(); ++q) {
    const Quantity& of = quantities[q];
    if (of.scope != PERFIELD_PER_RANK || known_quantity(of.name, true) != KnownQuantity::none)
      continue;
    double value = of.is_state() ? NAN : 0;
    for (const QuantityRow row : step.quantities)
      if (row.region == kOfRank && row.quantity == q) value = double(row.value) * of.unit->factor;
    add(of.name + of.unit->suffix, value);
  }
}

// The kinds of call by which this rank has ever sent: fields that stay, once they are there.
std::vector<bool> calls_seen(Recorder& r) {
  std::vector<bool> seen(PERFIELD_CALL_LIMIT);
  for (int i = 0; i < r.n_shards(); ++i) {
    Shard& s = r.shard_at(i);
    uint32_t end = s.n_messages.load(std::memory_order_acquire);
    for (uint32_t k = s.first_message(); k < end; ++k)
      if (s.messages[k].count.get()) seen[s.call_of(k) % PERFIELD_CALL_LIMIT] = true;
  }
  return seen;
}

}  // namespace

void StepValues::look(Recorder& recorder, const StepBody& so_far, size_t room) {
  if (room > room_) {
    open_.reset(new unsigned char[room]);  // of which only what is written to takes memory
    room_ = room;
  }
  body_ = open_.get();
  bytes_ = encode_step(recorder, so_far, open_.get(), room, Carry::kept);
  StepView step;
  if (!last_.empty() && view_step(body_, bytes_, &step) && !counts_something(step)) {
    body_ = last_.data();
    bytes_ = last_.size();
  }
}

void StepValues::name_regions(Recorder& recorder) {
  StepView step;
  if (!view_step(body_, bytes_, &step)) return;
  std::set<uint32_t> here;
  for (const RegionRow row : step.regions) here.insert(row.id);
  std::set<Place> unnamed;
  for (uint32_t id = 0; id < recorder.regions.size(); ++id) {
    const RegionDefinition& d = recorder.regions[id];
    if ((!d.written && !here.count(id)) || !named_.insert(id).second) continue;
    if (!stems_.count({d.name, d.place})) unnamed.insert({d.name, d.place});
  }
  for (const Place& place : unnamed) {
    const std::string stem = unique_stem(
        place.first, [this](const std::string& name) { return taken_.count(name) > 0; });
    for (const std::string& field : region_fields(stem)) taken_.insert(field);
    for (const std::string& field : inside_fields(stem)) taken_.insert(field);
    stems_[place] = stem;
    order_.push_back(place);
  }
}

std::vector<perfield_value> StepValues::fields(Recorder& recorder, int rank, int size, bool has_mpi,
                                               bool has_io) {
  std::vector<perfield_value> rows;
  StepView step;
  if (!view_step(body_, bytes_, &step)) return rows;
  const StepBody& b = step.fixed;
  auto add = [&](const std::string& name, double value) { rows.push_back({text(name), value}); };
  has_mpi = has_mpi || counts_mpi(step);
  auto add_mpi = [&](const std::string& name, double value) { add(name, has_mpi ? value : NAN); };

  add("rank", rank);
  const double step_time = double(b.measured_ns) * 1e-9;
  add("step_time_s", step_time);
  add("perfield_time_s", double(b.perfield_ns) * 1e-9);
  add("resident_bytes", double(b.resident_bytes));
  add("cpu_user_time_s", double(b.cpu_user_ns) * 1e-9);
  add("cpu_system_time_s", double(b.cpu_system_ns) * 1e-9);
  add("voluntary_switches", double(b.voluntary_switches));
  add("involuntary_switches", double(b.involuntary_switches));
  add("minor_faults", double(b.minor_faults));
  add("major_faults", double(b.major_faults));
  const IoValues io = io_values(recorder.quantities, step);
  const Watched watched{has_mpi, has_io || io.file_time_s > 0, size == 1};
  has_io = has_io || has_mpi || io.is_seen;
  auto add_io = [&](const char* name, double value) { add(name, has_io ? value : NAN); };
  add_io("io_read_bytes", io.read_bytes);
  add_io("io_write_bytes", io.write_bytes);
  add_io("io_read_count", io.read_count);
  add_io("io_write_count", io.write_count);
  add_io("io_time_s", io.time_s);
  add("pu_id", b.pu < 0 ? NAN : double(b.pu));

  name_regions(recorder);
  std::map<Place, Sums> sums;
  for (const RegionRow row : step.regions) {
    const RegionDefinition& d = recorder.regions[row.id];
    Sums& of = sums[{d.name, d.place}];
    of.time += double(row.inclusive_max_ns) * 1e-9;
    of.count += double(row.count);
    of.self += double(row.self_max_ns) * 1e-9;
  }
  std::map<Place, SecondsInside> seconds;
  const Quantities& quantities = recorder.quantities;
  uint32_t kinds = 0;  // of time inside regions that this process has had
  for (int q = 0; q < quantities.size(); ++q)
    if (recorder.quantities_used >> q & 1) {
      const int kind = kind_inside(quantities[q]);
      if (kind >= 0) kinds |= 1u << kind;
    }
  for (const QuantityRow row : step.quantities) {
    const int kind = row.region == kOfRank ? -1 : kind_inside(quantities[row.quantity]);
    if (kind < 0) continue;
    const RegionDefinition& d = recorder.regions[row.region];
    seconds[{d.name, d.place}].of[kind] += double(row.value) * 1e-9;
  }
  for (const Place& place : order_) {
    const auto names = region_fields(stems_[place]);
    auto found = sums.find(place);
    const Sums of = found != sums.end() ? found->second : Sums{NAN, NAN, NAN};
    add(names[0], of.time);
    add(names[1], of.count);
    add(names[2], of.self);
    const auto inside = inside_fields(stems_[place]);
    for (const auto& [n, value] : values_inside(kinds, of.time, seconds[place], watched))
      add(inside[n], value);
  }
  add_counters(recorder, step, &rows);

  double time_of[kMpiClasses] = {}, mpi_time = 0;
  for (const CallRow row : step.calls) {
    if (row.time_class < kMpiClasses) time_of[row.time_class] += double(row.ns);
  }
  for (int c = 0; c < kMpiClasses; ++c) {
    const double time = time_of[c] * 1e-9;
    mpi_time += time;
    add_mpi(std::string("mpi_") + kMpiClassNames[c] + "_time_s", time);
  }
  add_mpi("mpi_time_s", mpi_time);
  const double computed = std::max(step_time - mpi_time - io.file_time_s, 0.0);
  add("compute_time_s", has_mpi || size == 1 ? computed : NAN);

  struct Messages {
    double count = 0, bytes = 0;
  };
  Messages sent, received, by_call[PERFIELD_CALL_LIMIT];
  std::set<int32_t> peers;
  for (const MessageRow row : step.messages) {
    const auto call = std::min<uint16_t>(row.call, PERFIELD_CALL_LIMIT - 1);
    for (Messages* m : {facts_of(call).sends ? &sent : &received, &by_call[call]}) {
      m->count += double(row.count);
      m->bytes += double(row.bytes);
    }
    if (row.peer >= 0) peers.insert(row.peer);
  }
  auto add_messages = [&](const std::string& name, const Messages& m) {
    add_mpi(name + "_count", m.count);
    add_mpi(name + "_bytes", m.bytes);
  };
  add_messages("sent", sent);
  add_messages("received", received);
  const std::vector<bool> seen = calls_seen(recorder);
  for (uint16_t call = 0; call < PERFIELD_CALL_LIMIT; ++call)
    if (seen[call] && facts_of(call).sends) add_messages(facts_of(call).name, by_call[call]);
  add_mpi("peer_count", double(peers.size()));
  add_of_rank(quantities, step, add);
  return rows;
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
    if (recorder.regions[id].written) row_for(recorder.regions[id]);
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
  std::map<std::pair<int32_t, uint16_t>, size_t> row_of;  // threads count by themselves
  for (const MessageRow row : step.messages) {
    if (!facts_of(row.call).sends) continue;
    auto [found, is_new] = row_of.insert({{row.peer, row.call}, rows.size()});
    if (is_new) rows.push_back({row.peer, facts_of(row.call).name, 0, 0});
    rows[found->second].count += row.count;
    rows[found->second].bytes += row.bytes;
  }
  return rows;
}

}  // namespace perfield
