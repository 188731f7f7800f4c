// SPDX-License-Identifier: BSD-3-Clause
//
// counter_binding.cpp - for Python: what counters are called as fields, and how the stream numbers
// them.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fields/counter_fields.hpp"
#include "format/entry.hpp"

namespace py = pybind11;

void bind_counters(py::module_& module) {
  module.attr("first_counter") = perfield::kInsideCounter;
  module.attr("per_cycle_suffix") = perfield::kPerCycleSuffix;
  module.def(
      "counter_field",
      [](const std::string& counter) {
        const perfield::CounterField field = perfield::counter_field(counter);
        return py::make_tuple(field.suffix, field.factor, field.unit, field.meaning);
      },
      py::arg("counter"),
      "(suffix of a region's field, factor to its unit, unit, meaning) of a counter of any name.");
  module.def(
      "known_counters",
      [] {
        std::vector<std::string> names;
        for (const perfield::CounterField& known : perfield::known_counter_fields())
          names.push_back(known.counter);
        return names;
      },
      "Names of the counters that the configuration's `counters` takes, raw ones aside.");
}
