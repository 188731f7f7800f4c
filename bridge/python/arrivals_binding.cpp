// SPDX-License-Identifier: BSD-3-Clause
//
// arrivals_binding.cpp - makes events of the rows of step entries, for analyses of waiting in
// Python: exact where a row counts one message or operation, else means. Reads files without the
// GIL.
#include <pybind11/pybind11.h>

#include "python/reading.hpp"
#include "waits/arrivals.hpp"

namespace py = pybind11;
using perfield::waits::Event;

namespace {

using Wholes = py::array_t<int64_t, py::array::c_style | py::array::forcecast>;
using Reals = py::array_t<double, py::array::c_style | py::array::forcecast>;

py::array read_arrivals(const std::string& path, const Offsets& offsets, const Offsets& references,
                        const Wholes& steps, const Wholes& ranks, const Reals& shift_ns,
                        const Reals& drift) {
  const py::ssize_t n = offsets.size();
  if (references.size() != n || steps.size() != n || ranks.size() != n || shift_ns.size() != n ||
      drift.size() != n)
    throw py::value_error("offsets and what belongs to each entry differ in length");
  std::vector<Event> events;
  {
    const uint64_t *wanted = offsets.data(), *full = references.data();
    const int64_t *step = steps.data(), *rank = ranks.data();
    const double *shift = shift_ns.data(), *drifts = drift.data();
    py::gil_scoped_release released;  // the arrays outlive the call
    read_steps_at(path, wanted, full, size_t(n),
                  [&](size_t at, const unsigned char* body, size_t bytes) {
                    perfield::StepView view{};
                    if (!body || !perfield::view_step(body, bytes, &view)) return;
                    perfield::waits::add_rows(view, step[at], int32_t(rank[at]),
                                              {shift[at], drifts[at]}, &events);
                  });
  }
  return to_array(std::move(events));
}

}  // namespace

// After bind_waits, which makes Event known to NumPy.
void bind_arrivals(py::module_& module) {
  module.def("read_arrivals", &read_arrivals, py::arg("path"), py::arg("offsets"),
             py::arg("references"), py::arg("steps"), py::arg("ranks"), py::arg("shift_ns"),
             py::arg("drift"),
             "The rows of messages and collective operations of step entries as events "
             "(WAIT_EVENT), in\n"
             "the order of the entries. Rows without stamps and messages to oneself are left "
             "out.\n\n"
             "offsets, references : as for read_steps. steps, ranks : of each entry. shift_ns, "
             "drift : of\n"
             "each entry's rank: a stamp t is t + shift_ns + drift * t on the common clock; NaN: "
             "unknown.");
}
