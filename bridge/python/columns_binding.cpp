// SPDX-License-Identifier: BSD-3-Clause
//
// columns_binding.cpp - gives Python the table of fields and the kernel that fills columns. Reads
// and decodes entries without the GIL.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>

#include "fields/clock_windows.hpp"
#include "fields/columns.hpp"
#include "fields/fields.hpp"
#include "fields/frames.hpp"
#include "python/reading.hpp"

using perfield::Column;
using perfield::ColumnFiller;
using perfield::Columns;
using perfield::Field;
using perfield::KnownRun;
using perfield::StepView;

namespace {

using Numbers = py::array_t<int64_t, py::array::c_style | py::array::forcecast>;

// Rows of tables, with the names of their columns in Python.
struct Message {
  int64_t step;
  int32_t source, target;
  uint64_t call, count, bytes, empty, largest;
  uint64_t begun_sum, wait_begin_sum, wait_end_sum;
  uint32_t number, channel;
  uint64_t sizes[perfield::kSizeBins];
};
struct Wait {
  int64_t step;
  int32_t rank, peer;
  uint64_t count;
  double time_s;
};
struct BlockValue {
  int64_t step;
  int32_t wanted, rank, block, zero;
  double value;
};
// All entries of a rank in a step as one, without their tables.
struct Joined {
  int64_t step;
  int32_t rank;
  perfield::StepBody fixed;
};

std::array<int64_t, 3> key_of(const Message& m) { return {m.source, m.target, int64_t(m.call)}; }
std::array<int64_t, 3> key_of(const Wait& w) { return {w.rank, w.peer, 0}; }
void add_row(const Message& next, Message* sum) {
  sum->count += next.count;
  sum->bytes += next.bytes;
  sum->empty += next.empty;
  sum->largest = std::max(sum->largest, next.largest);
  for (uint64_t Message::*stamps :
       {&Message::begun_sum, &Message::wait_begin_sum, &Message::wait_end_sum})
    sum->*stamps = perfield::sum_of_known(sum->*stamps, next.*stamps);
  sum->number = next.number;
  sum->channel = next.channel;
  for (int bin = 0; bin < perfield::kSizeBins; ++bin) sum->sizes[bin] += next.sizes[bin];
}
void add_row(const Wait& next, Wait* sum) {
  sum->count += next.count;
  sum->time_s += next.time_s;
}

// Collects rows in the order of steps and ranks, in whatever order entries are read. Rows alike of
// several entries of a rank in a step are added up.
template <class Row>
class Ordered {
 public:
  void open(int64_t step, int64_t rank) { parts_.push_back({step, rank, rows.size()}); }
  std::vector<Row> take() {
    std::vector<size_t> order(parts_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto key = [this](size_t n) { return std::pair(parts_[n].step, parts_[n].rank); };
    std::stable_sort(order.begin(), order.end(),
                     [key](size_t a, size_t b) { return key(a) < key(b); });
    std::vector<Row> sorted;
    sorted.reserve(rows.size());
    std::map<std::array<int64_t, 3>, size_t> known;  // of a rank with several entries in a step
    for (size_t at = 0; at < order.size(); ++at) {
      const size_t n = order[at];
      const size_t end = n + 1 < parts_.size() ? parts_[n + 1].begin : rows.size();
      const bool follows = at > 0 && key(order[at - 1]) == key(n);
      const bool goes_on = at + 1 < order.size() && key(order[at + 1]) == key(n);
      if (!follows) known.clear();
      for (size_t row = parts_[n].begin; row < end; ++row) {
        if (follows || goes_on) {
          const auto [place, is_new] = known.insert({key_of(rows[row]), sorted.size()});
          if (!is_new) {
            add_row(rows[row], &sorted[place->second]);
            continue;
          }
        }
        sorted.push_back(rows[row]);
      }
    }
    return sorted;
  }
  std::vector<Row> rows;

 private:
  struct Part {
    int64_t step, rank;
    size_t begin;
  };
  std::vector<Part> parts_;
};

// One call of Columns.read or Columns.decode: the step and rank of each entry, and the results.
class Reading {
 public:
  Reading(const Columns& columns, const std::vector<uint32_t>& wanted, const Numbers& steps,
          const Numbers& ranks, int64_t n_steps, bool with_tables)
      : rank_column_(place_of(columns, wanted, "rank")),
        filler_(columns, wanted),
        n_wanted_(wanted.size()),
        n_ranks_(columns.facts().ranks.size()),
        n_steps_(size_t(n_steps)),
        with_tables_(with_tables),
        steps_(steps.data(), steps.data() + steps.size()),
        ranks_(ranks.data(), ranks.data() + ranks.size()),
        values_({n_steps, int64_t(n_wanted_), int64_t(n_ranks_)}),
        out_(values_.mutable_data()) {
    if (steps_.size() != ranks_.size()) throw py::value_error("steps and ranks differ in length");
    for (const int64_t step : steps_)
      if (step < 0 || step >= n_steps) throw py::value_error("an entry's step is out of range");
    for (const int64_t rank : ranks_)
      if (rank < 0 || rank >= int64_t(n_ranks_))
        throw py::value_error("an entry's rank is out of range");
  }

