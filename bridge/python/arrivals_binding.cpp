// SPDX-License-Identifier: BSD-3-Clause
//
// arrivals_binding.cpp - makes events of logs and of the rows of step entries, for analyses of
// waiting in Python. Reads files without the GIL.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <tuple>

#include "python/reading.hpp"
#include "waits/arrivals.hpp"
#include "waits/groups.hpp"

namespace py = pybind11;
using perfield::LoggedEvent;
using perfield::waits::Event;
using perfield::waits::Events;
using perfield::waits::RankClock;

namespace {

using Wholes = py::array_t<int64_t, py::array::c_style | py::array::forcecast>;
using Reals = py::array_t<double, py::array::c_style | py::array::forcecast>;

// Step entries of a file: its path; of each, as for read_steps, where it lies; its step, rank and
// how many steps it adds up.
using StepEntries = std::tuple<std::string, Offsets, Offsets, Wholes, Wholes, Wholes>;
// `events` entries of a file: its path and where each lies.
using LogEntries = std::pair<std::string, Offsets>;

// Reads what ranks did in MPI in some steps, logs first.
class Arrivals {
 public:
  Arrivals(const Reals& shift_ns, const Reals& drift)
      : n_ranks_(shift_ns.size()), shift_ns_(shift_ns.data()), drift_(drift.data()) {}

  // In steps of which there is such an entry, a log may take the place of its rows.
  void expect(const StepEntries& entries) {
    const auto& [path, offsets, references, steps, ranks, spans] = entries;
    for (py::ssize_t n = 0; n < offsets.size(); ++n)
      if (spans.data()[n] <= 1) of_one_step_.of(key(steps.data()[n], ranks.data()[n]));
  }

  void read_logs(const LogEntries& entries) {
    const auto& [path, offsets] = entries;
    std::vector<LoggedEvent> logged;
    read_events_at(path, offsets.data(), size_t(offsets.size()), &logged,
                   [&](const perfield::EntryHeader& header, const perfield::EventsStart* start) {
                     const auto step = int64_t(header.index);
                     if (!start || !knows(header.rank) || !of_one_step_.has(key(step, header.rank)))
                       return;
                     const uint32_t log = logged_.of(key(step, header.rank));
                     if (log == logs_.size()) logs_.emplace_back();
                     logs_[log].add(*start);
                     perfield::waits::add_logged(logged, step, header.rank, clock(header.rank),
                                                 &events_);
                   });
  }

  // Call it between logs and rows.
  void mark_incomplete_logs() {
    for (Event& event : events_)
      if (!logs_[logged_.of(key(event.step, event.rank))].is_whole())
        event.flags |= perfield::waits::kOverflow;
  }

  void read_rows(const StepEntries& entries) {
    const auto& [path, offsets, references, steps, ranks, spans] = entries;
    std::vector<uint64_t> wanted, full;
    std::vector<py::ssize_t> place;
    for (py::ssize_t n = 0; n < offsets.size(); ++n) {
      const int64_t rank = ranks.data()[n];
      if (!knows(rank) || (spans.data()[n] <= 1 && logged_.has(key(steps.data()[n], rank))))
        continue;
      wanted.push_back(offsets.data()[n]);
      full.push_back(references.data()[n]);
      place.push_back(n);
    }
    const int64_t *step = steps.data(), *rank = ranks.data();
    read_steps_at(path, wanted.data(), full.data(), wanted.size(),
                  [&](size_t at, const unsigned char* body, size_t bytes) {
                    perfield::StepView view{};
                    if (!body || !perfield::view_step(body, bytes, &view)) return;
                    make_room(view.messages.size() + view.collectives.size(), place.size() - at);
                    const int64_t its_rank = rank[place[at]];
                    perfield::waits::add_rows(view, step[place[at]], int32_t(its_rank),
                                              clock(its_rank), &events_);
                  });
  }

  Events take() { return std::move(events_); }

 private:
  static perfield::waits::Key key(int64_t step, int64_t rank) {
    return {uint64_t(step), uint64_t(rank)};
  }
  bool knows(int64_t rank) const { return rank >= 0 && rank < n_ranks_; }
  RankClock clock(int64_t rank) const { return {shift_ns_[rank], drift_[rank]}; }

  // For an entry's events, and for as many of each of the entries left, but at most 72 MB more.
  void make_room(size_t n_events, size_t n_left) {
    constexpr size_t kMost = size_t{1} << 20;
    const size_t n_before = events_.size();
    if (events_.capacity() - n_before >= n_events) return;
    const size_t all = n_events * std::min(kMost, n_left);
    events_.reserve(n_before + std::max({n_before, n_events, std::min(kMost, all)}));
  }

  const int64_t n_ranks_;
  const double *shift_ns_, *drift_;
  perfield::waits::Arena arena_;
  perfield::waits::Groups of_one_step_{arena_};  // steps of ranks; likewise:
  perfield::waits::Groups logged_{arena_};
  std::vector<perfield::waits::Log> logs_;  // of these
  Events events_;
};

py::array read_arrivals(const std::vector<StepEntries>& entries,
                        const std::vector<LogEntries>& logs, const Reals& shift_ns,
                        const Reals& drift) {
  for (const auto& [path, offsets, references, steps, ranks, spans] : entries) {
    const py::ssize_t n = offsets.size();
    if (references.size() != n || steps.size() != n || ranks.size() != n || spans.size() != n)
      throw py::value_error("offsets and what belongs to each entry differ in length");
  }
  if (shift_ns.size() != drift.size()) throw py::value_error("shift_ns and drift differ in length");
  Arrivals arrivals(shift_ns, drift);
  {
    py::gil_scoped_release released;  // the arrays outlive the call
    for (const StepEntries& of_file : entries) arrivals.expect(of_file);
    for (const LogEntries& of_file : logs) arrivals.read_logs(of_file);
    arrivals.mark_incomplete_logs();
    for (const StepEntries& of_file : entries) arrivals.read_rows(of_file);
  }
  return to_array(arrivals.take());
}

}  // namespace

// After bind_waits, which makes Event known to NumPy.
void bind_arrivals(py::module_& module) {
  module.def("read_arrivals", &read_arrivals, py::arg("entries"), py::arg("logs"),
             py::arg("shift_ns"), py::arg("drift"),
             "What ranks did in MPI as events (WAIT_EVENT): an entry of one step whose log was "
             "written\n"
             "gives the log's events, else its rows of messages and collective operations. Rows "
             "without\n"
             "stamps and messages to oneself are left out.\n\n"
             "entries : step entries of each file: (path, offsets, references, steps, ranks, "
             "spans); the\n"
             "first three as for read_steps. logs : `events` entries of each file: (path, "
             "offsets).\n"
             "shift_ns, drift : of each rank: a stamp t is t + shift_ns + drift * t on the common "
             "clock;\n"
             "NaN: unknown.");
}
