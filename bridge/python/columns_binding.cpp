// SPDX-License-Identifier: BSD-3-Clause
//
// columns_binding.cpp - gives Python the table of fields and the kernel that fills columns. Reads
// and decodes entries without the GIL.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <tuple>

#include "fields/columns.hpp"
#include "fields/fields.hpp"
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

// Collects rows in the order of steps and ranks, in whatever order entries are read.
template <class Row>
class Ordered {
 public:
  void open(int64_t step, int64_t rank) { parts_.push_back({step, rank, rows.size()}); }
  std::vector<Row> take() {
    std::vector<size_t> order(parts_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      return std::pair(parts_[a].step, parts_[a].rank) < std::pair(parts_[b].step, parts_[b].rank);
    });
    std::vector<Row> sorted;
    sorted.reserve(rows.size());
    for (const size_t n : order) {
      const size_t end = n + 1 < parts_.size() ? parts_[n + 1].begin : rows.size();
      sorted.insert(sorted.end(), rows.begin() + ptrdiff_t(parts_[n].begin),
                    rows.begin() + ptrdiff_t(end));
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
        whole_(steps_.size()),
        entries_(steps_.size()),
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
    std::vector<uint8_t> met(n_steps_ * n_ranks_);
    for (size_t n = 0; n < size(); ++n) has_several_ |= met[cell(n)]++ > 0;
  }

  // body: nullptr if the entry is damaged.
  void take(size_t n, const unsigned char* body, size_t bytes) {
    if (has_several_) {
      if (body) bodies_.push_back({n, std::string(reinterpret_cast<const char*>(body), bytes)});
      return;
    }
    begin(n);
    if (add(n, body, bytes)) end(n);
  }

  // Call last: computes values that need all entries.
  void finish() {
    std::stable_sort(bodies_.begin(), bodies_.end(), [this](const Body& a, const Body& b) {
      return std::pair(cell(a.entry), a.entry) < std::pair(cell(b.entry), b.entry);
    });
    for (size_t n = 0; n < bodies_.size();) {
      const size_t first = bodies_[n].entry;
      bool any = false;
      begin(first);
      for (; n < bodies_.size() && cell(bodies_[n].entry) == cell(first); ++n)
        any |=
            add(bodies_[n].entry, reinterpret_cast<const unsigned char*>(bodies_[n].bytes.data()),
                bodies_[n].bytes.size());
      if (any) end(first);
    }
    for (size_t n = 0; n < waited_for_.size(); ++n) {
      const size_t step = n / n_ranks_, rank = n % n_ranks_;
      out_[(step * n_wanted_ + size_t(filler_.waited_for())) * n_ranks_ + rank] +=
          waited_for_[n] * 1e-9;
    }
  }

  py::dict result() {
    py::dict result;
    result["values"] = values_;
    result["whole"] = to_array(std::move(whole_)).attr("astype")("bool");
    result["entries"] = to_array(std::move(entries_));
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

  void begin(size_t n) { filler_.begin(size_t(ranks_[n])); }

  bool add(size_t n, const unsigned char* body, size_t bytes) {
    StepView step;
    if (!body || !perfield::view_step(body, bytes, &step)) return false;
    whole_[n] = 1;
    entries_[n] = step.fixed;
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
      (is_own ? messages_ : received_)
          .rows.push_back({steps_[n], leaves ? rank : row.peer, leaves ? row.peer : rank, row.call,
                           row.count, row.bytes, row.empty, row.largest});
    }
    for (const perfield::WaitRow row : step.waits)
      if (row.peer != rank)  // a message to itself
        waits_.rows.push_back({steps_[n], rank, row.peer, row.count, double(row.ns) / 1e9});
  }