  size_t size() const { return steps_.size(); }

  // Call first, without the GIL.
  void prepare() {
    std::fill_n(out_, n_steps_ * n_wanted_ * n_ranks_, NAN);
    if (rank_column_ >= 0)  // needs no entry
      for (size_t n = 0; n < n_steps_; ++n) {
        double* column = out_ + (n * n_wanted_ + size_t(rank_column_)) * n_ranks_;
        std::iota(column, column + n_ranks_, 0.0);
      }
    if (filler_.waited_for() >= 0) waited_for_.resize(n_steps_ * n_ranks_);
    left_.resize(n_steps_ * n_ranks_);
    for (size_t n = 0; n < size(); ++n) ++left_[cell(n)];
    several_.resize(left_.size());
    for (size_t n = 0; n < left_.size(); ++n) several_[n] = left_[n] > 1;
  }

  // Of each entry, when to read it: steps in which ranks have several entries are read in turn, so
  // that few entries wait in memory.
  std::vector<uint32_t> batches() const {
    constexpr size_t kAtOnce = 1 << 14;  // entries
    std::vector<uint32_t> batch(size());
    if (std::find(several_.begin(), several_.end(), 1) == several_.end()) return batch;
    std::vector<size_t> n_entries(n_steps_);
    for (const int64_t step : steps_) ++n_entries[size_t(step)];
    std::vector<uint32_t> of_step(n_steps_);
    size_t n = 0;
    for (size_t step = 0; step < n_steps_; ++step) {
      const bool is_new = step > 0 && n + n_entries[step] > kAtOnce;
      n = is_new ? n_entries[step] : n + n_entries[step];
      of_step[step] = step > 0 ? of_step[step - 1] + is_new : 0;
    }
    for (size_t entry = 0; entry < size(); ++entry) batch[entry] = of_step[size_t(steps_[entry])];
    return batch;
  }

  // body: nullptr if the entry is damaged.
  void take(size_t n, const unsigned char* body, size_t bytes) {
    --left_[cell(n)];
    if (several_[cell(n)]) {  // they are added up in their order, which may not be that of reading
      if (body) bodies_.push_back({n, std::string(reinterpret_cast<const char*>(body), bytes)});
      return;
    }
    begin(n);
    if (add(n, body, bytes)) end(n);
  }

  // Adds up the entries of ranks and steps of which all were read; call often, as others wait in
  // memory.
  void add_up() {
    std::sort(bodies_.begin(), bodies_.end(), [this](const Body& a, const Body& b) {
      return std::pair(cell(a.entry), a.entry) < std::pair(cell(b.entry), b.entry);
    });
    std::vector<Body> waiting;
    for (size_t n = 0; n < bodies_.size();) {
      const size_t first = bodies_[n].entry, its_cell = cell(first);
      const bool is_ready = left_[its_cell] == 0;
      bool any = false;
      if (is_ready) begin(first);
      for (; n < bodies_.size() && cell(bodies_[n].entry) == its_cell; ++n) {
        Body& body = bodies_[n];
        if (is_ready)
          any |= add(body.entry, reinterpret_cast<const unsigned char*>(body.bytes.data()),
                     body.bytes.size());
        else
          waiting.push_back(std::move(body));
      }
      if (any) end(first);
    }
    bodies_ = std::move(waiting);
  }

