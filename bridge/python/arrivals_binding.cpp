// SPDX-License-Identifier: BSD-3-Clause
//
// arrivals_binding.cpp - makes events of the rows of step entries, for analyses of waiting in
// Python: exact where a row counts one message or operation, else means. Reads files without the
// GIL.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <tuple>

#include "python/reading.hpp"
#include "waits/arrivals.hpp"

namespace py = pybind11;
using perfield::waits::Events;

namespace {

using Wholes = py::array_t<int64_t, py::array::c_style | py::array::forcecast>;
using Reals = py::array_t<double, py::array::c_style | py::array::forcecast>;

// A file, and of each entry to be read what tells of it.
using OfFile = std::tuple<std::string, Offsets, Offsets, Wholes, Wholes, Reals, Reals>;

// Makes room for an entry's events, and for as many of each entry behind it, at most 72 MB.
void make_room(size_t n_events, size_t n_behind, Events* events) {
  constexpr size_t kMost = size_t{1} << 20;
  const size_t n_before = events->size();
  if (events->capacity() - n_before >= n_events) return;
  const size_t all = n_events * std::min(kMost, n_behind + 1);
  events->reserve(n_before + std::max({n_before, n_events, std::min(kMost, all)}));
}

void read_file(const OfFile& of_file, Events* events) {
  const auto& [path, offsets, references, steps, ranks, shift_ns, drift] = of_file;
  const auto n = size_t(offsets.size());
  const int64_t *step = steps.data(), *rank = ranks.data();
  const double *shift = shift_ns.data(), *drifts = drift.data();
  read_steps_at(path, offsets.data(), references.data(), n,
                [&](size_t at, const unsigned char* body, size_t bytes) {
                  perfield::StepView view{};
                  if (!body || !perfield::view_step(body, bytes, &view)) return;
                  make_room(view.messages.size() + view.collectives.size(), n - at - 1, events);
                  perfield::waits::add_rows(view, step[at], int32_t(rank[at]),
                                            {shift[at], drifts[at]}, events);
                });
}

py::array read_arrivals(const std::vector<OfFile>& files) {
  for (const auto& [path, offsets, references, steps, ranks, shift_ns, drift] : files) {
    const py::ssize_t n = offsets.size();
    if (references.size() != n || steps.size() != n || ranks.size() != n || shift_ns.size() != n ||
        drift.size() != n)
      throw py::value_error("offsets and what belongs to each entry differ in length");
  }
  Events events;
  {
    py::gil_scoped_release released;  // the arrays outlive the call
    for (const OfFile& of_file : files) read_file(of_file, &events);
  }
  return to_array(std::move(events));
}

}  // namespace

// After bind_waits, which makes Event known to NumPy.
void bind_arrivals(py::module_& module) {
  module.def("read_arrivals", &read_arrivals, py::arg("files"),
             "The rows of messages and collective operations of step entries as events "
             "(WAIT_EVENT), in\n"
             "the order of the entries. Rows without stamps and messages to oneself are left "
             "out.\n\n"
             "files : of each (path, offsets, references, steps, ranks, shift_ns, drift). offsets, "
             "references :\n"
             "as for read_steps. steps, ranks : of each entry. shift_ns, drift : of each entry's "
             "rank: a stamp t\n"
             "is t + shift_ns + drift * t on the common clock; NaN: unknown.");
}
