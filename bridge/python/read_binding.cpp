// SPDX-License-Identifier: BSD-3-Clause
//
// read_binding.cpp - hands the stream decoder to Python: rows become NumPy arrays whose columns
// are named as in format/entry.hpp. Reads files without the GIL.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "format/cells.hpp"
#include "format/decode.hpp"
#include "format/events.hpp"
#include "format/index.hpp"
#include "format/samples.hpp"
#include "platform/large_pages.hpp"
#include "python/reading.hpp"

namespace py = pybind11;
using perfield::EntryHeader;
using perfield::StreamFile;

namespace {

using perfield::LargeVector;

// The rows of one table, of all entries one after another.
template <class Row>
struct Rows {
  LargeVector<Row> rows;
  LargeVector<int64_t> start{0};  // of each entry, and the end

  // n: the number of the entry among `count`, which are often about as long.
  void append(const perfield::TableView<Row>& table, size_t n, size_t count) {
    const size_t needed = rows.size() + table.size();
    if (needed > rows.capacity()) {
      const size_t for_all = needed / (n + 1) * count;
      rows.reserve(std::min(std::max(for_all, needed + needed / 4), 16 * needed));
    }
    table.append_to(&rows);
    start.push_back(static_cast<int64_t>(rows.size()));
  }
};

// The result of read_steps before it becomes arrays.
struct Steps {
  LargeVector<uint8_t> whole;
  LargeVector<perfield::StepBody> fixed;
  Rows<perfield::RegionRow> regions;
  Rows<perfield::MessageRow> messages;
  Rows<perfield::WaitRow> waits;
  Rows<perfield::CallRow> calls;
  Rows<perfield::QuantityRow> quantities;
  Rows<perfield::CollectiveRow> collectives;
  Rows<perfield::SynchronisationRow> synchronisations;
  Rows<perfield::PathRow> paths;

  explicit Steps(size_t count) : count_(count) {
    fixed.reserve(count);
    whole.reserve(count);
  }

  // body: nullptr if the entry is damaged.
  void append(size_t n, const unsigned char* body, size_t bytes) {
    perfield::StepView view{};
    const bool is_whole = body && perfield::view_step(body, bytes, &view);
    if (!is_whole) view = {};
    whole.push_back(is_whole);
    fixed.push_back(view.fixed);
    regions.append(view.regions, n, count_);
    messages.append(view.messages, n, count_);
    waits.append(view.waits, n, count_);
    calls.append(view.calls, n, count_);
    quantities.append(view.quantities, n, count_);
    collectives.append(view.collectives, n, count_);
    synchronisations.append(view.synchronisations, n, count_);
    paths.append(view.paths, n, count_);
  }

