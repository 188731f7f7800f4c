// SPDX-License-Identifier: BSD-3-Clause
//
// path_table.cpp - see path_table.hpp.
#include "recorder/path_table.hpp"

#include <algorithm>

#include "format/json.hpp"
#include "recorder/recorder.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

void add_thread(const PathTable::RegionValues& of, const Clock& clock, RegionRow* row) noexcept {
  const uint64_t inclusive = clock.span_ns(of.inclusive), self = clock.span_ns(of.self);
  if (!row->threads) {
    *row = {row->id, 1, of.count, inclusive, inclusive, inclusive, self, self, self};
    return;
  }
  ++row->threads;
  row->count += of.count;
  row->inclusive_sum_ns += inclusive;
  row->inclusive_min_ns = std::min(row->inclusive_min_ns, inclusive);
  row->inclusive_max_ns = std::max(row->inclusive_max_ns, inclusive);
  row->self_sum_ns += self;
  row->self_min_ns = std::min(row->self_min_ns, self);
  row->self_max_ns = std::max(row->self_max_ns, self);
}

void add_thread(const PathTable::Values& of, const Clock& clock, PathRow* row) noexcept {
  const uint64_t inclusive = clock.span_ns(of.inclusive);
  row->count += of.count;
  row->inclusive_sum_ns += inclusive;
  row->inclusive_max_ns = std::max(row->inclusive_max_ns, inclusive);
  row->self_sum_ns += clock.span_ns(of.self);
  row->mpi_ns += clock.span_ns(of.in_calls.mpi);
  row->file_ns += clock.span_ns(of.in_calls.files);
}

// Calls visit for a path and those around it, from inside outwards; for other paths only for them.
template <class Visit>
void for_each_around(const Paths& paths, uint32_t path, Visit visit) {
  while (path != Paths::kOutside) {
    visit(path);
    path = paths.is_other(path) ? Paths::kOutside : paths.outer_of(path);
  }
}

}  // namespace

void PathTable::OfRank::place(Arena& arena, uint32_t max_regions, uint32_t max_paths) noexcept {
  for (Bits* of : {&regions, &defined_regions}) of->place(arena, max_regions);
  for (Bits* of : {&paths, &defined_paths, &sampled_paths}) of->place(arena, max_paths);
  only_path = arena.take<uint32_t>(max_regions);
  region_rows = arena.take<RegionRow>(max_regions);
}

void PathTable::place(Arena& arena, Paths& of_rank, uint32_t max_regions) noexcept {
  known = &of_rank;
  const uint32_t n = known->n_rows();
  rows = arena.take<PathCounters>(n);
  dirty = arena.take<unsigned char>(n);
  in_calls_ = arena.take<CountersInCalls>(n);
  pending_ = arena.take<Values>(n);
  pending_regions_ = arena.take<RegionValues>(max_regions);
  pending_rows_.place(arena, n);
  pending_region_rows_.place(arena, max_regions);
}

// --- collect -------------------------------------------------------------------------------------

bool PathTable::add_pending(uint32_t region, const RegionValues& more) noexcept {
  if (!(more.count | more.inclusive | more.self)) return false;
  RegionValues& values = pending_regions_[region];
  values.count += more.count;
  values.inclusive += more.inclusive;
  values.self += more.self;
  return true;
}

bool PathTable::add_pending(uint32_t path, const Values& more) noexcept {
  if (!(more.count | more.inclusive | more.self | more.in_calls.mpi | more.in_calls.files))
    return false;
  Values& values = pending_[path];
  values.count += more.count;
  values.inclusive += more.inclusive;
  values.self += more.self;
  values.in_calls.mpi += more.in_calls.mpi;
  values.in_calls.files += more.in_calls.files;
  return true;
}

// The time of a region is that of its paths which are in no other of them; rows of other paths hold
// no more than that.
bool PathTable::add_both(OfRank& all, uint32_t path, bool is_outermost,
                         const Values& more) noexcept {
  if (!add_pending(path, more)) return false;
  const uint32_t region = known->region_of(path);
  if (add_pending(region, RegionValues{more.count, is_outermost ? more.inclusive : 0, more.self})) {
    pending_region_rows_.add(region);
    all.regions.add(region);
  }
  return true;
}