  // Call last: computes values that need all entries.
  void finish() {
    std::fill(left_.begin(), left_.end(), 0u);  // what was not read will not come
    add_up();
    std::sort(joined_.begin(), joined_.end(), [](const Joined& a, const Joined& b) {
      return std::pair(a.step, a.rank) < std::pair(b.step, b.rank);
    });
    for (size_t n = 0; n < waited_for_.size(); ++n) {
      const size_t step = n / n_ranks_, rank = n % n_ranks_;
      out_[(step * n_wanted_ + size_t(filler_.waited_for())) * n_ranks_ + rank] +=
          waited_for_[n] * 1e-9;
    }
  }

  py::dict result() {
    py::dict result;
    result["values"] = values_;
    result["entries"] = to_array(std::move(joined_));
    if (!with_tables_) return result;
    result["messages"] = to_array(messages_.take());
    result["received"] = to_array(received_.take());
    result["waits"] = to_array(waits_.take());
    result["blocks"] = to_array(std::move(blocks_));
    return result;
  }

 private:
  struct Body {
    size_t entry;
    std::string bytes;
  };

  static int64_t place_of(const Columns& columns, const std::vector<uint32_t>& wanted,
                          const char* name) {
    for (size_t n = 0; n < wanted.size(); ++n)
      if (columns.all().at(wanted[n]).name == name) return int64_t(n);
    return -1;
  }

  size_t cell(size_t n) const { return size_t(steps_[n]) * n_ranks_ + size_t(ranks_[n]); }

  void begin(size_t n) {
    filler_.begin(size_t(ranks_[n]));
    is_first_ = true;
  }

  bool add(size_t n, const unsigned char* body, size_t bytes) {
    StepView step;
    if (!body || !perfield::view_step(body, bytes, &step)) return false;
    if (is_first_)
      joined_.push_back({steps_[n], int32_t(ranks_[n]), step.fixed});
    else
      perfield::add_entry(step.fixed, &joined_.back().fixed);
    is_first_ = false;
    filler_.add(step, waited_for_.empty() ? nullptr : &waited_for_[size_t(steps_[n]) * n_ranks_]);
    if (with_tables_) add_tables(n, step);
    return true;
  }

  void end(size_t n) {
    block_values_.clear();
    filler_.end(out_ + size_t(steps_[n]) * n_wanted_ * n_ranks_ + size_t(ranks_[n]), n_ranks_,
                with_tables_ ? &block_values_ : nullptr);
    for (const auto& b : block_values_)
      blocks_.push_back({steps_[n], int32_t(b.wanted), b.place, b.block, 0, b.value});
  }

  void add_tables(size_t n, const StepView& step) {
    const auto rank = int32_t(ranks_[n]);
    messages_.open(steps_[n], rank);
    received_.open(steps_[n], rank);
    waits_.open(steps_[n], rank);
    for (const perfield::MessageRow row : step.messages) {
      const bool is_own = perfield::sends(row.call);
      const bool leaves = is_own && !perfield::fetches(row.call);
      Message message{steps_[n],
                      leaves ? rank : row.peer,
                      leaves ? row.peer : rank,
                      row.call,
                      row.count,
                      row.bytes,
                      row.empty,
                      row.largest,
                      row.begun_sum,
                      row.wait_begin_sum,
                      row.wait_end_sum,
                      row.number,
                      row.channel,
                      {}};
      std::copy(row.sizes, row.sizes + perfield::kSizeBins, message.sizes);
      (is_own ? messages_ : received_).rows.push_back(message);
    }
    for (const perfield::WaitRow row : step.waits)
      if (row.peer != rank)  // a message to itself
        waits_.rows.push_back({steps_[n], rank, row.peer, row.count, double(row.ns) / 1e9});
  }

