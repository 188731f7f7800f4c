// SPDX-License-Identifier: BSD-3-Clause
//
// chance_binding.cpp - the summary's tests against chance, and what explains an imbalance, for
// findings in Python. Each call copies its numbers, so it may let other threads of Python run.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "summary/chance.hpp"
#include "summary/explanation.hpp"

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
    case perfield::Pattern::untested:
      return "untested";
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
  py::list turns;
  for (const perfield::Turn& turn : found.turns)
    turns.append(py::make_tuple(turn.rank, turn.begin, turn.end, turn.n_most));
  return py::dict(
      "pattern"_a = word_of(found.pattern), "ratio"_a = found.ratio, "saved"_a = found.saved,
      "most"_a = found.most, "n_in_turn"_a = found.n_in_turn, "stay"_a = found.stay,
      "chance"_a = found.chance, "is_significant"_a = found.is_significant,
      "in_most_steps"_a = found.in_most_steps, "usual"_a = found.usual, "n_most"_a = found.n_most,
      "visible"_a = found.visible, "turns"_a = turns, "period"_a = found.period);
}

// What differences() gave Python, back again: as much of it as explanations ask for.
perfield::Differences found_of(const std::string& pattern, std::vector<size_t> most, double stay,
                               const perfield::Table& table) {
  perfield::Differences found;
  for (const perfield::Pattern known :
       {perfield::Pattern::fixed, perfield::Pattern::moving, perfield::Pattern::untested})
    if (pattern == word_of(known)) found.pattern = known;
  for (const size_t rank : most)
    if (rank >= table.n_ranks)
      throw std::invalid_argument("most names column " + std::to_string(rank) + "; the table has " +
                                  std::to_string(table.n_ranks));
  if (found.names_ranks() && most.empty())
    throw std::invalid_argument("most is empty; expected columns, as the pattern is " + pattern);
  found.most = std::move(most);
  found.stay = stay;
  return found;
}

void check_shape(const perfield::Table& table, const perfield::Table& compute) {
  if (table.n_ranks != compute.n_ranks || table.n_steps != compute.n_steps)
    throw std::invalid_argument("a cause has the shape (" + std::to_string(table.n_steps) + ", " +
                                std::to_string(table.n_ranks) + "); expected (" +
                                std::to_string(compute.n_steps) + ", " +
                                std::to_string(compute.n_ranks) + "), that of the compute time");
}

using Causes = std::vector<std::optional<Numbers>>;  // none: not known

std::vector<perfield::Table> tables_of(const Causes& causes, const perfield::Table& compute) {
  std::vector<perfield::Table> tables;
  for (const auto& cause : causes) {
    tables.push_back(cause ? table_of(*cause) : perfield::Table());
    if (cause) check_shape(tables.back(), compute);
  }
  return tables;
}

py::object column(size_t number) {
  return number == perfield::kNone ? py::object(py::none()) : py::int_(number);
}

py::tuple explanation(const Numbers& compute, const Causes& causes, const std::string& pattern,
                      std::vector<size_t> most, double stay) {
  const perfield::Table time = table_of(compute);
  const std::vector<perfield::Table> tables = tables_of(causes, time);
  const perfield::Differences found = found_of(pattern, std::move(most), stay, time);
  perfield::Explanation explained;
  {
    py::gil_scoped_release released;  // the tables are copies
    explained = perfield::explanation_of(time, found, tables);
  }
  return py::make_tuple(column(explained.cause), explained.imbalance);
}

py::object follow_counts(const Numbers& compute, const Causes& causes) {
  const perfield::Table time = table_of(compute);
  const std::vector<perfield::Table> tables = tables_of(causes, time);
  perfield::Differences found;
  perfield::Explanation followed;
  {
    py::gil_scoped_release released;  // the tables are copies
    followed = perfield::follow_counts(time, tables, &found);
  }
  using namespace py::literals;
  if (followed.cause == perfield::kNone) return py::none();
  return py::dict("cause"_a = followed.cause, "imbalance"_a = followed.imbalance,
                  "most"_a = found.most, "n_most"_a = found.n_most, "saved"_a = found.saved,
                  "chance"_a = found.chance);
}

py::object cost_of_cells(const Numbers& compute, const Numbers& cells, std::vector<size_t> most) {
  const perfield::Table time = table_of(compute), counts = table_of(cells);
  check_shape(counts, time);
  const perfield::Differences found = found_of("fixed", std::move(most), 1, time);
  perfield::CostOfCells cost;
  {
    py::gil_scoped_release released;  // the tables are copies
    cost = perfield::cost_of_cells(time, found, counts);
  }
  using namespace py::literals;
  if (!cost.is_known) return py::none();
  return py::dict("are_alike"_a = cost.are_alike, "may_explain"_a = cost.may_explain,
                  "alone"_a = cost.alone, "relative"_a = cost.relative,
                  "costs_more"_a = cost.costs_more);
}

std::vector<size_t> regions_to_report(const std::vector<double>& saved,
                                      const std::vector<double>& share, double elapsed,
                                      double most) {
  if (saved.size() != share.size())
    throw std::invalid_argument("saved has " + std::to_string(saved.size()) +
                                " regions and share has " + std::to_string(share.size()));
  return perfield::regions_to_report(saved, share, elapsed, most);
}

py::object rank_waited_for(const Numbers& waited, double named, double waiting) {
  const perfield::Table table = table_of(waited);
  size_t rank = perfield::kNone;
  {
    py::gil_scoped_release released;  // the table is a copy
    rank = perfield::rank_waited_for(table, named, waiting);
  }
  return column(rank);
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
  module.def(
      "explanation", &explanation, py::arg("compute"), py::arg("causes"), py::arg("pattern"),
      py::arg("most"), py::arg("stay"),
      "The number of the first cause that explains an imbalance, or None, and the imbalance that "
      "it makes.\n\ncompute : (n_steps, n_ranks). causes : tables of that shape; None: not known. "
      "pattern, most, stay : what differences(compute) found. Raises ValueError for other shapes.");
  module.def(
      "follow_counts", &follow_counts, py::arg("compute"), py::arg("causes"),
      "The first cause that ranks follow where times alone name nobody, or None; explanation.hpp "
      "says what each entry is.\n\ncompute : (n_steps, n_ranks). causes : tables of that shape; "
      "None: not known. Raises ValueError for other shapes.");
  module.def(
      "cost_of_cells", &cost_of_cells, py::arg("compute"), py::arg("cells"), py::arg("most"),
      "What the cells of the slowest ranks cost, or None; explanation.hpp says what each entry "
      "is.\n\ncompute, cells : (n_steps, n_ranks). most : their columns.");
  module.def("regions_to_report", &regions_to_report, py::arg("saved"), py::arg("share"),
             py::arg("elapsed"), py::arg("most"),
             "Numbers of the regions worth reporting, by what balancing them saves.");
  module.def(
      "rank_without_work",
      [](const Numbers& compute) { return column(perfield::rank_without_work(table_of(compute))); },
      py::arg("compute"),
      "The column of the one rank that computes next to nothing, or None; explanation.hpp says "
      "how little.\n\ncompute : (n_steps, n_ranks).");
  module.def("rank_waited_for", &rank_waited_for, py::arg("waited"), py::arg("named"),
             py::arg("waiting"),
             "The column of the one rank that others wait for beyond chance, or None.\n\n"
             "waited : (n_steps, n_ranks). named : waiting that names a rank. waiting : all.");
}
