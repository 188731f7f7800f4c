// SPDX-License-Identifier: BSD-3-Clause
//
// counter_fields.hpp - what the fields of a counter are called, and in which unit they are. Beside
// the counters of counters.def there are raw ones and those that other sources hand over, which
// keep their names as far as a field's name can.
#pragma once

#include <string>
#include <vector>

namespace perfield {

// Of instructions and cycles together.
inline constexpr const char* kPerCycleSuffix = "_instructions_per_cycle";

struct CounterField {
  std::string counter, suffix;  // the field is the region's stem and this
  double factor;                // from what is counted to the unit
  std::string unit, meaning;
};

// Of every counter in counters.def.
const std::vector<CounterField>& known_counter_fields();

// Of any counter.
CounterField counter_field(const std::string& counter);

}  // namespace perfield