  int64_t rank_column_;  // first, since it checks `wanted`
  ColumnFiller filler_;
  size_t n_wanted_, n_ranks_, n_steps_;
  bool with_tables_, is_first_ = true;
  std::vector<int64_t> steps_, ranks_;
  std::vector<uint32_t> left_;    // by step and rank: entries not read yet
  std::vector<uint8_t> several_;  // whether there are several
  std::vector<Joined> joined_;
  py::array_t<double> values_;
  double* out_;
  std::vector<double> waited_for_;
  std::vector<Body> bodies_;
  Ordered<Message> messages_, received_;
  Ordered<Wait> waits_;
  std::vector<BlockValue> blocks_;
  std::vector<ColumnFiller::BlockValue> block_values_;
};

py::dict read_columns(const Columns& columns, const std::vector<std::string>& paths,
                      const Numbers& files, const Offsets& offsets, const Offsets& references,
                      const Numbers& steps, const Numbers& ranks, int64_t n_steps,
                      const std::vector<uint32_t>& wanted, bool with_tables) {
  Reading reading(columns, wanted, steps, ranks, n_steps, with_tables);
  if (size_t(files.size()) != reading.size() || size_t(offsets.size()) != reading.size() ||
      size_t(references.size()) != reading.size())
    throw py::value_error("files, offsets, references, steps and ranks differ in length");
  const int64_t* file = files.data();
  const uint64_t *offset = offsets.data(), *reference = references.data();
  {
    py::gil_scoped_release released;
    reading.prepare();
    std::vector<size_t> order(reading.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const std::vector<uint32_t> batch = reading.batches();
    const auto place = [&](size_t n) { return std::tuple(batch[n], file[n], offset[n]); };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
    std::vector<uint64_t> places, full;
    for (size_t at = 0; at < order.size();) {
      const int64_t number = file[order[at]];
      const size_t first = at;
      places.clear();
      full.clear();
      for (; at < order.size() && file[order[at]] == number &&
             batch[order[at]] == batch[order[first]];
           ++at) {
        places.push_back(offset[order[at]]);
        full.push_back(reference[order[at]]);
      }
      if (number < 0 || size_t(number) >= paths.size()) continue;
      read_steps_at(paths[size_t(number)], places.data(), full.data(), places.size(),
                    [&](size_t n, const unsigned char* body, size_t bytes) {
                      reading.take(order[first + n], body, bytes);
                    });
      reading.add_up();
    }
    reading.finish();
  }
  return reading.result();
}

py::dict decode_columns(const Columns& columns, const std::vector<std::string>& bodies,
                        const Numbers& ranks, const std::vector<uint32_t>& wanted) {
  const Numbers steps(std::vector<ptrdiff_t>{ranks.size()});
  std::fill_n(const_cast<int64_t*>(steps.data()), ranks.size(), 0);
  Reading reading(columns, wanted, steps, ranks, 1, true);
  if (bodies.size() != reading.size())
    throw py::value_error("there are as many bodies as ranks, one of each");
  reading.prepare();
  for (size_t n = 0; n < bodies.size(); ++n)
    reading.take(n, reinterpret_cast<const unsigned char*>(bodies[n].data()), bodies[n].size());
  reading.finish();
  return reading.result();
}

// A quantity that a rank declared: id, name, scope, stored unit, how it adds up over steps, help.
using Declared = std::tuple<int, std::string, std::string, std::string, std::string, std::string>;

void declare(const std::vector<Declared>& quantities, KnownRun* run, perfield::KnownRank* rank) {
  for (const auto& [id, name, scope, stored, over_steps, help] : quantities) {
    if (id < 0 || id > 0xFFFF) continue;
    const perfield::RunQuantity quantity{
        name, stored, help, scope == "rank", over_steps != "sum", over_steps == "max"};
    if (rank->quantities.size() <= size_t(id)) rank->quantities.resize(size_t(id) + 1, -1);
    rank->quantities[size_t(id)] = run->place_of(quantity);
  }
}

std::unique_ptr<Columns> make_columns(const std::vector<std::vector<std::string>>& sources,
                                      const std::vector<std::vector<Declared>>& quantities,
                                      const Numbers& kind_of_rank, const std::vector<int>& calls,
                                      std::vector<std::string> stems, const Numbers& stem_of_region,
                                      const Numbers& block_of_region, const Numbers& local_begin,
                                      const Numbers& local, int32_t other_region,
                                      bool several_threads) {
  KnownRun facts;
  facts.several_threads = several_threads;
  const auto n_ranks = size_t(kind_of_rank.size());
  facts.world_size = uint32_t(n_ranks);
  std::vector<perfield::KnownRank> kinds(sources.size());
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    for (const std::string& name : sources[kind]) kinds[kind].has_source(name);
    if (kind < quantities.size()) declare(quantities[kind], &facts, &kinds[kind]);
  }
  for (size_t rank = 0; rank < n_ranks; ++rank)
    facts.ranks.push_back(kinds.at(size_t(kind_of_rank.at(ptrdiff_t(rank)))));
  for (const int call : calls)
    if (call >= 0 && call < PERFIELD_CALL_LIMIT) facts.calls_seen.set(size_t(call));
  facts.stems = std::move(stems);
  for (ptrdiff_t n = 0; n < stem_of_region.size(); ++n) {
    const auto stem = uint32_t(stem_of_region.at(n));
    if (stem >= facts.stems.size()) throw py::value_error("a region has no stem");
    facts.regions.push_back({stem, int32_t(block_of_region.at(n))});
  }
  const auto n_regions = int64_t(facts.regions.size());
  for (ptrdiff_t n = 0; n < local_begin.size(); ++n)
    facts.local_begin.push_back(uint64_t(local_begin.at(n)));
  for (ptrdiff_t n = 0; n < local.size(); ++n) {
    if (local.at(n) >= n_regions) throw py::value_error("a local id names no region");
    facts.local.push_back(int32_t(local.at(n)));
  }
  const bool rises = std::is_sorted(facts.local_begin.begin(), facts.local_begin.end());
  if (facts.local_begin.size() != n_ranks + 1 || !rises ||
      facts.local_begin.back() > facts.local.size())
    throw py::value_error("local_begin has one number per rank and one more, which rise");
  facts.other_region = other_region < n_regions ? other_region : -1;
  return std::make_unique<Columns>(std::move(facts));
}

py::tuple words_of(const Field& field) {
  return py::make_tuple(field.name, field.unit, field.meaning, field.better, field.source,
                        field.over_steps, field.over_threads, field.in_runs, field.absent);
}

void bind_names(py::module_& module) {
  module.def(
      "fields",
      [] {
        py::list fields;
        for (const Field& field : perfield::all_fields()) fields.append(words_of(field));
        return fields;
      },
      "Every field of fields.def as (name, unit, meaning, better, source, over steps, over "
      "threads,\n"
      "in runs, absent).");
  module.def("reserved_field_names", &perfield::reserved_field_names,
             "Names that no field of a region may have.");
  module.def(
      "identifier", [](const std::string& name) { return perfield::identifier(name); },
      py::arg("name"), "Any text as an identifier.");
  module.def(
      "region_stem", [](const std::string& name) { return perfield::region_stem(name); },
      py::arg("name"), "The prefix of the fields of a region of that name.");
  module.def("region_fields", &perfield::region_fields, py::arg("stem"),
             "Names of all fields that a region may have, except those of quantities.");
  py::class_<perfield::Stems>(
      module, "Stems", "The prefixes of the fields of a run's regions; grows, never renames.")
      .def(py::init())
      .def("add", &perfield::Stems::add, py::arg("met"),
           "Names the new ones of a set of (name, place of the arming call).")
      .def(
          "of",
          [](const perfield::Stems& stems, const std::string& name, uint64_t place) {
            return stems.of({name, place});
          },
          py::arg("name"), py::arg("place"), "The number of a region's stem.")
      .def_property_readonly("names", &perfield::Stems::names, "List of all stems.");
}

void bind_frames(py::module_& module) {
  using Times = py::array_t<int64_t, py::array::c_style | py::array::forcecast>;
  module.def(
      "windows_of_entries",
      [](const Times& realtime_ns, const Offsets& length_ns, int64_t start_ns) {
        if (realtime_ns.size() != length_ns.size())
          throw py::value_error("realtime_ns and length_ns differ in length");
        const perfield::ClockWindows windows(start_ns);
        std::vector<uint64_t> last;
        std::vector<uint32_t> n;
        for (py::ssize_t at = 0; at < realtime_ns.size(); ++at) {
          const auto of = windows.of_entry(realtime_ns.data()[at], length_ns.data()[at]);
          last.push_back(of.last);
          n.push_back(of.n);
        }
        return py::make_tuple(to_array(std::move(last)), to_array(std::move(n)));
      },
      py::arg("realtime_ns"), py::arg("length_ns"), py::arg("start_ns"),
      "The windows of the clock of entries that closed for another reason: (last, n).\n\n"
      "realtime_ns, length_ns : of each entry, CLOCK_REALTIME at its end, and how long it lasted.\n"
      "start_ns : when the run started. last, n : of each entry, its last window and how many.");
  using Spans = py::array_t<uint32_t, py::array::c_style | py::array::forcecast>;
  module.def(
      "join_entries",
      [](const Offsets& indexes, const Spans& spans, uint64_t at_least) {
        if (indexes.size() != spans.size())
          throw py::value_error("indexes and spans differ in length");
        perfield::Frames frames;
        {
          py::gil_scoped_release released;
          frames = perfield::join_entries(indexes.data(), spans.data(), size_t(indexes.size()),
                                          at_least);
        }
        return py::make_tuple(to_array(std::move(frames.of_entry)),
                              to_array(std::move(frames.first)), to_array(std::move(frames.last)));
      },
      py::arg("indexes"), py::arg("spans"), py::arg("at_least") = 1,
      "Joins step entries into frames: (frame of each entry, first and last step of each "
      "frame).\n\n"
      "indexes, spans : of each entry, its last step and how many it adds up; fast where sorted "
      "by\n"
      "index. at_least : frames begin and end at multiples of so many steps.");
}

}  // namespace

void bind_columns(py::module_& module) {
  PYBIND11_NUMPY_DTYPE(Joined, step, rank, fixed);
  PYBIND11_NUMPY_DTYPE(Message, step, source, target, call, count, bytes, empty, largest, begun_sum,
                       wait_begin_sum, wait_end_sum, number, channel, sizes);
  PYBIND11_NUMPY_DTYPE(Wait, step, rank, peer, count, time_s);
  PYBIND11_NUMPY_DTYPE(BlockValue, step, wanted, rank, block, zero, value);
  bind_names(module);
  bind_frames(module);
  py::class_<Columns>(module, "Columns", "Turns step entries into fields: a column each.")
      .def(
          py::init(&make_columns), py::arg("sources"), py::arg("quantities"),
          py::arg("kind_of_rank"), py::arg("calls"), py::arg("stems"), py::arg("stem_of_region"),
          py::arg("block_of_region"), py::arg("local_begin"), py::arg("local"),
          py::arg("other_region"), py::arg("several_threads"),
          "sources : by kind of rank, the names of its sources. quantities : by kind of rank,\n"
          "those that it declared, each as (id, name, scope, unit of its rows, over steps, help).\n"
          "kind_of_rank : of each rank. calls : numbers of those in messages.\n"
          "stem_of_region, block_of_region : by region. local_begin, local : where each rank's\n"
          "regions begin by their local id, and which they are (-1: none). other_region : that of\n"
          "all other ids, -1 for none. several_threads : whether threads shared a region.")
      .def_property_readonly(
          "kinds",
          [](const Columns& columns) {
            py::list kinds;
            for (const perfield::ColumnKind& kind : columns.kinds()) {
              Field field = perfield::field_rows()[kind.row];
              field.name = kind.name;
              field.unit = kind.unit;
              field.meaning = kind.meaning;
              kinds.append(words_of(field));
            }
            return kinds;
          },
          "The kinds of field that the run has, as `fields()` names them.")
      .def_property_readonly(
          "all",
          [](const Columns& columns) {
            py::list all;
            for (const Column& column : columns.all())
              all.append(py::make_tuple(column.name, column.kind, column.stem));
            return all;
          },
          "The fields of the run: (name, number in `kinds`, number of its region's stem or -1).")
      .def(
          "read", &read_columns, py::arg("paths"), py::arg("files"), py::arg("offsets"),
          py::arg("references"), py::arg("steps"), py::arg("ranks"), py::arg("n_steps"),
          py::arg("wanted"), py::arg("with_tables") = false,
          "Reads step entries into columns.\n\n"
          "files, offsets, references : of each entry, the number in `paths`, the place there and\n"
          "`reference_offset` of that place. steps,\n"
          "ranks : where its numbers go; several of one rank and step are added up in their "
          "order.\n"
          "wanted : numbers in `all`. Returns a dict: 'values' (n_steps, n_wanted, n_ranks), NaN\n"
          "where absent; 'entries': step, rank and fixed part of all undamaged entries of each "
          "rank\n"
          "and step together, sorted; with_tables also 'messages', 'received', 'waits', by step "
          "and\n"
          "rank, and 'blocks'.")
      .def("decode", &decode_columns, py::arg("bodies"), py::arg("ranks"), py::arg("wanted"),
           "The same for one step, from bodies given as bytes, with tables.");
}
