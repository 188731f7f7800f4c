// SPDX-License-Identifier: BSD-3-Clause
//
// waits_binding.cpp - wait states, what they cost and the critical path for Python. Calls read the
// caller's arrays while other threads of Python run.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "waits/events.hpp"
#include "waits/wait_states.hpp"

namespace py = pybind11;
using perfield::waits::Covered;
using perfield::waits::Event;
using perfield::waits::State;

namespace {

constexpr int kAsGiven = py::array::c_style | py::array::forcecast;
using Events = py::array_t<Event, kAsGiven>;
using Numbers = py::array_t<double, kAsGiven>;
using Integers = py::array_t<int64_t, kAsGiven>;

template <typename T>
py::array_t<T> array_of(const std::vector<T>& list) {
  return py::array_t<T>(py::ssize_t(list.size()), list.data());
}

// Other layouts are refused: numpy would cast them by position.
Events events_of(const py::array& given) {
  if (!py::dtype::of<Event>().equal(given.dtype()))
    throw std::invalid_argument("events have dtype " + std::string(py::str(given.dtype())) +
                                "; expected perfield.analysis.waits.EVENT");
  return Events::ensure(given);
}

py::dict wait_states(const py::array& given, const Numbers& uncertainty_ns,
                     const py::object& clock) {
  const Events events = events_of(given);
  if (events.ndim() != 1 || uncertainty_ns.ndim() != 1)
    throw std::invalid_argument("events and uncertainty_ns need one dimension each, not " +
                                std::to_string(events.ndim()) + " and " +
                                std::to_string(uncertainty_ns.ndim()));
  const Integers shared = clock.is_none() ? Integers() : Integers::ensure(clock);
  if (!clock.is_none() && (!shared || shared.ndim() != 1 || shared.size() != uncertainty_ns.size()))
    throw std::invalid_argument("clock needs one integer for each of the " +
                                std::to_string(uncertainty_ns.size()) + " ranks of uncertainty_ns");
  const perfield::waits::Clocks clocks{size_t(uncertainty_ns.size()), uncertainty_ns.data(),
                                       clock.is_none() ? nullptr : shared.data()};
  perfield::waits::WaitStates found;
  {
    py::gil_scoped_release released;  // the arrays outlive the call
    found = perfield::waits::find_wait_states(events.data(), size_t(events.size()), clocks);
  }
  py::dict result;
  result["states"] = array_of(found.states);
  result["covered"] = array_of(found.covered);
  return result;
}

}  // namespace

void bind_waits(py::module_& module) {
  PYBIND11_NUMPY_DTYPE(Event, step, rank, peer, call, kind, flags, channel, number, count, size,
                       pad, bytes, begun, wait_begin, wait_end);
  PYBIND11_NUMPY_DTYPE(State, step, rank, cause, kind, exactness, call, protocol, event,
                       cause_event, time_ns, uncertainty_ns);
  PYBIND11_NUMPY_DTYPE(Covered, step, rank, pad, blocked_ns, exact_ns, bounded_ns, uncertain_ns,
                       gap_ns);
  module.attr("WAIT_EVENT") = py::dtype::of<Event>();
  module.attr("WAIT_STATE") = py::dtype::of<State>();
  module.def("wait_states", &wait_states, py::arg("events"), py::arg("uncertainty_ns"),
             py::arg("clock") = py::none(),
             "The wait states of events (WAIT_EVENT), and how much of the blocked time they "
             "explain; wait_states.hpp says how.\n\n"
             "uncertainty_ns : (n_ranks,) of each rank's clock. clock : (n_ranks,) equal where "
             "ranks share one.");
}
