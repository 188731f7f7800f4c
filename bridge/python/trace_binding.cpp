// SPDX-License-Identifier: BSD-3-Clause
//
// trace_binding.cpp - what a reader of traces takes from the measured side: which kind of call a
// function of MPI is, and which regions the configuration chooses under which names.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "recorder/calls.h"
#include "recorder/config_selection.hpp"
#include "recorder/function_names.hpp"

namespace py = pybind11;

namespace {

py::dict mpi_functions() {
  py::dict functions;
#define PERFIELD_CALL_KIND(name, call) functions[#name] = static_cast<int>(PERFIELD_CALL_##call);
#include "call_kinds.def"
#undef PERFIELD_CALL_KIND
  return functions;
}

std::string region_of(const std::vector<std::string>& names,
                      const std::vector<std::string>& regions, const std::string& step_region) {
  return perfield::Selection(regions, step_region).region_of(names);
}

}  // namespace

void bind_traces(py::module_& module) {
  module.def("mpi_functions", &mpi_functions,
             "Name of each function of MPI that is counted -> number of the call it counts as.");
  module.def("function_names", &perfield::function_names, py::arg("symbol"),
             "All names of a compiled function in the configuration, shortest first.");
  module.def(
      "region_of", &region_of, py::arg("names"), py::arg("regions"), py::arg("step_region"),
      "The region that a function of these names is, by the configuration's keys; '' if none.");
}
