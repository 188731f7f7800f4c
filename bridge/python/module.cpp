// SPDX-License-Identifier: BSD-3-Clause
//
// module.cpp - the module perfield._bridge: the C++ of the measured side for Python, so that
// layout, configuration and summary are each stated once.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "format/calls.h"
#include "summary/summary.hpp"
#include "summary/totals.hpp"

namespace py = pybind11;

void bind_reading(py::module_& module);
void bind_columns(py::module_& module);
void bind_config(py::module_& module);
void bind_chance(py::module_& module);
void bind_constant(py::module_& module);
void bind_traces(py::module_& module);
void bind_regimes(py::module_& module);
void bind_waits(py::module_& module);
void bind_arrivals(py::module_& module);
void bind_signals(py::module_& module);
void bind_steps(py::module_& module);

namespace {

py::list all_calls() {
  py::list calls;
#define PERFIELD_CALL(number, name, time_class, message) \
  calls.append(py::make_tuple(number, #name, #time_class, #message));
#include "format/calls.def"
#undef PERFIELD_CALL
  return calls;
}

py::list texts_of(const std::vector<std::string>& lines) {
  py::list texts;  // a damaged name may be no UTF-8
  for (const std::string& line : lines)
    texts.append(py::reinterpret_steal<py::str>(
        PyUnicode_DecodeUTF8(line.data(), py::ssize_t(line.size()), "replace")));
  return texts;
}

perfield::Summary summary_of(const std::string& run_path, uint64_t max_bytes) {
  py::gil_scoped_release released;  // reads files only
  return perfield::summary_of(run_path, max_bytes);
}

}  // namespace

PYBIND11_MODULE(_bridge, module) {
  module.doc() = "The compiled part of perfield: reads streams, the configuration and the summary.";
  module.attr("version") = PERFIELD_VERSION;
  bind_reading(module);
  bind_columns(module);
  bind_config(module);
  bind_constant(module);
  bind_traces(module);
  bind_chance(module);
  bind_regimes(module);
  bind_waits(module);
  bind_arrivals(module);
  bind_signals(module);
  bind_steps(module);
  module.def("calls", &all_calls,
             "Every kind of MPI call as (number, name, class of time, message).\n\n"
             "message is 'sends', 'fetches' or 'none'.");
  module.def("largest_world", &perfield::largest_world, py::arg("n_ranks"),
             "The largest size of the world that is believed where so many ranks left an entry.");
  module.attr("FEWEST_WINDOWS") = perfield::kFewestWindows;  // that take the place of steps
  module.attr("WINDOW_S") = double(perfield::kWindow_ns) * 1e-9;
  module.attr("MOST_UNSTATED") = perfield::kMostUnstated;  // ranks where no entry states the size
  module.def(
      "summary_lines",
      [](const std::string& run_path, uint64_t max_bytes) {
        return texts_of(summary_of(run_path, max_bytes).lines);
      },
      py::arg("run_path"), py::arg("max_bytes") = perfield::kClosingBytes,
      "The lines that sum up a run, finished or not.\n\n"
      "max_bytes : how much of the streams is read, from their end.");
  module.def(
      "summary",
      [](const std::string& run_path, uint64_t max_bytes) {
        const perfield::Summary found = summary_of(run_path, max_bytes);
        py::list parts;
        for (const perfield::RunPart& part : found.parts)
          parts.append(py::make_tuple(part.name, part.ns / 1e9, part.share,
                                      perfield::waiting_in_words(part)));
        return py::make_tuple(texts_of(found.lines), parts);
      },
      py::arg("run_path"), py::arg("max_bytes") = perfield::kClosingBytes,
      "The lines that sum up a run, and its setup, steps and teardown.\n\n"
      "Of each of these: its name, seconds, share of the run, and who waits there, in words. None "
      "where the run has no steps, or its begin was not read.");
}
