// SPDX-License-Identifier: BSD-3-Clause
//
// counter_fields.cpp - see counter_fields.hpp.
#include "fields/counter_fields.hpp"

#include <algorithm>

#include "configuration/kernel_events.hpp"
#include "fields/field_names.hpp"
#include "format/units.hpp"

namespace perfield {
namespace {

CounterField described(const std::string& counter) {
  const CounterAbout about = about_counter(counter);
  const Unit* unit = find_unit(about.unit);
  return {counter, quantity_suffix(about.quantity, unit->stored), unit->shown, about.meaning};
}

}  // namespace

const std::vector<CounterField>& known_counter_fields() {
  static const std::vector<CounterField> all = {
#define PERFIELD_COUNTER(name, type, number, modes, unit, meaning) described(#name),
#include "configuration/counters.def"
#undef PERFIELD_COUNTER
  };
  return all;
}

std::string quantity_suffix(const std::string& name, const std::string& stored) {
  const Unit* unit = find_unit(stored);
  const std::string suffix = "_" + identifier(name) + (unit ? unit->suffix : "");
  const auto is_it = [&](const char* taken) { return suffix == taken; };
  const bool clashes = std::any_of(kRegionSuffixes.begin(), kRegionSuffixes.end(), is_it) ||
                       std::any_of(kInsideSuffixes.begin(), kInsideSuffixes.end(), is_it) ||
                       is_it(kPerCycleSuffix);
  return clashes ? "_counter" + suffix : suffix;
}

}  // namespace perfield