void PathTable::collect(OfRank& all, uint64_t dirty_tables, uint32_t n_regions) noexcept {
  const auto take = [&](uint32_t path, bool is_outermost) {
    PathCounters& row = rows[path];
    CountersInCalls& calls = in_calls_[path];
    const bool in_calls = calls.mpi.grown() | calls.files.grown();  // else no page is touched
    return add_both(
        all, path, is_outermost,
        {row.count.take(), row.inclusive.take(), row.self.take(),
         in_calls ? TicksInCalls{calls.mpi.take(), calls.files.take()} : TicksInCalls{}});
  };
  if (has(dirty_tables, DirtyTable::paths))
    collect_dirty(
        dirty, known->size(), [&](uint32_t path) { return take(path, known->is_outermost(path)); },
        pending_rows_, all.paths);
  if (!has(dirty_tables, DirtyTable::other_paths)) return;
  const uint32_t other = known->other(0);
  for_each_dirty<Marks::taken>(dirty + other, n_regions, [&](uint32_t region) {
    if (take(other + region, true)) note(all, other + region);
  });
}

void PathTable::collect_open(OfRank& all, const ThreadState& thread, const RegionStack& stack,
                             uint64_t now) noexcept {
  const uint64_t since = thread.activity->since_ticks.load(relaxed);
  const uint64_t period = thread.activity->period.load(relaxed);
  const int32_t d = std::min(thread.depth.load(std::memory_order_acquire), kStackDepth);
  for (int32_t i = 0; i < d; ++i) {
    const RegionStackEntry& f = stack[i];
    const uint32_t path = stack.path_of(i);
    if (!stack.counts(i) || !path || path >= known->n_rows()) continue;
    const uint64_t begin = std::max(f.entered.load(relaxed), since);
    uint64_t until = now;  // own time ends where the next inner counted region begins
    for (int32_t j = i + 1; j < d; ++j) {
      if (stack.counts(j)) {
        until = std::max(stack[j].entered.load(relaxed), since);
        break;
      }
    }
    const bool outermost = stack.is_outermost(i);
    const bool counts_all = outermost || !known->is_other(path);
    if (add_both(all, path, outermost,
                 {rows[path].count.take(),
                  counts_all ? growth(now, begin) : 0,
                  growth(growth(until, begin), f.children_in(period)),
                  {}}))
      note(all, path);
  }
}

void PathTable::skip(uint64_t dirty_tables, uint32_t n_regions) noexcept {
  const auto skip = [&](uint32_t path) {
    rows[path].inclusive.skip();
    rows[path].self.skip();
    CountersInCalls& calls = in_calls_[path];
    if (calls.mpi.grown() | calls.files.grown()) {
      calls.mpi.skip();
      calls.files.skip();
    }
  };
  if (has(dirty_tables, DirtyTable::paths)) for_each_dirty<Marks::kept>(dirty, known->size(), skip);
  const uint32_t other = known->other(0);
  if (has(dirty_tables, DirtyTable::other_paths))
    for_each_dirty<Marks::kept>(dirty + other, n_regions,
                                [&](uint32_t region) { skip(other + region); });
}

// --- encode --------------------------------------------------------------------------------------

void PathTable::encode_regions(StepRows& to) noexcept {
  Recorder& r = to.recorder;
  if (!r.n_profiles()) return;
  OfRank& all = r.pending.paths;
  r.for_each_pending([&](ThreadProfile& s) {
    PathTable& table = s.paths;
    table.pending_region_rows_.filter(r.regions.size(), [&](uint32_t id) {
      add_thread(table.pending_regions_[id], r.clock, &all.region_rows[id]);
      if (to.empties) table.pending_regions_[id] = {};
      return !to.empties;
    });
  });
  to.table<RegionRow>(StepTable::regions, [&] {
    uint32_t n = 0;
    all.regions.filter(r.regions.size(), [&](uint32_t id) {
      all.region_rows[id].id = id;
      if (to.add(all.region_rows[id])) ++n;
      all.region_rows[id].threads = 0;
      return !to.empties;
    });
    return n;
  });
}

