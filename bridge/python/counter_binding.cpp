// SPDX-License-Identifier: BSD-3-Clause
//
// counter_binding.cpp - for Python: what quantities are called as fields, and in which units.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stdexcept>

#include "fields/counter_fields.hpp"
#include "format/known_quantities.hpp"
#include "format/units.hpp"

namespace py = pybind11;

void bind_counters(py::module_& module) {
  module.attr("per_cycle_suffix") = perfield::kPerCycleSuffix;
  module.attr("mpi_time_names") = std::vector<std::string>(std::begin(perfield::kMpiTimeNames),
                                                           std::end(perfield::kMpiTimeNames));
  module.attr("file_names") =
      std::vector<std::string>(std::begin(perfield::kFileNames), std::end(perfield::kFileNames));
  module.def(
      "unit",
      [](const std::string& stored) {
        const perfield::Unit* unit = perfield::find_unit(stored);
        if (!unit) return py::tuple(py::make_tuple(stored, 1.0, ""));
        return py::tuple(py::make_tuple(unit->shown, unit->factor, unit->suffix));
      },
      py::arg("stored"),
      "(unit of the field, factor to it, end of the field's name) of a quantity that is stored in "
      "a "
      "unit.");
  module.def("quantity_suffix", &perfield::quantity_suffix, py::arg("name"), py::arg("stored"),
             "What the fields of a region's quantity end with, from its name and stored unit.");
  module.def(
      "known_counters",
      [] {
        py::list all;
        for (const perfield::CounterField& known : perfield::known_counter_fields())
          all.append(py::make_tuple(known.counter, known.suffix, known.unit, known.meaning));
        return all;
      },
      "(name, suffix of a region's field, unit, meaning) of the counters that the configuration's "
      "`counters` takes, raw ones aside.");
}