 private:
  size_t count_;
};

py::dict to_tables(Steps&& steps) {
  py::dict result;
  result["whole"] = to_array(std::move(steps.whole)).attr("astype")("bool");
  result["steps"] = to_array(std::move(steps.fixed));
  result["regions"] = to_array(std::move(steps.regions.rows));
  result["messages"] = to_array(std::move(steps.messages.rows));
  result["waits"] = to_array(std::move(steps.waits.rows));
  result["calls"] = to_array(std::move(steps.calls.rows));
  result["quantities"] = to_array(std::move(steps.quantities.rows));
  result["region_start"] = to_array(std::move(steps.regions.start));
  result["message_start"] = to_array(std::move(steps.messages.start));
  result["wait_start"] = to_array(std::move(steps.waits.start));
  result["call_start"] = to_array(std::move(steps.calls.start));
  result["quantity_start"] = to_array(std::move(steps.quantities.start));
  result["collectives"] = to_array(std::move(steps.collectives.rows));
  result["collective_start"] = to_array(std::move(steps.collectives.start));
  result["synchronisations"] = to_array(std::move(steps.synchronisations.rows));
  result["synchronisation_start"] = to_array(std::move(steps.synchronisations.start));
  result["paths"] = to_array(std::move(steps.paths.rows));
  result["path_start"] = to_array(std::move(steps.paths.start));
  return result;
}

py::dict read_steps(const std::string& path, const Offsets& offsets, const Offsets& references) {
  if (references.size() != offsets.size())
    throw py::value_error("offsets and references differ in length");
  const uint64_t *wanted = offsets.data(), *full = references.data();
  const auto count = static_cast<size_t>(offsets.size());
  Steps steps(count);
  {
    py::gil_scoped_release released;
    read_steps_at(
        path, wanted, full, count,
        [&](size_t n, const unsigned char* body, size_t bytes) { steps.append(n, body, bytes); });
  }
  return to_tables(std::move(steps));
}

struct EventRow {
  int64_t step;
  int32_t rank, peer;
  uint16_t call;
  uint8_t kind, flags;
  uint32_t channel, number, zero;
  uint64_t bytes;
  int64_t begun, wait_begin, wait_end;
};
struct LogRow {
  int64_t step;
  int32_t rank;
  uint32_t n, first, all;
  uint64_t lost;
  int64_t lost_begin, lost_end;
};

int64_t known(uint64_t stamp) { return stamp ? int64_t(stamp) : INT64_MIN; }

py::dict read_events(const std::string& path, const Offsets& offsets) {
  const uint64_t* const wanted = offsets.data();
  const auto count = static_cast<size_t>(offsets.size());
  std::vector<uint8_t> whole;
  std::vector<EventRow> rows;
  std::vector<int64_t> start{0};
  std::vector<LogRow> logs;
  {
    py::gil_scoped_release released;
    std::vector<perfield::LoggedEvent> events;
    read_events_at(path, wanted, count, &events,
                   [&](const EntryHeader& header, const perfield::EventsStart* found) {
                     const auto step = int64_t(header.index);
                     for (const perfield::LoggedEvent& e : events)
                       rows.push_back({step, header.rank, e.peer, e.call, uint8_t(e.kind()),
                                       e.flags(), e.channel, e.number, 0, e.bytes, known(e.begun),
                                       known(e.wait_begin), known(e.wait_end)});
                     whole.push_back(found != nullptr);
                     start.push_back(int64_t(rows.size()));
                     const perfield::EventsStart about = found ? *found : perfield::EventsStart{};
                     logs.push_back({step, header.rank, about.n, about.first, about.all, about.lost,
                                     known(about.lost_begin_ns), known(about.lost_end_ns)});
                   });
  }
  py::dict result;
  result["whole"] = to_array(std::move(whole)).attr("astype")("bool");
  result["events"] = to_array(std::move(rows));
  result["event_start"] = to_array(std::move(start));
  result["logs"] = to_array(std::move(logs));
  return result;
}

struct SampleRow {
  int64_t time_ns;
  uint64_t period_ns;
  int64_t first;
  int32_t rank;
  uint32_t thread, depth;
  uint32_t path;   // on which it was taken; 0: on none
  int32_t region;  // of other paths, if it was taken there; -1: on `path`, -2: not known
  uint32_t zero;
};

// The numbers of `where`, as pack_samples() takes it.
void set_place(uint64_t where, SampleRow* row) {
  row->path = 0;
  row->region = -2;
  if (where == perfield::kWhereUnknown) return;
  if (where % 2) {
    row->path = uint32_t(where / 2);
    row->region = -1;
  } else {
    row->region = int32_t(where / 2 - 1);
  }
}

py::dict read_samples(const std::string& path, const Offsets& offsets) {
  const uint64_t* const wanted = offsets.data();
  const auto count = static_cast<size_t>(offsets.size());
  std::vector<SampleRow> rows;
  std::vector<uint64_t> addresses;
  uint64_t lost = 0, n_damaged = 0;
  {
    py::gil_scoped_release released;
    StreamFile file(path);
    ReadingAhead ahead(file, wanted, count);
    std::vector<uint64_t> words;
    for (size_t n = 0; n < count; ++n) {
      ahead.prepare(n);
      EntryHeader header{};
      perfield::SamplesStart start{};
      const unsigned char* body = nullptr;
      if (!perfield::read_header(file, wanted[n], &header) ||
          header.type != uint16_t(perfield::EntryType::samples) ||
          header.version != perfield::body_version(perfield::EntryType::samples) ||
          !perfield::read_body(file, wanted[n], header, &body) || !body ||
          !perfield::unpack_samples(body, header.body_bytes, &start, &words)) {
        ++n_damaged;
        continue;
      }
      lost += start.lost;
      for (size_t k = 0; k < words.size();) {
        const auto depth = uint32_t(words[k + 1]);
        rows.push_back({int64_t(words[k]), start.period_ns, int64_t(addresses.size()), header.rank,
                        uint32_t(words[k + 1] >> 32), depth, 0, 0, 0});
        set_place(words[k + 2], &rows.back());
        k += perfield::kSampleHead;
        addresses.insert(addresses.end(), words.begin() + long(k), words.begin() + long(k + depth));
        k += depth;
      }
    }
  }
  py::dict result;
  result["samples"] = to_array(std::move(rows));
  result["addresses"] = to_array(std::move(addresses));
  result["lost"] = lost;
  result["damaged"] = n_damaged;
  return result;
}

py::dict decode_steps(const std::vector<std::string>& bodies) {
  Steps steps(bodies.size());
  for (size_t n = 0; n < bodies.size(); ++n)
    steps.append(n, reinterpret_cast<const unsigned char*>(bodies[n].data()), bodies[n].size());
  return to_tables(std::move(steps));
}

py::list to_list(const std::vector<perfield::Damage>& all) {
  py::list list;
  for (const perfield::Damage& damage : all)
    list.append(py::make_tuple(damage.offset, damage.bytes, damage.sentence));
  return list;
}

py::object packed_step(const py::bytes& plain, const py::bytes& reference, uint32_t sequence) {
  const auto body = static_cast<std::string_view>(plain);
  const auto full = static_cast<std::string_view>(reference);
  const auto bytes_of = [](std::string_view text) {
    return perfield::PlainBody{reinterpret_cast<const unsigned char*>(text.data()), text.size()};
  };
  std::string room(body.size() + perfield::kPackingRoom, 0);
  const perfield::Packed packed = perfield::pack_step(
      bytes_of(body), bytes_of(full), {sequence, perfield::crc32c(full.data(), full.size())},
      reinterpret_cast<unsigned char*>(room.data()), room.size(), body.size());
  if (!packed.bytes) return py::none();
  return py::bytes(room.data(), packed.bytes);
}

py::object unpacked_step(const py::bytes& packed, const py::bytes& reference) {
  const auto body = static_cast<std::string_view>(packed);
  const auto full = static_cast<std::string_view>(reference);
  std::vector<unsigned char> plain;
  if (!perfield::unpack_step(reinterpret_cast<const unsigned char*>(body.data()), body.size(),
                             {reinterpret_cast<const unsigned char*>(full.data()), full.size()},
                             &plain))
    return py::none();
  return py::bytes(reinterpret_cast<const char*>(plain.data()), plain.size());
}

py::list read_bodies(const std::string& path, const Offsets& offsets) {
  std::vector<std::pair<bool, std::string>> bodies;
  const uint64_t* wanted = offsets.data();
  const auto count = static_cast<size_t>(offsets.size());
  {
    py::gil_scoped_release released;
    StreamFile file(path);
    ReadingAhead ahead(file, wanted, count);
    for (size_t n = 0; n < count; ++n) {
      EntryHeader header{};
      const unsigned char* body = nullptr;
      std::string text;
      ahead.prepare(n);
      bool whole = perfield::read_header(file, wanted[n], &header) &&
                   perfield::read_body(file, wanted[n], header, &body);
      if (whole && body) text.assign(reinterpret_cast<const char*>(body), header.body_bytes);
      for (uint64_t at = 0; whole && !body && at < header.body_bytes;) {  // larger than a window
        const size_t part = std::min<uint64_t>(StreamFile::kAhead, header.body_bytes - at);
        const auto* bytes = file.window(wanted[n] + sizeof(EntryHeader) + at, part);
        whole = bytes != nullptr;
        if (whole) text.append(reinterpret_cast<const char*>(bytes), part);
        at += part;
      }
      bodies.emplace_back(whole, std::move(text));
    }
  }
  py::list result;
  for (const auto& [whole, text] : bodies)
    result.append(whole ? py::object(py::bytes(text)) : py::object(py::none()));
  return result;
}

py::list read_openings(const std::string& path, const Offsets& offsets, size_t most) {
  std::vector<std::string> openings;
  const uint64_t* wanted = offsets.data();
  const auto count = static_cast<size_t>(offsets.size());
  {
    py::gil_scoped_release released;
    StreamFile file(path);
    for (size_t n = 0; n < count; ++n) {
      EntryHeader header{};
      const size_t ahead = sizeof(EntryHeader) + most;
      file.window(wanted[n], sizeof(EntryHeader), ahead);
      const unsigned char* body = nullptr;
      const bool there = perfield::read_header(file, wanted[n], &header);
      const size_t part = std::min<size_t>(header.body_bytes, most);
      if (there) body = file.window(wanted[n] + sizeof(EntryHeader), part, part);
      openings.emplace_back(reinterpret_cast<const char*>(body), body ? part : 0);
    }
  }
  py::list result;
  for (const std::string& text : openings) result.append(py::bytes(text));
  return result;
}

}  // namespace