void PathTable::encode_path(StepRows& to, uint32_t path, uint32_t* n) noexcept {
  Recorder& r = to.recorder;
  const uint32_t region = r.paths.region_of(path);
  const bool is_other = r.paths.is_other(path);
  PathRow row = {is_other ? 0 : path, region, 0, 0, 0, 0, 0, 0};
  const bool is_only = r.pending.paths.only_path[region] == path;
  if (is_only && r.paths.outer_of(path) == Paths::kOutside) return;
  if (!is_only)
    r.for_each_pending(
        [&](ThreadProfile& s) { add_thread(s.paths.pending_[path], r.clock, &row); });
  *n += to.add(row);
}

// Which paths have rows: those of regions with several paths; of regions with one, the path alone
// unless it is outside of all other regions. Nobody looks at those of a step that goes on.
void PathTable::encode_paths(StepRows& to) noexcept {
  Recorder& r = to.recorder;
  if (!r.n_profiles() || !to.empties) return;
  OfRank& all = r.pending.paths;
  all.paths.for_each(r.paths.n_rows(), [&](uint32_t path) {
    uint32_t& only = all.only_path[r.paths.region_of(path)];
    only = only || r.paths.is_other(path) ? kSeveral : path;
  });
  to.table<PathRow>(StepTable::paths, [&] {
    uint32_t n = 0;
    all.paths.for_each(r.paths.n_rows(), [&](uint32_t path) { encode_path(to, path, &n); });
    return n;
  });
  all.paths.filter(r.paths.n_rows(), [&](uint32_t path) {
    all.only_path[r.paths.region_of(path)] = 0;
    return false;
  });
  r.for_each_pending([&](ThreadProfile& s) {
    s.paths.pending_rows_.filter(r.paths.n_rows(), [&](uint32_t path) {
      s.paths.pending_[path] = {};
      return false;
    });
  });
}

size_t PathTable::room(Recorder& r) noexcept {
  return r.regions.size() * sizeof(RegionRow) +
         (r.paths.size() + r.regions.size()) * sizeof(PathRow);
}

uint64_t PathTable::bytes(uint32_t n_regions) const noexcept {
  const uint64_t n = known->size();
  uint64_t bytes = bytes_of_pages(n_regions * sizeof(RegionValues)) + bytes_of_pages(n);
  for (const size_t of_path : {sizeof(PathCounters), sizeof(Values), sizeof(CountersInCalls)})
    bytes += bytes_of_pages(n * of_path);
  return bytes;
}

// --- definitions ---------------------------------------------------------------------------------

void PathTable::define_regions(
    Recorder& r, const std::function<bool(uint32_t id, const std::string& json)>& write) {
  if (!r.n_profiles()) return;
  OfRank& all = r.pending.paths;
  const auto define = [&](uint32_t id) {
    const RegionDefinition& d = r.regions[id];
    JsonObject json;
    json.text("name", d.name).text("file", d.file);
    json.integer("line", d.line).integer("block", d.block).natural("armed_at", d.place);
    if (write(id, json.str())) all.defined_regions.add(id);
  };
  all.regions.for_each_beside(all.defined_regions, r.regions.size(), define);
  all.sampled_paths.for_each(r.paths.n_rows(), [&](uint32_t path) {
    for_each_around(r.paths, path, [&](uint32_t around) {
      const uint32_t region = r.paths.region_of(around);
      if (!all.defined_regions.has(region)) define(region);
    });
  });
}

void PathTable::define_paths(
    Recorder& r, const std::function<bool(const std::vector<PathDefinition>& rows)>& write) {
  if (!r.n_profiles()) return;
  OfRank& all = r.pending.paths;
  std::vector<PathDefinition> rows;
  const auto add = [&](uint32_t path) {
    const auto before = std::ptrdiff_t(rows.size());
    for_each_around(r.paths, path, [&](uint32_t around) {
      if (r.paths.is_other(around) || !all.defined_paths.add(around)) return;
      rows.push_back({around, r.paths.outer_of(around), r.paths.region_of(around), 0});
    });
    std::reverse(rows.begin() + before, rows.end());
  };
  all.paths.for_each(r.paths.size(), add);
  all.sampled_paths.for_each(r.paths.n_rows(), add);
  if (!rows.empty() && !write(rows))
    for (const PathDefinition& row : rows) all.defined_paths.remove(row.path);
  all.sampled_paths.for_each(r.paths.n_rows(),
                             [&](uint32_t path) { all.sampled_paths.remove(path); });
}

}  // namespace perfield
