// SPDX-License-Identifier: BSD-3-Clause
//
// chance_binding.cpp - the closing lines' tests against chance, for findings in Python. Each call
// copies its numbers, so it may let other threads of Python run.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cmath>
#include <stdexcept>

#include "summary/chance.hpp"

namespace py = pybind11;

namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

perfield::Table table_of(const Numbers& values) {
  if (values.ndim() != 2)
    throw std::invalid_argument("values have " + std::to_string(values.ndim()) +
                                " dimensions; expected (n_steps, n_ranks)");
  perfield::Table table(size_t(values.shape(1)), size_t(values.shape(0)));
  std::copy(values.data(), values.data() + values.size(), table.values.begin());
  for (double& value : table.values)
    if (std::isnan(value)) value = 0;
  return table;
}

const char* word_of(perfield::Pattern pattern) {
  switch (pattern) {
    case perfield::Pattern::fixed:
      return "fixed";
    case perfield::Pattern::moving:
      return "moving";
    case perfield::Pattern::chance:
      break;
  }
  return "chance";
}

py::dict differences(const Numbers& values) {
  const perfield::Table table = table_of(values);
  perfield::Differences found;
  {
    py::gil_scoped_release released;  // the table is a copy
    if (table.n_ranks && table.n_steps) found = perfield::differences(table);
  }
  using namespace py::literals;
  return py::dict("pattern"_a = word_of(found.pattern), "ratio"_a = found.ratio,
                  "saved"_a = found.saved, "most"_a = found.most, "n_in_turn"_a = found.n_in_turn,
                  "stay"_a = found.stay, "is_significant"_a = found.is_significant);
}

}  // namespace

void bind_chance(py::module_& module) {
  module.def(
      "differences", &differences, py::arg("values"),
      "Whether ranks differ by more than chance, and how; chance.hpp says what each entry is.\n\n"
      "values : (n_steps, n_ranks), NaN counts as 0. Raises ValueError for other shapes.");
  module.def("chance_of_mean", &perfield::chance_of_mean, py::arg("numbers"),
             py::arg("least_variance") = 0.0,
             "The chance that the mean of numbers, one per step, is this far above 0.");
  module.def(
      "mean_error",
      [](const std::vector<double>& numbers, double least_variance) {
        const perfield::MeanError found = perfield::mean_error(numbers, least_variance);
        return py::make_tuple(found.mean, found.error, found.degrees_of_freedom);
      },
      py::arg("numbers"), py::arg("least_variance") = 0.0,
      "The mean of numbers, one per step, its standard error, and the degrees of freedom of that.");
  module.def("chance_of_t", &perfield::chance_of_t, py::arg("t"), py::arg("degrees_of_freedom"),
             "The chance of a Student's t this large, or larger.");
  module.def("chance_of_hits", &perfield::chance_of_hits, py::arg("hits"), py::arg("n"),
             py::arg("probability"),
             "The chance of at least this many hits in n independent tries.");
}
