// SPDX-License-Identifier: BSD-3-Clause
//
// values_counters.cpp - the counters of a step's regions as fields, by the names and the arithmetic
// of perfield/run/counter_values.py, so that both give the same numbers to the last bit.
#include <cmath>

#include "fields/counter_fields.hpp"
#include "format/decode.hpp"
#include "session/values.hpp"

namespace perfield {

void StepValues::add_counters(Recorder& recorder, const StepView& step,
                              std::vector<perfield_value>* rows) {
  const int n_counters = recorder.counters.size();
  if (!n_counters) return;
  std::vector<CounterField> fields;
  for (const std::string& name : recorder.counters.names()) fields.push_back(counter_field(name));
  std::map<std::string, size_t> in_order;  // of names
  for (size_t n = 0; n < fields.size(); ++n) in_order.emplace(fields[n].counter, n);
  std::vector<size_t> shown;  // of those whose fields would be called alike the first
  std::set<std::string> suffixes;
  for (const auto& [name, n] : in_order)
    if (suffixes.insert(fields[n].suffix).second) shown.push_back(n);
  const int instructions = recorder.counters.find("instructions");
  const int cycles = recorder.counters.find("cycles");

  std::set<Place> entered;
  for (const RegionRow row : step.regions) {
    const RegionDefinition& d = recorder.regions[row.id];
    entered.insert({d.name, d.place});
  }
  std::map<Place, std::vector<double>> sums;
  for (const InsideRow row : step.inside) {
    const int counter = int(row.what) - kInsideCounter;
    if (counter < 0 || counter >= n_counters) continue;
    const RegionDefinition& d = recorder.regions[row.region];
    std::vector<double>& of = sums[{d.name, d.place}];
    of.resize(size_t(n_counters));
    of[size_t(counter)] += double(row.value) * fields[size_t(counter)].factor;
  }
  const auto add = [&](const std::string& name, double value) {
    if (!taken_.count(name)) rows->push_back({text(name), value});  // a region's own go before
  };
  for (const Place& place : order_) {
    const std::string& stem = stems_[place];
    std::vector<double> of(size_t(n_counters), entered.count(place) ? 0.0 : NAN);
    if (entered.count(place) && sums.count(place)) of = sums[place];
    for (const size_t n : shown) add(stem + fields[n].suffix, of[n]);
    if (instructions < 0 || cycles < 0) continue;
    const double in = of[size_t(cycles)];
    add(stem + kPerCycleSuffix, in > 0 ? of[size_t(instructions)] / in : NAN);
  }
}

}  // namespace perfield
