// SPDX-License-Identifier: BSD-3-Clause
//
// counter_fields.cpp - see counter_fields.hpp.
#include "fields/counter_fields.hpp"

#include <algorithm>

#include "fields/field_names.hpp"

namespace perfield {
namespace {

CounterField described(const std::string& counter, const std::string& unit,
                       const std::string& meaning) {
  const bool is_time = unit == "s";  // the kernel counts it in nanoseconds
  return {counter, "_" + counter + (is_time ? "_time_s" : ""), is_time ? 1e-9 : 1.0, unit, meaning};
}

}  // namespace

const std::vector<CounterField>& known_counter_fields() {
  static const std::vector<CounterField> all = {
#define PERFIELD_COUNTER(name, type, number, modes, unit, meaning) described(#name, unit, meaning),
#include "configuration/counters.def"
#undef PERFIELD_COUNTER
  };
  return all;
}

CounterField counter_field(const std::string& counter) {
  for (const CounterField& known : known_counter_fields())
    if (known.counter == counter) return known;
  CounterField field = described(counter, "1", "what the counter " + counter + " counted");
  field.suffix = "_" + identifier(counter);
  const auto is_it = [&](const char* suffix) { return field.suffix == suffix; };
  if (std::any_of(kRegionSuffixes.begin(), kRegionSuffixes.end(), is_it) ||
      std::any_of(kInsideSuffixes.begin(), kInsideSuffixes.end(), is_it) || is_it(kPerCycleSuffix))
    field.suffix = "_counter" + field.suffix;
  return field;
}

}  // namespace perfield
