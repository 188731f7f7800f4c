// SPDX-License-Identifier: BSD-3-Clause
//
// trace_binding.cpp - what a reader of traces takes from the measured side: which kind of call a
// function of MPI is, and which regions the configuration chooses under which names.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "configuration/function_names.hpp"
#include "configuration/selection.hpp"
#include "format/calls.h"

namespace py = pybind11;

namespace {

py::dict mpi_functions() {
  py::dict functions;
#define PERFIELD_CALL_KIND(name, call) functions[#name] = static_cast<int>(PERFIELD_CALL_##call);
#include "call_kinds.def"
#undef PERFIELD_CALL_KIND
  return functions;
}

std::string region_of(const std::string& name, const std::string& symbol,
                      const std::vector<std::string>& regions, const std::string& step_region) {
  const perfield::Selection selection(regions, step_region);
  const std::string chosen = selection.region_of(perfield::function_names(name, symbol));
  const std::string readable = perfield::readable_name(name, symbol);
  return !chosen.empty() || !selection.measures(readable) ? chosen : readable;
}

}  // namespace

void bind_traces(py::module_& module) {
  module.def("mpi_functions", &mpi_functions,
             "Name of each function of MPI that is counted -> number of the call it counts as.");
  module.def("region_of", &region_of, py::arg("name"), py::arg("symbol"), py::arg("regions"),
             py::arg("step_region"),
             "The region that a compiled function is, by the configuration's keys; '' if none.\n\n"
             "name: as it is read; symbol: as in the program file, or ''. A lone '*' chooses all.");
}
