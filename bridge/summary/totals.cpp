// SPDX-License-Identifier: BSD-3-Clause
//
// totals.cpp - reads a run's streams once and adds them up.
#include "summary/totals.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "format/decode_json.hpp"
#include "format/peers.h"
#include "platform/regular_file.hpp"
#include "summary/text.hpp"

namespace perfield {
namespace {

constexpr uint64_t kOpeningBytes = uint64_t{1} << 20;  // the `rank` entries of a node's ranks

uint64_t pair_key(int32_t source, int32_t target) {
  return uint64_t{static_cast<uint32_t>(source)} << 32 | static_cast<uint32_t>(target);
}

// Whether a `rank` or `end` entry names MPI among its sources.
bool names_mpi(const std::string& text) {
  const std::string sources = json_value(text, "sources");
  return sources.find("\"pmpi\"") != std::string::npos ||
         sources.find("\"scorep-mpi\"") != std::string::npos;
}

Meaning meaning_of(const EntryHeader& header, const unsigned char* body) {
  const std::string text(reinterpret_cast<const char*>(body), header.body_bytes);
  return {json_text(text, "name"), json_text(text, "scope") == "rank"};
}

// As RegionTable calls it in Python.
std::string name_of_lost(uint64_t hash) {
  char name[32];
  snprintf(name, sizeof name, "region %016llx", static_cast<unsigned long long>(hash));
  return name;
}

// Names and sizes of the stream files in a folder, by name.
std::vector<std::pair<std::string, uint64_t>> files_in(const std::string& folder) {
  std::vector<std::pair<std::string, uint64_t>> files;
  DIR* directory = opendir(folder.c_str());
  if (!directory) return files;
  while (const dirent* found = readdir(directory)) {
    const std::string name = found->d_name;
    struct stat status;
    const std::string path = folder + "/" + name;
    if (name.size() > 3 && name.compare(name.size() - 3, 3, ".pf") == 0 &&
        lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode))
      files.emplace_back(path, static_cast<uint64_t>(status.st_size));
  }
  closedir(directory);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

void OutsideRegions::add(const StepView& step, double compute, double calls,
                         const std::unordered_map<uint32_t, double>& calls_inside) {
  compute_ns += compute;
  // Own times of regions add up to the time in any region. Regions without inner ones never
  // overlap.
  double in_regions = 0, deepest = 0, leaves = 0, all = 0;
  for (const RegionRow row : step.regions) {
    any_region = true;
    in_regions += double(row.self_sum_ns);
    const auto found = calls_inside.find(row.id);
    const double inside = found == calls_inside.end() ? 0 : found->second;
    deepest = std::max(deepest, inside);
    if (row.self_sum_ns == row.inclusive_sum_ns) leaves += inside;
    all += inside;
  }
  const double measured = double(step.fixed.measured_ns);
  const auto outside = [&](double calls_in_regions) {
    return std::clamp(measured - in_regions - (calls - calls_in_regions), 0.0, compute);
  };
  least_ns += outside(std::min(calls, std::max(deepest, leaves)));
  most_ns += outside(std::min(calls, all));
}

RankSums Totals::add(int32_t rank, uint64_t index, uint64_t group, bool is_blind,
                     const StepView& step, const std::vector<KnownQuantity>& quantities,
                     const MeshIds& mesh) {
  RankSums entry;
  entry.has_mpi = !is_blind;
  entry.add(step, quantities);
  if (is_blind) entry.known_without_pu = 0;  // it may have waited in MPI
  ranks[rank].add(entry);
  delayed_ns[rank] += entry.delayed_ns();

  for (const MessageRow row : step.messages) {
    if (!sends(row.call)) continue;  // the sender counted it
    PairTotals* sums[2] = {&messages, row.peer == kPeerUnknown ? &unknown : nullptr};
    const uint64_t key = fetches(row.call) ? pair_key(row.peer, rank) : pair_key(rank, row.peer);
    if (row.peer >= 0 && (pairs.size() < kMostPairs || pairs.count(key))) sums[1] = &pairs[key];
    for (PairTotals* sum : sums) {
      if (!sum) continue;
      sum->count += row.count;
      sum->bytes += row.bytes;
      sum->empty += row.empty;
    }
  }

  const uint64_t number = (index & kIndexOfKey) | group << kGroupOfKey;
  for (const WaitRow row : step.waits) {
    const uint64_t key = pair_key(rank, row.peer);
    if (row.peer < 0 || row.peer == rank) continue;
    if (waits.size() < kMostPairs || waits.count(key)) waits[key] += row.ns;
    waited_steps.push_back({number, rank, row.peer, float(row.ns)});
  }
  for (const RegionRow row : step.regions) {
    RegionTotals& region = regions[region_key(rank, row.id)];
    region.visits += row.count;
    region.time_ns += row.inclusive_max_ns;
  }
  for (const QuantityRow row : step.quantities) {
    const int known = row.quantity < quantities.size() ? int(quantities[row.quantity]) : -1;
    if (known >= 0 && known < kMpiClasses && may_wait(uint16_t(known)))
      regions[region_key(rank, row.region)].waiting_ns += row.value;
  }

  const uint32_t span = step.fixed.span;
  entries.push_back({number, step.fixed.label, step.fixed.time, double(step.fixed.measured_ns),
                     entry.io_write_bytes, rank, span});
  if (!entry.has_mpi) return entry;
  RankStep here{number,
                step.fixed.label,
                rank,
                span,
                float(entry.measured_ns),
                float(entry.mpi_ns()),
                float(entry.waiting_ns()),
                float(entry.io_ns()),
                float(entry.compute_ns()),
                float(entry.compute_cpu_ns()),
                float(entry.sent.bytes),
                NAN,
                NAN,
                NAN};
  std::unordered_map<uint32_t, double> inside, waits_inside;  // ns of calls, by region
  for (const QuantityRow row : step.quantities) {
    const int id = row.quantity;
    const int known = size_t(id) < quantities.size() ? int(quantities[size_t(id)]) : -1;
    if (row.region != kOfRank) {
      if (known >= 0 && known < kTimesInside) inside[row.region] += double(row.value);
      if (known >= 0 && known < kMpiClasses && may_wait(uint16_t(known)))
        waits_inside[row.region] += double(row.value);
      continue;
    }
    if (id == mesh.cells) here.cells = float(row.value);
    if (id == mesh.points) here.points = float(row.value);
    if (id == mesh.ghost_cells) here.ghost_cells = float(row.value);
  }
  rank_steps.push_back(here);
  outside_regions.add(step, entry.outside_calls_ns(), entry.mpi_ns() + entry.file_ns, inside);
  for (const RegionRow row : step.regions) {
    const auto without = [&](const std::unordered_map<uint32_t, double>& calls) {
      const auto found = calls.find(row.id);
      return std::max(double(row.inclusive_max_ns) - (found == calls.end() ? 0 : found->second),
                      0.0);
    };
    const double own = std::min(double(row.self_max_ns), without(waits_inside));
    region_steps.push_back({number, rank, row.id, float(without(inside)), float(own)});
  }
  return entry;
}

void LongestSpan::add(uint64_t index, uint32_t span, bool is_measured) {
  any_measured = any_measured || is_measured;
  if (!any_measured) return;  // skipped at the start
  const uint64_t first = index + 1 - std::min<uint64_t>(span, index + 1);
  if (span < steps || span <= (is_measured ? configured : 1)) return;
  from = span > steps ? first : std::min(from, first);
  steps = span;
  one_in_many = !is_measured;
}

std::string LongestSpan::in_words() const {
  if (!from) return "";  // none, or all entries are alike
  const std::string begin = "; from step " + text_of_count(from) + " on ";
  if (one_in_many) return begin + "one step in " + text_of_count(steps + 1) + " is measured";
  return begin + text_of_count(steps) + " steps share an entry";
}

RankSums Totals::of_all_ranks() const {
  RankSums all;
  for (const auto& [rank, own] : ranks) all.add(own);
  return all;
}

LargestShare Totals::largest_share(const std::function<double(const RankSums&)>& ns) const {
  LargestShare largest;
  for (const auto& [rank, own] : ranks) {
    const double share = own.measured_ns > 0 ? ns(own) / own.measured_ns : 0;
    if (share > largest.share) largest = {rank, share};
  }
  return largest;
}

uint64_t RunTotals::n_blind() const {
  if (size < 2) return 0;
  return static_cast<uint64_t>(
      std::count_if(blind.begin(), blind.end(), [](const auto& entry) { return entry.second; }));
}

uint64_t RunTotals::counted(const EntryHeader& header) const {
  const auto found = restarted.find(header.rank);
  if (steps_by_clock || found == restarted.end() || header.index < found->second)
    return header.index;
  return header.index - found->second;
}

void RunTotals::add(const EntryHeader& header, const unsigned char* body, const StepView* step) {
  const auto type = static_cast<EntryType>(header.type);
  if ((!step && header.version != body_version(type)) || !is_of_world(header.rank) || !body) return;
  if (type == EntryType::rank) {
    const std::string text(reinterpret_cast<const char*>(body), header.body_bytes);
    host[header.rank] = json_text(text, "host");
    node[header.rank] = node_in(text);
    cpus[header.rank] = json_text(text, "cpuset");
    longest_span.configured = uint64_t(json_integer(text, "sum_every", -1));
    group[header.rank] = groups.emplace(json_text(text, "group"), groups.size()).first->second;
    arrivals.add_rank(header.rank, text);
    blind[header.rank] = !names_mpi(text);
  } else if (type == EntryType::clock) {
    arrivals.add_clock(header.rank,
                       std::string(reinterpret_cast<const char*>(body), header.body_bytes));
  } else if (type == EntryType::communicator) {
    arrivals.add_communicator(uint32_t(header.index), header.rank,
                              std::string(reinterpret_cast<const char*>(body), header.body_bytes));
  } else if (type == EntryType::events) {
    if (header.index >= restarted[header.rank])
      arrivals.add_log(header.rank, int64_t(counted(header)), body, header.body_bytes);
  } else if (type == EntryType::region || type == EntryType::quantity) {
    define(header.rank, type, uint32_t(header.index), meaning_of(header, body));
  } else if (type == EntryType::definition) {
    add_meaning(header, body);
  } else if (type == EntryType::defined) {
    DefinedRow row;
    for (size_t at = 0; at + sizeof row <= header.body_bytes; at += sizeof row) {
      std::memcpy(&row, body + at, sizeof row);
      const auto found = meanings.find(row.hash);
      if (found == meanings.end())
        undefined.push_back({header.rank, row});
      else
        define(header.rank, EntryType(row.type), row.id, found->second);
    }
  } else if (type == EntryType::place) {
    const std::string text(reinterpret_cast<const char*>(body), header.body_bytes);
    const std::string moved_to = json_text(text, "cpuset");
    if (!moved_to.empty()) {
      cpus[header.rank] = moved_to;
      n_threads[header.rank] = std::max<size_t>(1, json_texts(text, "cpusets_of_threads").size());
    }
  } else if (type == EntryType::end) {
    const std::string text(reinterpret_cast<const char*>(body), header.body_bytes);
    if (names_mpi(text)) blind[header.rank] = false;
    if (json_text(text, "reason") != "abort")
      closed_at_end[header.rank] = uint64_t(
          std::max<int64_t>(0, json_integer(text, "steps", 0) - int64_t(restarted[header.rank])));
    n_missing += uint64_t(json_integer(text, "missing", 0));
    n_missing += uint64_t(json_integer(text, "missing_of_mesh", 0));
    n_unsafe += json_value(text, "synced") == "false";
    seen.add(text);
  } else if (step) {
    memory[header.rank] = step->fixed.perfield_bytes;
    faults += step->fixed.faults;
    overflowed += step->fixed.overflowed;
    const StepView windows_of_it = as_windows(header.rank, *step);
    add_step(header, has_made_windows ? windows_of_it : *step);
  }
}

StepView RunTotals::as_windows(int32_t rank, const StepView& step) {
  const uint64_t length_ns = step.fixed.end_ns - std::min(step.fixed.begin_ns, step.fixed.end_ns);
  const ClockWindows::Range of = clock_windows.of_entry(step.fixed.realtime_ns, length_ns);
  MadeWindows& made = made_windows[rank];
  StepView found = step;
  found.fixed.label = int64_t(of.last);
  found.fixed.time = ClockWindows::end_s(of.last + 1);
  found.fixed.span = of.last == made.last ? 0 : of.n;
  found.fixed.flags &= uint16_t(~kStepLabelFell);
  made.n += of.last != made.last;
  made.last = of.last;
  return found;
}

void RunTotals::add_step(const EntryHeader& header, const StepView& step) {
  const auto kind = static_cast<StepKind>(step.fixed.kind);
  uint64_t& first = restarted[header.rank];
  if (kind == StepKind::setup && header.index > first) {
    is_to_be_read_again = true;
    first = header.index;
  }
  if (kind == StepKind::setup && header.index == first) begun_anew.insert(header.rank);
  const bool is_window = kind == StepKind::window;
  windows[header.rank] += is_window;
  any_other |= !is_window;
  const bool is_step = kind == StepKind::step && header.index >= first;
  const bool is_behind =
      kind == StepKind::teardown && (first == 0 || begun_anew.count(header.rank) > 0);
  const auto last = last_step.find(header.rank);
  const bool is_part = is_behind && last != last_step.end() && header.index <= last->second;
  if (is_step && (last == last_step.end() || last->second < header.index)) {
    last_step[header.rank] = header.index;
    if (parts[header.rank][2].is_known()) is_to_be_read_again = true;  // that was a part of steps
  }
  const bool inside = has_made_windows || (is_window ? has_windows : is_step || is_part);
  const uint64_t index = has_made_windows ? uint64_t(step.fixed.label) : counted(header);
  if (inside) {
    uint64_t& mine = closed[header.rank];
    mine += is_step ? std::max(1u, step.fixed.span) : step.fixed.span;
    steps.n_steps = std::max(steps.n_steps, mine);
  }
  const bool is_measured = !(step.fixed.flags & kStepNotMeasured);
  PartTimes& part = parts[header.rank][inside ? 1 : is_behind ? 2 : 0];
  part.begin_ns = std::min(part.begin_ns, step.fixed.begin_ns);
  part.end_ns = std::max(part.end_ns, step.fixed.end_ns);
  if (inside && is_measured) arrivals.add_step(header.rank, int64_t(index), step);
  if (inside) longest_span.add(index, step.fixed.span, is_measured);
  if (!is_measured) {
    steps.n_unmeasured += inside;
    return;
  }
  const RankSums sums =
      (inside ? steps : outside)
          .add(header.rank, inside ? index : 0, group[header.rank], size > 1 && blind[header.rank],
               step, quantities[header.rank], mesh_ids[header.rank]);
  part.measured_ns += sums.measured_ns;
  part.waiting_ns += sums.waiting_ns();
}

bool RunTotals::needs_windows() const {
  if (has_windows || steps.n_steps > 0) return false;
  const auto is_any = [](const auto& of_ranks, auto is) {
    return std::any_of(of_ranks.begin(), of_ranks.end(), [is](auto& of) { return is(of.second); });
  };
  return any_other ? is_any(made_windows, [](auto& of) { return of.n >= kFewestWindows; })
                   : is_any(windows, [](auto n) { return n >= kFewestWindows; });
}

void RunTotals::take_waiting() {
  waiting = arrivals.find();
  arrivals = {};
  if (!(waiting.waiting_ns > 0)) return;
  delays = delay_regions(*this);
  steps.waited_steps.clear();  // by the status of calls, which stamps replace
  for (const CausedWaiting& caused : waiting.caused) {
    const int32_t rank = caused.cost.rank;
    steps.waited_steps.push_back(
        {(uint64_t(caused.cost.step) & kIndexOfKey) | group[rank] << kGroupOfKey, rank, rank,
         float(caused.ns())});
  }
}

void RunTotals::add_meaning(const EntryHeader& header, const unsigned char* body) {
  if (!meanings.emplace(header.index, meaning_of(header, body)).second) return;
  const auto is_meant = [&](const std::pair<int32_t, DefinedRow>& missing) {
    if (missing.second.hash != header.index) return false;
    define(missing.first, EntryType(missing.second.type), missing.second.id,
           meanings[header.index]);
    return true;
  };
  undefined.erase(std::remove_if(undefined.begin(), undefined.end(), is_meant), undefined.end());
}

void RunTotals::define(int32_t rank, EntryType type, uint32_t id, const Meaning& meaning) {
  if (type == EntryType::region) {
    region_names[region_key(rank, id)] = meaning.name;
    return;
  }
  id = uint16_t(id);
  std::vector<KnownQuantity>& of_rank = quantities[rank];
  if (of_rank.size() <= id) of_rank.resize(id + 1, KnownQuantity::none);
  of_rank[id] = known_quantity(meaning.name, meaning.is_per_rank);
  MeshIds& mesh = mesh_ids[rank];
  if (meaning.is_per_rank && meaning.name == "cells") mesh.cells = int(id);
  if (meaning.is_per_rank && meaning.name == "points") mesh.points = int(id);
  if (meaning.is_per_rank && meaning.name == "ghost_cells") mesh.ghost_cells = int(id);
}

void RunTotals::define_lost() {
  for (const auto& [rank, row] : undefined)
    if (row.type == uint16_t(EntryType::region))
      define(rank, EntryType::region, row.id, {name_of_lost(row.hash)});
  n_damaged += !undefined.empty();
}

int64_t largest_world(uint64_t n_ranks) noexcept {
  constexpr uint64_t kMost = 1 << 24, kPlain = 1 << 18, kForEach = 16;
  return int64_t(std::min(kMost, std::max(kPlain, std::min(n_ranks, kMost) * kForEach)));
}

// Most entries are right about the world: one damaged number must not make millions of ranks.
void RunTotals::take_sizes(const std::map<int32_t, int64_t>& stated) {
  const int64_t most = largest_world(stated.size());
  std::map<int64_t, uint64_t> times;
  not_believed.bound = most;
  not_believed.of = stated.size();
  for (const auto& [rank, its_size] : stated) {
    if (its_size > 0 && its_size <= most) ++times[its_size];
    if (its_size <= most) continue;
    ++not_believed.n;
    not_believed.largest = std::max(not_believed.largest, its_size);
  }
  uint64_t most_often = 0;
  for (const auto& [its_size, n] : times)
    if (n > most_often) {
      most_often = n;
      size = its_size;
    }
}

bool RunTotals::is_repeated(const EntryHeader& header) {
  const bool is_rank = header.type == static_cast<uint16_t>(EntryType::rank);
  const auto [found, is_first] = newest.insert({header.rank, header.sequence});
  if (!is_first && !is_rank && header.sequence <= found->second) return true;
  found->second = header.sequence;
  return false;
}

namespace {

std::string no_summary(const std::string& what, int reason) {
  return what + " cannot be read here (" + strerror(reason) +
         "), so there is no summary; `perfield info` may print it later";
}

std::string why_no_streams(const std::string& run_path) {
  if (DIR* folder = opendir((run_path + "/stream").c_str())) {
    closedir(folder);
  } else if (errno == ENOENT && access(run_path.c_str(), F_OK) != 0 && errno == ENOENT) {
    return "the run directory " + run_path +
           " is not there: it was deleted, moved, or hidden by a change of the root directory";
  } else if (errno != ENOENT) {
    return no_summary("the run directory " + run_path, errno);
  }
  return "nothing was recorded in " + run_path + ": no rank has written a stream";
}

std::string read_once(const std::string& run_path, uint64_t max_bytes, RunTotals* totals) {
  constexpr size_t kMostBytes = size_t{1} << 24;  // of a run.json
  std::string text;
  read_regular(run_path + "/run.json", kMostBytes, &text, run_path.c_str());
  const uint64_t run_id = json_run_id(text);
  totals->steps_by_clock =
      totals->has_windows || (text.find("\"step_seconds\": ") != std::string::npos &&
                              text.find("\"step_seconds\": 0,") == std::string::npos);
  totals->clock_windows = ClockWindows(json_integer(text, "start_ns", 0));
  totals->injected = json_value(text, "injected");
  const std::string configuration = json_value(text, "configuration");
  totals->seen.regions = json_value(configuration, "regions") != "[]";
  totals->seen.messages = json_value(configuration, "messages") != "false";
  const auto streams = files_in(run_path + "/stream");
  if (streams.empty()) return why_no_streams(run_path);
  for (const auto& file : files_in(run_path + "/mesh")) totals->mesh_bytes += file.second;
  for (const auto& file : streams) totals->stream_bytes += file.second;

  const EntryVisitor take_meanings = [totals](const EntryHeader& header, uint64_t,
                                              const unsigned char* body, const StepView*) {
    if (header.type == uint16_t(EntryType::definition) && body) totals->add_meaning(header, body);
  };
  std::map<int32_t, int64_t> stated;  // sizes of the world, by rank
  const EntryVisitor take_sizes = [&](const EntryHeader& header, uint64_t offset,
                                      const unsigned char* body, const StepView* step) {
    take_meanings(header, offset, body, step);
    if (header.type == uint16_t(EntryType::rank) && body)
      stated[header.rank] = json_integer(
          std::string(reinterpret_cast<const char*>(body), header.body_bytes), "size", 0);
  };
  const EntryVisitor take_ranks = [totals](const EntryHeader& header, uint64_t,
                                           const unsigned char* body, const StepView*) {
    const auto type = static_cast<EntryType>(header.type);
    if (type == EntryType::rank || type == EntryType::region || type == EntryType::quantity ||
        type == EntryType::place || type == EntryType::definition || type == EntryType::defined ||
        type == EntryType::clock || type == EntryType::communicator)
      totals->add(header, body, nullptr);
  };
  const double share = std::min(1.0, double(max_bytes) / double(totals->stream_bytes + 1));
  const auto begin_in = [&](uint64_t bytes) {
    return bytes - (share < 1 ? static_cast<uint64_t>(share * double(bytes)) : bytes);
  };
  int trouble = 0;
  bool any_opened = false;
  for (const auto& [path, bytes] : streams) {  // one rank's definition serves all
    StreamFile file(path);
    if (!file.opened()) trouble = errno;
    any_opened = any_opened || file.opened();
    scan_entries(file, 0, std::min(bytes, kOpeningBytes), run_id, take_sizes);
  }
  if (!any_opened) return no_summary("the streams of " + run_path, trouble);
  totals->take_sizes(stated);
  for (const auto& [path, bytes] : streams) {
    if (!begin_in(bytes)) continue;  // read below
    StreamFile file(path);
    scan_entries(file, 0, std::min(begin_in(bytes), kOpeningBytes), run_id, take_ranks);
  }
  for (const auto& [path, bytes] : streams) {
    StreamFile file(path);
    const uint64_t begin = begin_in(bytes);
    totals->newest.clear();
    bool looked_everywhere = false;
    const EntryVisitor take = [&, &path = path](const EntryHeader& header, uint64_t,
                                                const unsigned char* body, const StepView* step) {
      if (totals->is_repeated(header)) return;
      totals->add(header, body, step);
      if (totals->undefined.empty() || looked_everywhere) return;
      looked_everywhere = true;
      StreamFile again(path);
      scan_entries(again, 0, again.size(), run_id, take_meanings);
    };
    const ScanResult found = scan_entries(file, begin, file.size(), run_id, take);
    for (const Damage& damage : found.damage)  // the cut inside an entry is our own
      totals->n_damaged += damage.offset != begin || begin == 0;
    if (!begin) totals->n_damaged += found.waiting.size();  // else what they name lies before
    for (const auto& stranger : found.strangers) totals->n_strangers += stranger.second;
    totals->bytes_read += bytes - begin;
  }
  if (!totals->is_to_be_read_again && totals->needs_windows()) {
    totals->has_windows = totals->is_to_be_read_again = true;
    totals->has_made_windows = totals->any_other;
  }
  if (totals->is_to_be_read_again) return "";
  totals->define_lost();
  if (totals->arrivals.any()) totals->take_waiting();
  totals->steps.join();
  return "";
}

}  // namespace

std::string read_totals(const std::string& run_path, uint64_t max_bytes, RunTotals* totals) {
  for (;;) {
    const std::string error = read_once(run_path, max_bytes, totals);
    if (!totals->is_to_be_read_again) return error;
    RunTotals again;
    again.restarted = totals->restarted;
    again.last_step = totals->last_step;
    again.has_windows = totals->has_windows;
    again.has_made_windows = totals->has_made_windows;
    *totals = std::move(again);
  }
}

}  // namespace perfield
