// SPDX-License-Identifier: BSD-3-Clause
//
// values_counters.cpp - the quantities of a step's regions that are fields by themselves, by the
// names and the arithmetic of perfield/run/counter_values.py, so that both give the same numbers to
// the last bit.
#include <cmath>

#include "fields/counter_fields.hpp"
#include "format/decode.hpp"
#include "format/known_quantities.hpp"
#include "session/values.hpp"

namespace perfield {

void StepValues::add_counters(Recorder& recorder, const StepView& step,
                              std::vector<perfield_value>* rows) {
  const Quantities& quantities = recorder.quantities;
  struct Shown {
    int number;
    std::string suffix;
    double factor;
    bool is_state;
  };
  std::map<std::string, Shown> in_order;  // of names
  for (int q = 0; q < quantities.size(); ++q) {
    const Quantity& of = quantities[q];
    if (of.scope == PERFIELD_PER_REGION && known_quantity(of.name, false) == KnownQuantity::none)
      in_order[of.name] = {q, quantity_suffix(of.name, of.unit->stored), of.unit->factor,
                           of.is_state()};
  }
  if (in_order.empty()) return;
  std::vector<Shown> shown;  // of those whose fields would be called alike the first
  std::set<std::string> suffixes;
  for (const auto& [name, of] : in_order)
    if (suffixes.insert(of.suffix).second) shown.push_back(of);
  const int instructions = quantities.find("instructions", PERFIELD_PER_REGION);
  const int cycles = quantities.find("cycles", PERFIELD_PER_REGION);

  std::set<Place> entered;
  for (const RegionRow row : step.regions) {
    const RegionDefinition& d = recorder.regions[row.id];
    entered.insert({d.name, d.place});
  }
  std::map<Place, std::map<int, double>> sums;
  for (const QuantityRow row : step.quantities) {
    if (row.region == kOfRank) continue;
    const RegionDefinition& d = recorder.regions[row.region];
    sums[{d.name, d.place}][row.quantity] +=
        double(row.value) * quantities[row.quantity].unit->factor;
  }
  const auto add = [&](const std::string& name, double value) {
    if (!taken_.count(name)) rows->push_back({text(name), value});  // a region's own go before
  };
  for (const Place& place : order_) {
    const std::string& stem = stems_[place];
    const std::map<int, double>& own = sums[place];
    const auto value_of = [&](int number, bool is_state) {
      const auto found = own.find(number);
      if (!entered.count(place)) return double(NAN);
      return found != own.end() ? found->second : is_state ? NAN : 0.0;
    };
    for (const Shown& of : shown) add(stem + of.suffix, value_of(of.number, of.is_state));
    if (instructions < 0 || cycles < 0) continue;
    const double in = value_of(cycles, false);
    add(stem + kPerCycleSuffix, in > 0 ? value_of(instructions, false) / in : NAN);
  }
}

}  // namespace perfield
