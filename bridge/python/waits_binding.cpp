// SPDX-License-Identifier: BSD-3-Clause
//
// waits_binding.cpp - wait states, what they cost and the critical path for Python. Calls read the
// caller's arrays while other threads of Python run.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "waits/critical_path.hpp"
#include "waits/delay_costs.hpp"
#include "waits/divided_costs.hpp"
#include "waits/events.hpp"
#include "waits/timeline.hpp"
#include "waits/transfers.hpp"
#include "waits/wait_states.hpp"

namespace py = pybind11;
using perfield::waits::Cost;
using perfield::waits::Covered;
using perfield::waits::Event;
using perfield::waits::OfRegions;
using perfield::waits::OnPath;
using perfield::waits::State;
using perfield::waits::Timeline;
using perfield::waits::Transfer;

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

using States = py::array_t<State, kAsGiven>;
using Costs = py::array_t<Cost, kAsGiven>;

States states_of(const py::array& given, const Events& events) {
  if (!py::dtype::of<State>().equal(given.dtype()))
    throw std::invalid_argument("states have dtype " + std::string(py::str(given.dtype())) +
                                "; expected perfield.analysis.waits.STATE");
  const States states = States::ensure(given);
  const State* const all = states.data();
  for (py::ssize_t i = 0; i < states.size(); ++i)
    if (all[i].event >= events.size() || all[i].cause_event >= events.size())
      throw std::invalid_argument("state " + std::to_string(i) + " names an event beyond the " +
                                  std::to_string(events.size()) +
                                  " events; pass the events that "
                                  "it was found in");
  return states;
}

py::dict delay_costs(const py::array& given, const py::array& given_states, int64_t most_steps) {
  const Events events = events_of(given);
  const States states = states_of(given_states, events);
  perfield::waits::DelayCosts found;
  {
    py::gil_scoped_release released;
    const Timeline timeline(events.data(), size_t(events.size()), states.data(),
                            size_t(states.size()));
    found = perfield::waits::delay_costs(events.data(), states.data(), size_t(states.size()),
                                         timeline, most_steps);
  }
  py::dict result;
  result["costs"] = array_of(found.costs);
  result["unbooked_ns"] = found.unbooked_ns;
  return result;
}

py::dict divide_costs(const py::array& given, const Integers& frame, const Numbers& of_regions_ns,
                      bool by_time) {
  if (!py::dtype::of<Cost>().equal(given.dtype()))
    throw std::invalid_argument("costs have dtype " + std::string(py::str(given.dtype())) +
                                "; expected perfield.analysis.waits.COST");
  const Costs costs = Costs::ensure(given);
  if (of_regions_ns.ndim() != 3 || frame.ndim() != 1 || frame.size() != costs.size())
    throw std::invalid_argument(
        "expected of_regions_ns of shape (n_frames, n_regions, n_ranks), and a frame for each of "
        "the " +
        std::to_string(costs.size()) + " costs");
  const auto n_frames = of_regions_ns.shape(0), n_regions = of_regions_ns.shape(1),
             n_ranks = of_regions_ns.shape(2);
  const Cost* const all = costs.data();
  const int64_t* const at = frame.data();
  for (py::ssize_t i = 0; i < costs.size(); ++i)
    if (at[i] < 0 || at[i] >= n_frames || all[i].rank < 0 || all[i].rank >= n_ranks ||
        all[i].waiting < 0 || all[i].waiting >= n_ranks)
      throw std::invalid_argument("cost " + std::to_string(i) + " is of rank " +
                                  std::to_string(all[i].rank) + " in frame " +
                                  std::to_string(at[i]) + ", which of_regions_ns does not have");
  Numbers divided({n_frames, n_regions, n_ranks}), left({n_frames, n_ranks});
  std::fill_n(divided.mutable_data(), divided.size(), 0.0);
  std::fill_n(left.mutable_data(), left.size(), 0.0);
  {
    const double* const ns = of_regions_ns.data();
    double* const parts = divided.mutable_data();
    double* const rest = left.mutable_data();
    py::gil_scoped_release released;
    for (py::ssize_t i = 0; i < costs.size(); ++i) {
      const auto of_frame = at[i] * n_regions * n_ranks;
      const auto of_rank = [&](int32_t rank) {
        return OfRegions{ns + of_frame + rank, size_t(n_regions), size_t(n_ranks)};
      };
      rest[at[i] * n_ranks + all[i].rank] +=
          all[i].communicating_ns + perfield::waits::divide_cost(all[i], of_rank(all[i].rank),
                                                                 of_rank(all[i].waiting), by_time,
                                                                 parts + of_frame + all[i].rank);
    }
  }
  py::dict result;
  result["of_regions_ns"] = divided;
  result["left_ns"] = left;
  return result;
}

py::array critical_path(const py::array& given, const py::array& given_states) {
  const Events events = events_of(given);
  const States states = states_of(given_states, events);
  std::vector<OnPath> path;
  {
    py::gil_scoped_release released;
    const Timeline timeline(events.data(), size_t(events.size()), states.data(),
                            size_t(states.size()));
    path = perfield::waits::critical_path(events.data(), states.data(), timeline);
  }
  return array_of(path);
}

