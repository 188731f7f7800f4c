// SPDX-License-Identifier: BSD-3-Clause
//
// trace_binding.cpp - gives the reader of traces the code of the measured side: the kind of call of
// each MPI function, the configuration's choice and names of regions, and the follower that turns a
// rank's events into its stream.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cerrno>
#include <map>

#include "configuration/function_names.hpp"
#include "configuration/selection.hpp"
#include "format/calls.h"
#include "replay/follower.hpp"
#include "replay/otf2_events.hpp"

namespace py = pybind11;
using perfield::Follower;
using perfield::Trace;
using perfield::TracePeers;

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

// Communicators often share a group, which is stored once.
TracePeers peers_of(const std::map<uint32_t, std::vector<py::object>>& comms) {
  TracePeers peers;
  std::map<PyObject*, TracePeers::Group> known;
  for (const auto& [comm, members] : comms) {
    std::vector<TracePeers::Group> groups;
    for (const py::object& group : members) {
      if (group.is_none()) {
        groups.push_back(nullptr);
        continue;
      }
      TracePeers::Group& ranks = known[group.ptr()];
      if (!ranks) {
        auto made = std::make_shared<std::vector<int32_t>>();
        for (const py::handle& rank : py::iter(group)) made->push_back(rank.cast<int32_t>());
        ranks = made;
      }
      groups.push_back(ranks);
    }
    peers.add(comm, std::move(groups));
  }
  return peers;
}

perfield::FileKind file_kind(const std::string& paradigm) {
  using perfield::FileKind;
  return paradigm == "ISOC"     ? FileKind::stdio
         : paradigm == "MPI-IO" ? FileKind::mpi
                                : FileKind::posix;
}

using RegionTuple = std::tuple<std::string, std::string, int, uint16_t, bool>;

std::shared_ptr<Trace> make_trace(
    const std::map<uint32_t, RegionTuple>& regions, std::unordered_map<uint32_t, uint32_t> contexts,
    const TracePeers& peers, std::unordered_map<uint32_t, uint32_t> windows,
    const std::map<uint32_t, std::string>& files, std::unordered_map<uint32_t, std::string> strings,
    std::vector<std::string> counters,
    const std::map<uint32_t, std::vector<std::pair<uint32_t, int>>>& metrics,
    std::vector<std::string> sources, double ticks_per_second, uint64_t start, int64_t start_ns,
    int64_t end_ns, uint32_t max_regions, uint32_t max_peers, bool messages) {
  auto trace = std::make_shared<Trace>();
  for (const auto& [number, region] : regions) {
    const auto& [name, file, line, call, closes_steps] = region;
    trace->regions[number] = {name, file, line, call, closes_steps};
  }
  trace->contexts = std::move(contexts);
  trace->peers = peers;
  trace->windows = std::move(windows);
  for (const auto& [handle, paradigm] : files) trace->files[handle] = file_kind(paradigm);
  trace->strings = std::move(strings);
  trace->counters = std::move(counters);
  for (const auto& [metric, places] : metrics)
    for (const auto& [place, counter] : places) trace->metrics[metric].push_back({place, counter});
  trace->sources = std::move(sources);
  trace->ticks_per_second = ticks_per_second;
  trace->start = start;
  trace->start_ns = start_ns;
  trace->end_ns = end_ns;
  trace->max_regions = max_regions;
  trace->max_peers = max_peers;
  trace->messages = messages;
  return trace;
}

void check_writing(const Follower& follower) {
  if (!follower.error()) return;
  errno = follower.error();
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, follower.path().c_str());
  throw py::error_already_set();
}