  int64_t rank_column_;  // first, since it checks `wanted`
  ColumnFiller filler_;
  size_t n_wanted_, n_ranks_, n_steps_;
  bool with_tables_, has_several_ = false;
  std::vector<int64_t> steps_, ranks_;
  std::vector<uint8_t> whole_;
  std::vector<perfield::StepBody> entries_;
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
                      const Numbers& files, const Offsets& offsets, const Numbers& steps,
                      const Numbers& ranks, int64_t n_steps, const std::vector<uint32_t>& wanted,
                      bool with_tables) {
  Reading reading(columns, wanted, steps, ranks, n_steps, with_tables);
  if (size_t(files.size()) != reading.size() || size_t(offsets.size()) != reading.size())
    throw py::value_error("files, offsets, steps and ranks differ in length");
  const int64_t* file = files.data();
  const uint64_t* offset = offsets.data();
  {
    py::gil_scoped_release released;
    reading.prepare();
    std::vector<size_t> order(reading.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(file[a], offset[a]) < std::pair(file[b], offset[b]);
    });
    std::vector<uint64_t> places;
    for (size_t at = 0; at < order.size();) {
      const int64_t number = file[order[at]];
      const size_t first = at;
      places.clear();
      for (; at < order.size() && file[order[at]] == number; ++at)
        places.push_back(offset[order[at]]);
      if (number < 0 || size_t(number) >= paths.size()) continue;
      read_at(paths[size_t(number)], places.data(), places.size(),
              [&](size_t n, const perfield::EntryHeader& header, const unsigned char* body) {
                reading.take(order[first + n], is_step(header) ? body : nullptr, header.body_bytes);
              });
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
                                      const std::vector<int>& calls, std::vector<std::string> stems,
                                      const Numbers& stem_of_region, const Numbers& block_of_region,
                                      const Numbers& local_begin, const Numbers& local,
                                      int32_t other_region, bool several_threads) {
  KnownRun facts;
  facts.several_threads = several_threads;
  facts.world_size = uint32_t(sources.size());
  facts.ranks.resize(sources.size());
  for (size_t rank = 0; rank < sources.size(); ++rank) {
    for (const std::string& name : sources[rank]) facts.ranks[rank].has_source(name);
    if (rank < quantities.size()) declare(quantities[rank], &facts, &facts.ranks[rank]);
  }
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
  if (facts.local_begin.size() != sources.size() + 1 || !rises ||
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

}  // namespace

void bind_columns(py::module_& module) {
  PYBIND11_NUMPY_DTYPE(Message, step, source, target, call, count, bytes, empty, largest);
  PYBIND11_NUMPY_DTYPE(Wait, step, rank, peer, count, time_s);
  PYBIND11_NUMPY_DTYPE(BlockValue, step, wanted, rank, block, zero, value);
  bind_names(module);
  py::class_<Columns>(module, "Columns", "Turns step entries into fields: a column each.")
      .def(
          py::init(&make_columns), py::arg("sources"), py::arg("quantities"), py::arg("calls"),
          py::arg("stems"), py::arg("stem_of_region"), py::arg("block_of_region"),
          py::arg("local_begin"), py::arg("local"), py::arg("other_region"),
          py::arg("several_threads"),
          "sources : by rank, the names of its sources. quantities : by rank, those that it\n"
          "declared, each as (id, name, scope, unit of its rows, over steps, help). calls : "
          "numbers\n"
          "of those in messages.\n"
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
          "The kinds of field that the run has, as `fields()` tells them.")
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
          py::arg("steps"), py::arg("ranks"), py::arg("n_steps"), py::arg("wanted"),
          py::arg("with_tables") = false,
          "Reads step entries into columns.\n\n"
          "files, offsets : of each entry, the number in `paths` and the place there. steps,\n"
          "ranks : where its numbers go; several of one rank and step are added up in their "
          "order.\n"
          "wanted : numbers in `all`. Returns a dict: 'values' (n_steps, n_wanted, n_ranks), NaN\n"
          "where absent; 'whole', 'entries': of each entry, whether it could be read, and its "
          "fixed\n"
          "part; with_tables also 'messages', 'received', 'waits', by step and rank, and 'blocks'.")
      .def("decode", &decode_columns, py::arg("bodies"), py::arg("ranks"), py::arg("wanted"),
           "The same for one step, from bodies given as bytes, with tables.");
}
