// SPDX-License-Identifier: BSD-3-Clause
//
// read_binding.cpp - hands the stream decoder to Python: rows become NumPy arrays whose columns
// are named as in format/entry.hpp. Reads files without the GIL.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "format/decode.hpp"
#include "format/events.hpp"
#include "format/index.hpp"
#include "format/samples.hpp"
#include "python/reading.hpp"

namespace py = pybind11;
using perfield::EntryHeader;
using perfield::StreamFile;

namespace {

// The result of read_steps before it becomes arrays.
struct Steps {
  std::vector<uint8_t> whole;
  std::vector<perfield::StepBody> fixed;
  std::vector<perfield::RegionRow> regions;
  std::vector<perfield::MessageRow> messages;
  std::vector<perfield::WaitRow> waits;
  std::vector<perfield::CallRow> calls;
  std::vector<perfield::QuantityRow> quantities;
  std::vector<perfield::CollectiveRow> collectives;
  std::vector<uint8_t> stamped;
  std::vector<int64_t> region_start{0}, message_start{0}, wait_start{0}, call_start{0};
  std::vector<int64_t> quantity_start{0}, collective_start{0};
};

template <class Row>
void append_table(const perfield::TableView<Row>& table, std::vector<Row>* rows,
                  std::vector<int64_t>* start) {
  table.append_to(rows);
  start->push_back(static_cast<int64_t>(rows->size()));
}

// body: nullptr if the entry is damaged.
void append_step(const unsigned char* body, size_t bytes, Steps* steps) {
  perfield::StepView view{};
  const bool whole = body && perfield::view_step(body, bytes, &view);
  if (!whole) view = {};
  steps->whole.push_back(whole);
  steps->fixed.push_back(view.fixed);
  append_table(view.regions, &steps->regions, &steps->region_start);
  append_table(view.messages, &steps->messages, &steps->message_start);
  append_table(view.waits, &steps->waits, &steps->wait_start);
  append_table(view.calls, &steps->calls, &steps->call_start);
  append_table(view.quantities, &steps->quantities, &steps->quantity_start);
  append_table(view.collectives, &steps->collectives, &steps->collective_start);
  steps->stamped.push_back(whole && view.messages.is_whole());
}

py::dict to_tables(Steps&& steps) {
  py::dict result;
  result["whole"] = to_array(std::move(steps.whole)).attr("astype")("bool");
  result["steps"] = to_array(std::move(steps.fixed));
  result["regions"] = to_array(std::move(steps.regions));
  result["messages"] = to_array(std::move(steps.messages));
  result["waits"] = to_array(std::move(steps.waits));
  result["calls"] = to_array(std::move(steps.calls));
  result["quantities"] = to_array(std::move(steps.quantities));
  result["region_start"] = to_array(std::move(steps.region_start));
  result["message_start"] = to_array(std::move(steps.message_start));
  result["wait_start"] = to_array(std::move(steps.wait_start));
  result["call_start"] = to_array(std::move(steps.call_start));
  result["quantity_start"] = to_array(std::move(steps.quantity_start));
  result["collectives"] = to_array(std::move(steps.collectives));
  result["collective_start"] = to_array(std::move(steps.collective_start));
  result["stamped"] = to_array(std::move(steps.stamped)).attr("astype")("bool");
  return result;
}

py::dict read_steps(const std::string& path, const Offsets& offsets, const Offsets& references) {
  if (references.size() != offsets.size())
    throw py::value_error("offsets and references differ in length");
  const uint64_t *wanted = offsets.data(), *full = references.data();
  const auto count = static_cast<size_t>(offsets.size());
  Steps steps;
  {
    py::gil_scoped_release released;
    read_steps_at(path, wanted, full, count, [&](size_t, const unsigned char* body, size_t bytes) {
      append_step(body, bytes, &steps);
    });
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
  uint32_t thread, depth, zero;
};

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
          !perfield::read_body(file, wanted[n], header, &body) || !body ||
          !perfield::unpack_samples(body, header.body_bytes, &start, &words)) {
        ++n_damaged;
        continue;
      }
      lost += start.lost;
      for (size_t k = 0; k < words.size();) {
        const auto depth = uint32_t(words[k + 1]);
        rows.push_back({int64_t(words[k]), start.period_ns, int64_t(addresses.size()), header.rank,
                        uint32_t(words[k + 1] >> 32), depth, 0});
        k += 2;
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
  Steps steps;
  for (const std::string& body : bodies)
    append_step(reinterpret_cast<const unsigned char*>(body.data()), body.size(), &steps);
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
  PYBIND11_NUMPY_DTYPE(MessageRow, peer, call, zero, count, bytes, empty, largest, begun_sum,
                       wait_begin_sum, wait_end_sum, number, channel, sizes);
  PYBIND11_NUMPY_DTYPE(CollectiveRow, communicator, call, flags, count, bytes_out, bytes_in,
                       begun_sum, wait_begin_sum, wait_end_sum, number, zero);
  PYBIND11_NUMPY_DTYPE(EventRow, step, rank, peer, call, kind, flags, channel, number, zero, bytes,
                       begun, wait_begin, wait_end);
  PYBIND11_NUMPY_DTYPE(SampleRow, time_ns, period_ns, first, rank, thread, depth, zero);
  PYBIND11_NUMPY_DTYPE(LogRow, step, rank, n, first, all, lost, lost_begin, lost_end);
  PYBIND11_NUMPY_DTYPE(WaitRow, peer, zero, count, ns);
  PYBIND11_NUMPY_DTYPE(CallRow, call, time_class, zero, count, ns, bytes_out, bytes_in);
  PYBIND11_NUMPY_DTYPE(QuantityRow, region, quantity, zero, value);

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
             "'collectives' of all entries one\n"
             "after another, and 'region_start' (n + 1,), ...: where an entry's rows begin. "
             "'stamped'\n"
             "(bool per entry): whether its messages have stamps, channels and sizes; those of "
             "older\n"
             "versions are 0. docs/stream.md explains the columns.");
  module.def(
      "read_samples", &read_samples, py::arg("path"), py::arg("offsets"),
      "Where threads were, from `samples` entries at these offsets of a stream file.\n\n"
      "Returns a dict: 'samples': structured rows (time_ns on CLOCK_MONOTONIC, period_ns that "
      "it\nstands for, first: where its addresses begin, rank, thread, depth: how many "
      "there are);\n'addresses': uint64, of instructions, innermost first; 'lost': samples "
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
}