void bind_reading(py::module_& module) {
  using namespace perfield;
  PYBIND11_NUMPY_DTYPE(EntryPlace, offset, index, body_bytes, rank, sequence, type, version, kind,
                       flags, mesh_version, zero, span, reference, reference_offset);
  PYBIND11_NUMPY_DTYPE(StepBody, label, time, span, kind, flags, begin_ns, end_ns, realtime_ns,
                       measured_ns, perfield_ns, perfield_bytes, resident_bytes, cpu_user_ns,
                       cpu_system_ns, voluntary_switches, involuntary_switches, minor_faults,
                       major_faults, faults, overflowed, mesh_version, pu, n_tables);
  PYBIND11_NUMPY_DTYPE(RegionRow, id, threads, count, inclusive_sum_ns, inclusive_min_ns,
                       inclusive_max_ns, self_sum_ns, self_min_ns, self_max_ns);
  PYBIND11_NUMPY_DTYPE(MessageRow, peer, call, zero, count, bytes, empty, most_in_call, largest,
                       begun_sum, wait_begin_sum, wait_end_sum, number, channel, sizes);
  PYBIND11_NUMPY_DTYPE(CollectiveRow, communicator, call, flags, count, bytes_out, bytes_in,
                       begun_sum, wait_begin_sum, wait_end_sum, number, most_in_call);
  PYBIND11_NUMPY_DTYPE(SynchronisationRow, peer, call, zero, count, begun_sum, wait_begin_sum,
                       wait_end_sum, number, channel);
  PYBIND11_NUMPY_DTYPE(EventRow, step, rank, peer, call, kind, flags, channel, number, zero, bytes,
                       begun, wait_begin, wait_end);
  PYBIND11_NUMPY_DTYPE(SampleRow, time_ns, period_ns, first, rank, thread, depth, path, region,
                       zero);
  PYBIND11_NUMPY_DTYPE(LogRow, step, rank, n, first, all, lost, lost_begin, lost_end);
  PYBIND11_NUMPY_DTYPE(WaitRow, peer, zero, count, ns);
  PYBIND11_NUMPY_DTYPE(CallRow, call, time_class, zero, count, ns, bytes_out, bytes_in);
  PYBIND11_NUMPY_DTYPE(QuantityRow, region, quantity, zero, value);
  PYBIND11_NUMPY_DTYPE(PathRow, path, region, count, inclusive_sum_ns, inclusive_max_ns,
                       self_sum_ns, mpi_ns, file_ns);

  module.def(
      "crc32c",
      [](const py::bytes& data, uint32_t seed) {
        const auto view = static_cast<std::string_view>(data);
        return crc32c(view.data(), view.size(), seed);
      },
      py::arg("data"), py::arg("seed") = 0, "CRC-32C of bytes; seed continues an earlier one.");

  py::class_<StreamIndex>(module, "StreamIndex",
                          "The place of each entry and of damage in one stream file.\n\n"
                          "index_path : file that keeps the index for the next time ('': none).")
      .def(py::init<std::string, std::string, uint64_t, uint64_t>(), py::arg("stream_path"),
           py::arg("index_path") = "", py::arg("run_id") = 0,
           py::arg("save_after") = StreamIndex::kSaveAfter)
      .def("refresh", &StreamIndex::refresh, py::call_guard<py::gil_scoped_release>(),
           "Reads new entries; False if the file cannot be opened.")
      .def(
          "__len__", [](const StreamIndex& index) { return index.places().size(); },
          "Number of entries.")
      .def_property_readonly(
          "places",
          [](const StreamIndex& index) {
            return to_array(std::vector<EntryPlace>(index.places()));
          },
          "Structured array (n_entries,): offset, index, body_bytes, rank, sequence, type, ...")
      .def_property_readonly(
          "damage", [](const StreamIndex& index) { return to_list(index.damage()); },
          "List of (offset, bytes, sentence).")
      .def_property_readonly(
          "waiting", [](const StreamIndex& index) { return to_list(index.waiting()); },
          "The same for steps that name an entry which is not there yet.")
      .def_property_readonly(
          "pending",
          [](const StreamIndex& index) {
            const Damage& pending = index.pending();
            return py::make_tuple(pending.offset, pending.bytes, pending.sentence);
          },
          "An incomplete entry at the file's end: (offset, bytes, sentence).")
      .def_property_readonly("strangers", &StreamIndex::strangers,
                             "Other run's id -> number of its entries, which are ignored.")
      .def_property_readonly(
          "message_calls",
          [](const StreamIndex& index) {
            std::vector<int> calls;
            for (size_t call = 0; call < index.message_calls().size(); ++call)
              if (index.message_calls()[call]) calls.push_back(static_cast<int>(call));
            return calls;
          },
          "Numbers of the calls that occur in any step's messages.")
      .def_property_readonly("other_regions", &StreamIndex::other_regions,
                             "Whether any step has a row of region 0, `other regions`.")
      .def_property_readonly("several_threads", &StreamIndex::several_threads,
                             "Whether several threads of a rank were in one region in a step.");

  module.def("read_steps", &read_steps, py::arg("path"), py::arg("offsets"), py::arg("references"),
             "Step entries at these offsets of a stream file, in their order.\n\n"
             "references : of each, `reference_offset` of its place in the index.\n"
             "Returns a dict: 'whole' (bool per entry; False: damaged, all 0), 'steps' (fixed\n"
             "parts), the tables 'regions', 'messages', 'waits', 'calls', 'quantities',\n"
             "'collectives', 'synchronisations', 'paths' of all entries one after another, and\n"
             "'region_start' (n + 1,), ...: where an entry's rows begin. docs/stream.md\n"
             "explains the columns.");
  module.def(
      "read_samples", &read_samples, py::arg("path"), py::arg("offsets"),
      "Where threads were, from `samples` entries at these offsets of a stream file.\n\n"
      "Returns a dict: 'samples': structured rows (time_ns on CLOCK_MONOTONIC, period_ns that "
      "it\nstands for, first: where its addresses begin, rank, thread, depth: how many "
      "there are, path: on which it was taken, or 0, region: -1, or that of the other paths "
      "on which\nit was taken, or -2 if that is not known);\n"
      "'addresses': uint64, of instructions, innermost first; 'lost': samples "
      "without room;\n'damaged': entries.");
  module.def("read_events", &read_events, py::arg("path"), py::arg("offsets"),
             "What `events` entries at these offsets of a stream file keep of logged steps.\n\n"
             "Returns a dict: 'whole' (bool per entry; False: damaged), 'events': structured rows\n"
             "(step, rank, peer, call, kind, flags, channel, number, bytes, and begun, "
             "wait_begin,\n"
             "wait_end in ns on the rank's clock, INT64_MIN if not known) of all entries one "
             "after\n"
             "another, 'event_start' (n + 1,), and 'logs', a row per entry: step, rank, how many\n"
             "events it has (n), the number of its first one in the step (first) and how many "
             "all\n"
             "entries of the step have (all); how many found no room (lost), and when the first "
             "and\n"
             "the last of those were (lost_begin, lost_end). docs/stream.md explains kind and "
             "flags.");
  module.def(
      "decode_steps",
      [](const std::vector<py::bytes>& bodies) {
        return decode_steps(std::vector<std::string>(bodies.begin(), bodies.end()));
      },
      py::arg("bodies"), "The same for the bodies of step entries, as bytes.");
  module.def("pack_step", &packed_step, py::arg("plain"), py::arg("reference"), py::arg("sequence"),
             "The plain body of a step as differences to that of the entry with this sequence, as\n"
             "bytes; None if that is no smaller.");
  module.def("unpack_step", &unpacked_step, py::arg("packed"), py::arg("reference"),
             "The plain body again; None if the bytes are no differences to this reference.");
  module.def("read_bodies", &read_bodies, py::arg("path"), py::arg("offsets"),
             "Bodies of the entries at these offsets, as bytes; None where one is damaged.");
  module.def("read_openings", &read_openings, py::arg("path"), py::arg("offsets"), py::arg("most"),
             "The first bytes of the bodies at these offsets, at most `most`, unchecked.\n\n"
             "Empty where no entry begins.");
  module.def("wrong_cell", &perfield::wrong_cell, py::arg("type"), py::arg("n_points"),
             "Why a cell of a type of VTK cannot have so many points; '' if it can.");
}