void bind_follower(py::module_& module) {
  py::class_<TracePeers>(module, "TracePeers", "The communicators of a trace.")
      .def(py::init(&peers_of), py::arg("groups"),
           "groups : communicator -> world ranks of its members, one sequence for each of its\n"
           "groups; None for the caller's own group. An inter-communicator has two groups;\n"
           "a rank talks to the other one.")
      .def("world_rank", &TracePeers::world_rank, py::arg("comm"), py::arg("place"), py::arg("own"),
           "The world rank of the member `place` of a communicator, seen from rank `own`.\n\n"
           "-2 if it is in no MPI_COMM_WORLD of the trace, -3 if the trace does not say.");

  py::class_<Trace, std::shared_ptr<Trace>>(module, "TraceTables",
                                            "The definitions that the events of a trace refer to.")
      .def(py::init(&make_trace), py::kw_only(), py::arg("regions"), py::arg("contexts"),
           py::arg("peers"), py::arg("windows"), py::arg("files"), py::arg("strings"),
           py::arg("counters"), py::arg("metrics"), py::arg("sources"), py::arg("ticks_per_second"),
           py::arg("start"), py::arg("start_ns"), py::arg("end_ns"), py::arg("max_regions"),
           py::arg("max_peers"), py::arg("messages"),
           "regions : number -> (name, '' if it is not measured; file; line; number of the call "
           "that\n"
           "it counts as, else 0; whether it closes steps). metrics : number -> list of (place of "
           "a\n"
           "value, number of the counter).");

  py::class_<Follower>(module, "Follower",
                       "Follows the events of one rank of a trace and writes its stream.\n\n"
                       "Each event is a method: location, time, then its data in the trace.")
      .def(py::init([](std::shared_ptr<Trace> trace, const std::string& path, uint64_t run_id,
                       int32_t rank, int32_t size, const std::string& host,
                       const std::string& boot_id, uint64_t first_location) {
             return std::make_unique<Follower>(
                 std::move(trace),
                 perfield::FollowedRank{path, run_id, rank, size, host, boot_id, first_location});
           }),
           py::arg("trace"), py::kw_only(), py::arg("path") = "", py::arg("run_id") = 0,
           py::arg("rank") = 0, py::arg("size") = 1, py::arg("host") = "", py::arg("boot_id") = "",
           py::arg("first_location") = 0, "path : of the stream; '' to write nothing.")
      .def("enter", &Follower::enter, py::arg("location"), py::arg("time"), py::arg("region"),
           "A thread enters a region or a call of MPI.")
      .def("leave", &Follower::leave, py::arg("location"), py::arg("time"), py::arg("region"),
           "It leaves it.")
      .def("enter_context", &Follower::enter_context, py::arg("location"), py::arg("time"),
           py::arg("context"), "As `enter`, by the number of a calling context.")
      .def("leave_context", &Follower::leave_context, py::arg("location"), py::arg("time"),
           py::arg("context"), "As `leave`, by the number of a calling context.")
      .def(
          "send",
          [](Follower& f, uint64_t location, uint64_t time, uint32_t receiver, uint32_t comm,
             uint64_t bytes) { f.sent(location, time, PERFIELD_CALL_send, comm, receiver, bytes); },
          py::arg("location"), py::arg("time"), py::arg("receiver"), py::arg("comm"),
          py::arg("bytes"), "A blocking send; peers are places in the communicator.")
      .def(
          "isend",
          [](Follower& f, uint64_t location, uint64_t time, uint32_t receiver, uint32_t comm,
             uint64_t bytes) {
            f.sent(location, time, PERFIELD_CALL_isend, comm, receiver, bytes);
          },
          py::arg("location"), py::arg("time"), py::arg("receiver"), py::arg("comm"),
          py::arg("bytes"), "A non-blocking send.")
      .def(
          "receive",
          [](Follower& f, uint64_t location, uint64_t time, uint32_t sender, uint32_t comm,
             uint64_t bytes) { f.received(location, time, comm, sender, bytes); },
          py::arg("location"), py::arg("time"), py::arg("sender"), py::arg("comm"),
          py::arg("bytes"), "A message has arrived.")
      .def("transfer", &Follower::transfer, py::arg("location"), py::arg("time"), py::arg("window"),
           py::arg("remote"), py::arg("bytes"),
           "A one-sided transfer to or from `remote`, a rank of the window's communicator.")
      .def("collective", &Follower::collective, py::arg("location"), py::arg("time"),
           py::arg("sent"), py::arg("received"),
           "Bytes that a collective call sent and received; counted when the call ends.")
      .def("start_collective", &Follower::start_collective, py::arg("location"), py::arg("time"),
           py::arg("request"), "A non-blocking collective starts.")
      .def("end_collective", &Follower::end_collective, py::arg("location"), py::arg("time"),
           py::arg("sent"), py::arg("received"), py::arg("request"),
           "It is complete; its bytes belong to the call that started it.")
      .def("begin_file", &Follower::begin_file, py::arg("location"), py::arg("time"),
           py::arg("handle"), py::arg("mode"), py::arg("matching"),
           "An operation on a file begins.")
      .def("issue_file", &Follower::issue_file, py::arg("location"), py::arg("time"),
           py::arg("handle"), py::arg("matching"), "A non-blocking one has been issued.")
      .def("end_file", &Follower::end_file, py::arg("location"), py::arg("time"), py::arg("handle"),
           py::arg("bytes"), py::arg("matching"), "The operation is complete.")
      .def(
          "metric",
          [](Follower& f, uint64_t location, uint64_t time, uint32_t metric,
             const std::vector<uint64_t>& values) {
            f.metric(location, time, metric, values.data(), uint32_t(values.size()));
          },
          py::arg("location"), py::arg("time"), py::arg("metric"), py::arg("values"),
          "Values of the counters of a metric, as a thread reads them.")
      .def("record", &Follower::record, py::arg("location"), py::arg("time"), py::arg("on"),
           "Recording goes on or off; nothing is counted while it is off.")
      .def("flush", &Follower::flush, py::arg("location"), py::arg("time"), py::arg("until"),
           "The tracer wrote its buffer until then; the program gets none of that time.")
      .def(
          "end",
          [](Follower& f, const std::string& reason) {
            f.end(reason);
            check_writing(f);
          },
          py::arg("reason"),
          "Writes what is behind the last step. reason : 'finalize', or 'abort' of a damaged "
          "trace.")
      .def("check_writing", &check_writing, "Raises OSError if an entry could not be written.")
      .def("candidates", &Follower::candidates, py::arg("most"),
           "Regions that were entered more than once, with how often; most time first.")
      .def_property_readonly("n_events", &Follower::n_events, "How many events were followed.")
      .def_property_readonly("n_steps", &Follower::n_steps, "How many steps were closed.")
      .def_property_readonly("program", &Follower::program_name,
                             "Name of the program, '' if the trace does not say.")
      .def_property_readonly("arguments", &Follower::program_arguments, "Its arguments.")
      .def_property_readonly(
          "address", [](const Follower& f) { return reinterpret_cast<uintptr_t>(&f); },
          "What the functions of otf2_events() take as their user's data.");

  module.def(
      "otf2_events",
      [] {
        std::vector<std::pair<std::string, uintptr_t>> events;
        const perfield::Otf2Events all = perfield::otf2_events();
        for (const auto* event = all.first; event < all.first + all.size; ++event)
          events.emplace_back(event->name, reinterpret_cast<uintptr_t>(event->callback));
        return events;
      },
      "(name of an event in the library otf2, address of the function to be called for it).");
}

}  // namespace

void bind_traces(py::module_& module) {
  module.def("mpi_functions", &mpi_functions,
             "Name of each function of MPI that is counted -> number of the call it counts as.");
  module.def("region_of", &region_of, py::arg("name"), py::arg("symbol"), py::arg("regions"),
             py::arg("step_region"),
             "The region that a compiled function is, by the configuration's keys; '' if none.\n\n"
             "name: as it is read; symbol: as in the program file, or ''. A lone '*' chooses all.");
  bind_follower(module);
}
