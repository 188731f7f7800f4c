// SPDX-License-Identifier: BSD-3-Clause
//
// counter_fields.hpp - what the fields of the quantities of regions are called. The name of a
// quantity and its unit say it; the counters of counters.def have a meaning beside.
#pragma once

#include <string>
#include <vector>

namespace perfield {

// Of instructions and cycles together.
inline constexpr const char* kPerCycleSuffix = "_instructions_per_cycle";

struct CounterField {
  std::string counter, suffix;  // the field is the region's stem and this
  std::string unit, meaning;
};

// Of every counter in counters.def.
const std::vector<CounterField>& known_counter_fields();

// The end of the fields' names of a quantity of regions, given its name and the unit that it is
// stored in: as far as a field's name can, it keeps its own.
std::string quantity_suffix(const std::string& name, const std::string& stored);

}  // namespace perfield
