// SPDX-License-Identifier: BSD-3-Clause
//
// arrivals_binding.cpp - makes events of the rows of step entries, for analyses of waiting in
// Python: exact where a row counts one message or operation, else means. Reads files without the
// GIL.
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "format/calls.h"
#include "python/reading.hpp"
#include "waits/events.hpp"

namespace py = pybind11;
using perfield::waits::Event;

namespace {

constexpr int32_t kCollectively = -1, kUnknownPeer = -3;
using Wholes = py::array_t<int64_t, py::array::c_style | py::array::forcecast>;
using Reals = py::array_t<double, py::array::c_style | py::array::forcecast>;

// How stamps of one rank become times on the run's common clock.
struct RankClock {
  double shift_ns, drift;

  int64_t common(int64_t stamp) const {
    if (std::isnan(shift_ns)) return perfield::waits::kUnknown;
    return stamp + int64_t(shift_ns) + (drift == 0 ? 0 : std::llrint(double(stamp) * drift));
  }
};

// The stamp that a sum of `count` stamps stands for. Sums wrap at 2^64; the distances of stamps
// to the begin of their step do not.
int64_t mean(uint64_t sum, uint64_t count, uint64_t begin) {
  if (count == 1) return int64_t(sum);
  return int64_t(begin + uint64_t(int64_t(sum - count * begin) / int64_t(count)));
}

template <class Row>
void add_event(const Row& row, uint64_t begin, const RankClock& clock, Event event,
               std::vector<Event>* events) {
  if (row.count == 0 || row.count > uint64_t(std::numeric_limits<int64_t>::max())) return;
  if (!(row.begun_sum | row.wait_begin_sum | row.wait_end_sum)) return;  // no source of stamps
  const auto stamp = [&](uint64_t sum) {
    return sum ? clock.common(mean(sum, row.count, begin)) : perfield::waits::kUnknown;
  };
  event.call = row.call;
  event.flags |= row.count == 1 ? perfield::waits::kSingle : perfield::waits::kMean;
  event.number = row.number;
  event.count = uint32_t(std::min<uint64_t>(row.count, std::numeric_limits<uint32_t>::max()));
  event.begun = stamp(row.begun_sum);
  event.wait_begin = stamp(row.wait_begin_sum);
  event.wait_end = stamp(row.wait_end_sum);
  events->push_back(event);
}

void add_events(const perfield::StepView& step, int64_t index, int32_t rank, const RankClock& clock,
                std::vector<Event>* events) {
  Event event{};
  event.step = index;
  event.rank = rank;
  for (const perfield::MessageRow row : step.messages) {
    if (row.peer == rank) continue;  // messages to oneself never wait for others
    event.peer = row.peer < 0 ? kUnknownPeer : row.peer;
    event.kind =
        row.call == PERFIELD_CALL_recv ? perfield::waits::kReceive : perfield::waits::kSend;
    event.channel = row.channel;
    event.bytes = row.bytes;
    add_event(row, step.fixed.begin_ns, clock, event, events);
  }
  event.peer = kCollectively;
  event.kind = perfield::waits::kCollective;
  for (const perfield::CollectiveRow row : step.collectives) {
    event.flags = row.flags & 1 ? perfield::waits::kRoot : 0;
    event.channel = row.communicator;
    event.bytes = row.bytes_out + row.bytes_in;
    add_event(row, step.fixed.begin_ns, clock, event, events);
  }
}

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
                    add_events(view, step[at], int32_t(rank[at]), {shift[at], drifts[at]}, &events);
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