py::array transfers(const py::array& given) {
  const Events events = events_of(given);
  std::vector<Transfer> found;
  {
    py::gil_scoped_release released;
    found = perfield::waits::find_transfers(events.data(), size_t(events.size()));
  }
  return array_of(found);
}

py::dict replay(const py::array& given, const py::array& given_states, const Numbers& factor,
                bool is_instant) {
  const Events events = events_of(given);
  const States states = states_of(given_states, events);
  std::vector<double> ends, measured, computed;
  {
    py::gil_scoped_release released;
    const Timeline timeline(events.data(), size_t(events.size()), states.data(),
                            size_t(states.size()));
    if (factor.size() < timeline.n_ranks()) {
      py::gil_scoped_acquire acquired;
      throw std::invalid_argument("factor has " + std::to_string(factor.size()) +
                                  " values; expected one for each of the " +
                                  std::to_string(timeline.n_ranks()) + " ranks");
    }
    ends =
        perfield::waits::replay(events.data(), states.data(), timeline, factor.data(), is_instant);
    int64_t first = 0;
    bool any = false;
    for (int32_t rank = 0; rank < timeline.n_ranks(); ++rank) {
      if (timeline.calls(rank).empty()) continue;
      const int64_t begin = timeline.extent(rank).first;
      first = any ? std::min(first, begin) : begin;
      any = true;
    }
    for (int32_t rank = 0; rank < timeline.n_ranks(); ++rank) {
      const auto [begin, end] = timeline.extent(rank);
      const bool is_known = !timeline.calls(rank).empty();
      measured.push_back(is_known ? double(perfield::waits::difference(end, first)) : 0);
      computed.push_back(timeline.spent(rank, begin, end).computing);
    }
    for (std::vector<double>* of_ranks : {&ends, &measured, &computed})
      of_ranks->resize(size_t(factor.size()));  // ranks without events
  }
  py::dict result;
  result["end_ns"] = array_of(ends);
  result["measured_ns"] = array_of(measured);
  result["computing_ns"] = array_of(computed);
  return result;
}

}  // namespace

void bind_waits(py::module_& module) {
  PYBIND11_NUMPY_DTYPE(Event, step, rank, peer, call, kind, flags, channel, number, count, size,
                       most_in_call, bytes, begun, wait_begin, wait_end);
  PYBIND11_NUMPY_DTYPE(State, step, rank, cause, kind, exactness, call, protocol, event,
                       cause_event, time_ns, uncertainty_ns);
  PYBIND11_NUMPY_DTYPE(Covered, step, rank, pad, blocked_ns, exact_ns, bounded_ns, uncertain_ns,
                       gap_ns);
  module.attr("WAIT_EVENT") = py::dtype::of<Event>();
  module.attr("ENOUGH_EXPLAINED") = perfield::waits::kEnoughExplained;
  module.attr("WAIT_STATE") = py::dtype::of<State>();
  module.def("wait_states", &wait_states, py::arg("events"), py::arg("uncertainty_ns"),
             py::arg("clock") = py::none(),
             "The wait states of events (WAIT_EVENT), and how much of the blocked time they "
             "explain; wait_states.hpp says how.\n\n"
             "uncertainty_ns : (n_ranks,) of each rank's clock. clock : (n_ranks,) equal where "
             "ranks share one.");
  PYBIND11_NUMPY_DTYPE(Cost, step, rank, waiting, computing_ns, communicating_ns, longer_ns);
  PYBIND11_NUMPY_DTYPE(OnPath, step, rank, pad, computing_ns, communicating_ns);
  module.attr("WAIT_COST") = py::dtype::of<Cost>();
  module.attr("WAIT_PATH") = py::dtype::of<OnPath>();
  module.def("delay_costs", &delay_costs, py::arg("events"), py::arg("states"),
             py::arg("most_steps") = 64,
             "Where the waiting of exact states began: costs (WAIT_COST), and unbooked_ns, the "
             "waiting without a known cause; delay_costs.hpp says how.");
  module.def("divide_costs", &divide_costs, py::arg("costs"), py::arg("frame"),
             py::arg("of_regions_ns"), py::arg("by_time") = true,
             "Costs by region: of_regions_ns, (n_frames, n_regions, n_ranks), and left_ns, "
             "(n_frames, n_ranks), which no region explains; divided_costs.hpp says how.\n\n"
             "frame : (n_costs,) of each cost. of_regions_ns : time without calls that may wait.");
  module.def("critical_path", &critical_path, py::arg("events"), py::arg("states"),
             "The parts of the critical path (WAIT_PATH) by step and rank.");
  PYBIND11_NUMPY_DTYPE(Transfer, step, rank, partner, call, kind, is_alone, n, bytes, last_bytes,
                       time_ns);
  module.attr("WAIT_TRANSFER") = py::dtype::of<Transfer>();
  module.def("transfers", &transfers, py::arg("events"),
             "How long calls lasted once nobody was late (WAIT_TRANSFER); transfers.hpp says of "
             "which calls.");
  module.def("replay", &replay, py::arg("events"), py::arg("states"), py::arg("factor"),
             py::arg("is_instant") = false,
             "When each rank would end (end_ns) if it computed factor[rank] times as long; with "
             "measured_ns, when it did, and computing_ns, for how long it computed. All are "
             "(n_ranks,) from the begin of the first rank.");
}
