// SPDX-License-Identifier: BSD-3-Clause
//
// imbalance.cpp - see imbalance.hpp. docs/closing-lines.md explains the sentences and their tests.
#include "summary/imbalance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>

#include "summary/text.hpp"

namespace perfield {
namespace {

constexpr double kWorthTelling = 0.01;  // of the run's time
constexpr double kEnough = 0.6;         // of the imbalance, for an explanation
constexpr double kChance = 0.05;        // of an explanation, over all that are tried
constexpr double kCellsAlike = 0.01;
constexpr double kDearer = 1.1;        // than another rank's cell
constexpr double kWholeStep = 0.95;    // such a region says nothing about the place
constexpr double kMuchOutside = 0.25;  // of compute time in no region
constexpr size_t kMostNames = 3;
constexpr size_t kFewSteps = 10;  // in which little is beyond chance

std::string number(double value, int digits = 2) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

// "rank 2", "ranks 2 and 5", "ranks 0, 1, 2 and 4 more"
std::string names_of(const std::vector<size_t>& columns, const std::vector<int32_t>& ranks) {
  std::string text = columns.size() == 1 ? "rank " : "ranks ";
  const size_t shown = std::min(columns.size(), kMostNames);
  for (size_t n = 0; n < shown; ++n) {
    const bool is_last = n + 1 == columns.size();
    text += (n == 0 ? "" : is_last ? " and " : ", ") + std::to_string(ranks[columns[n]]);
  }
  if (shown < columns.size()) text += " and " + std::to_string(columns.size() - shown) + " more";
  return text;
}

double of_ranks(const Table& table, const std::vector<size_t>& columns) {
  double sum = 0;
  for (const size_t column : columns) sum += table.of_rank(column);
  return sum;
}

// How long the steps took: the time of the rank that measured longest.
double elapsed_ns(const Tables& tables) {
  const Table measured = tables.of(&RankStep::measured_ns);
  double most = 0;
  for (size_t rank = 0; rank < measured.n_ranks; ++rank)
    most = std::max(most, measured.of_rank(rank));
  return most;
}

// --- what explains an imbalance ------------------------------------------------------------------

// What the dear ranks have of a table, relative to the mean: in each step the fixed ones, or the
// one that was slowest. Steps weigh as much as their compute time.
double ratio_of_dear(const Table& table, const Table& compute, const Differences& found) {
  double all = 0, weighted = 0;
  for (size_t step = 0; step < compute.n_steps; ++step) {
    const double time = compute.mean(step), mean = table.mean(step);
    if (!(time > 0) || !(mean > 0)) continue;
    double dear = 0;
    for (const size_t rank : found.most) dear += table.at(step, rank) / double(found.most.size());
    if (found.most.empty()) dear = table.at(step, compute.largest(step));
    all += time;
    weighted += time * dear / mean;
  }
  return all > 0 ? weighted / all : 1;
}

// How much of the differences in a cause becomes differences in compute time: the slope of a line
// through all ranks and steps, 1 where time is proportional to the cause. Less where a part of the
// time is the same for all; never more.
double slope(const Table& compute, const Table& cause) {
  double xx = 0, xy = 0;
  for (size_t step = 0; step < compute.n_steps; ++step) {
    const double time = compute.mean(step), mean = cause.mean(step);
    if (!(time > 0) || !(mean > 0)) continue;
    for (size_t rank = 0; rank < compute.n_ranks; ++rank) {
      const double x = cause.at(step, rank) / mean - 1;
      xx += time * x * x;
      xy += time * x * (compute.at(step, rank) / time - 1);
    }
  }
  return xx > 0 ? std::clamp(xy / xx, 0.0, 1.0) : 0;
}

// The imbalance that the cause makes of itself.
double explained(const Table& compute, const Table& cause, const Differences& found) {
  return 1 + slope(compute, cause) * (ratio_of_dear(cause, compute, found) - 1);
}

// Whether that is most of the imbalance.
bool is_enough(const Table& compute, const Table& cause, const Differences& found) {
  return explained(compute, cause, found) - 1 >=
         kEnough * (ratio_of_dear(compute, compute, found) - 1);
}

// The chance that ranks with much of the cause have so much compute time.
double chance_of_correlation(const Table& compute, const Table& cause) {
  const size_t n = compute.n_ranks;
  if (n < 3) return 1;
  const double x_mean = cause.sum() / double(n), y_mean = compute.sum() / double(n);
  double xx = 0, yy = 0, xy = 0;
  for (size_t rank = 0; rank < n; ++rank) {
    const double x = cause.of_rank(rank) - x_mean, y = compute.of_rank(rank) - y_mean;
    xx += x * x;
    yy += y * y;
    xy += x * y;
  }
  if (xx <= 0 || yy <= 0) return 1;
  const double r = std::min(xy / std::sqrt(xx * yy), 1 - 1e-12);
  return chance_of_t(r * std::sqrt(double(n - 2) / (1 - r * r)), double(n - 2));
}

// The chance that the slowest rank is so often the one with most of the cause. Steps in which the
// same rank stays slowest count once.
double chance_of_agreement(const Table& compute, const Table& cause, double stay) {
  size_t alike = 0;
  for (size_t step = 0; step < compute.n_steps; ++step)
    alike += compute.largest(step) == cause.largest(step);
  const auto tries = size_t(double(compute.n_steps) / std::max(1.0, stay));
  const auto hits = size_t(double(tries) * double(alike) / double(compute.n_steps));
  return chance_of_hits(hits, tries, 1 / double(compute.n_ranks));
}

bool explains(const Table& compute, const Table& cause, const Differences& found, size_t n_tried) {
  if (!is_enough(compute, cause, found)) return false;
  const double chance = found.pattern == Pattern::fixed
                            ? chance_of_correlation(compute, cause)
                            : chance_of_agreement(compute, cause, found.stay);
  return chance <= kChance / double(n_tried);
}

// What the cells of the dearest ranks cost, where their number is no explanation.
std::string cost_of_cells(const Table& compute, const Table& cells, const Differences& found) {
  const double dear_cells = of_ranks(cells, found.most), dear = of_ranks(compute, found.most);
  const double other_cells = cells.sum() - dear_cells, other = compute.sum() - dear;
  if (!(dear_cells > 0) || !(other_cells > 0) || !(other > 0)) return "";
  double most = 0, mean = cells.sum() / double(cells.n_ranks);
  for (size_t rank = 0; rank < cells.n_ranks; ++rank)
    most = std::max(most, std::fabs(cells.of_rank(rank) / mean - 1));
  const double alone = ratio_of_dear(cells, compute, found);
  if (compute.n_ranks < 3 && is_enough(compute, cells, found))
    return ": cell counts alone give " + number(alone) + " (2 ranks are too few to test that)";
  const double dearer = dear / dear_cells * other_cells / other;
  const std::string counts = most < kCellsAlike ? ": as many cells as others"
                                                : ": cell counts alone give " + number(alone);
  return counts + (dearer < kDearer ? "" : ", each " + number(dearer, 1) + " times as dear");
}

std::string explanation(const Tables& tables, const Table& compute, const Differences& found) {
  struct Cause {
    const char* words;
    float RankStep::*number;
  };
  constexpr Cause causes[] = {{"cell counts explain ", &RankStep::cells},
                              {"points explain ", &RankStep::points},
                              {"ghost cells explain ", &RankStep::ghost_cells},
                              {"bytes sent explain ", &RankStep::sent_bytes}};
  for (const Cause& cause : causes) {
    const Table table = tables.of(cause.number);
    if (table.n_ranks && explains(compute, table, found, std::size(causes)))
      return std::string(", ") + cause.words + number(explained(compute, table, found));
  }
  const Table cells = tables.of(&RankStep::cells);
  if (!cells.n_ranks || found.pattern != Pattern::fixed) return "";
  return cost_of_cells(compute, cells, found);
}

// --- ranks that share PUs ------------------------------------------------------------------------

// The numbers of a list such as "0-3,8".
std::vector<int> numbers_of(const std::string& list) {
  std::vector<int> found;
  const char* at = list.c_str();
  int begin, end, read;
  while (std::sscanf(at, "%d%n", &begin, &read) == 1) {
    at += read;
    end = begin;
    if (*at == '-' && std::sscanf(at, "-%d%n", &end, &read) == 1) at += read;
    for (int pu = begin; pu <= std::min(end, begin + (1 << 16)); ++pu) found.push_back(pu);
    if (*at != ',') break;
    ++at;
  }
  return found;
}

// Ranks of one host whose sets of PUs overlap.
struct Sharing {
  std::vector<int32_t> ranks;
  std::vector<int> pus;  // sorted
  bool bound = true;     // each rank to one PU
};

std::vector<Sharing> sharings(const RunTotals& run) {
  std::map<std::string, std::vector<Sharing>> by_host;
  for (const auto& [rank, cpus] : run.cpus) {
    Sharing all;
    all.ranks = {rank};
    all.pus = numbers_of(cpus);
    std::sort(all.pus.begin(), all.pus.end());
    const auto host = run.host.find(rank);
    if (all.pus.empty() || host == run.host.end()) continue;  // its rank entry is damaged
    all.bound = all.pus.size() == 1;
    std::vector<Sharing> apart;
    for (Sharing& other : by_host[host->second]) {
      std::vector<int> both;
      std::set_intersection(all.pus.begin(), all.pus.end(), other.pus.begin(), other.pus.end(),
                            std::back_inserter(both));
      if (both.empty()) {
        apart.push_back(std::move(other));
        continue;
      }
      std::vector<int> together;
      std::set_union(all.pus.begin(), all.pus.end(), other.pus.begin(), other.pus.end(),
                     std::back_inserter(together));
      all.pus = together;
      all.ranks.insert(all.ranks.end(), other.ranks.begin(), other.ranks.end());
      all.bound &= other.bound;
    }
    apart.push_back(std::move(all));
    by_host[host->second] = std::move(apart);
  }
  std::vector<Sharing> found;
  for (const auto& [host, of_host] : by_host)
    for (const Sharing& sharing : of_host)
      if (sharing.ranks.size() > sharing.pus.size()) found.push_back(sharing);
  return found;
}

}  // namespace

Computing::Computing(const Tables& tables)
    : time(tables.of(&RankStep::compute_ns)), found(differences(time)) {}

std::string imbalance_line(const Tables& tables, const Computing& computing, size_t n_known) {
  const Table& compute = computing.time;
  const Differences& found = computing.found;
  if (compute.n_ranks < 2 || compute.sum() <= 0) return "";
  const double elapsed = elapsed_ns(tables);
  const std::string whose =
      tables.ranks().size() < n_known
          ? "; " + text_of_ranks(tables.ranks()) + ", " + plural(compute.n_steps, "step")
          : "";
  std::string text = number(found.ratio) + " (compute time, slowest / mean" + whose + "): ";
  const std::string saving = "; balancing would save " + text_of_time(found.saved) + " (" +
                             text_of_share(found.saved / std::max(elapsed, 1.0)) + ")";
  switch (found.pattern) {
    case Pattern::fixed:
      text += names_of(found.most, tables.ranks()) +
              (found.most.size() == 1 ? " is dearest" : " are dearest") +
              explanation(tables, compute, found) + saving;
      break;
    case Pattern::moving:
      text += "the slowest moves (" + text_of_count(found.n_in_turn) + " of " +
              plural(compute.n_ranks, "rank") + " in turn" +
              (found.stay >= 1.5 ? ", " + number(found.stay, 0) + " steps each" : "") + ")" +
              explanation(tables, compute, found) + saving;
      break;
    case Pattern::chance:
      text += "no rank stands out";
      if (compute.n_steps < kFewSteps)
        text += " in so few steps";
      else if (!found.is_significant)
        text += ", the slowest changes as by chance";
      break;
  }
  return line("imbalance", text);
}

std::string dearest_line(const RunTotals& run, const Tables& tables, const Computing& computing) {
  const Table& compute = computing.time;
  const Differences& found = computing.found;
  if (found.pattern != Pattern::fixed) return "";
  std::vector<std::string> hosts;
  for (const size_t column : found.most) {
    const auto host = run.host.find(tables.ranks()[column]);
    if (host != run.host.end() && std::count(hosts.begin(), hosts.end(), host->second) == 0)
      hosts.push_back(host->second);
  }
  std::string text = names_of(found.most, tables.ranks());
  for (size_t n = 0; n < std::min(hosts.size(), kMostNames); ++n)
    text += (n ? ", " : hosts.size() == 1 ? " on host " : " on hosts ") + text_of_name(hosts[n]);
  const double mean = compute.sum() / double(compute.n_ranks);
  size_t slowest = 0;
  for (size_t step = 0; step < compute.n_steps; ++step)
    slowest += size_t(std::count(found.most.begin(), found.most.end(), compute.largest(step)));
  text += ": " + number(of_ranks(compute, found.most) / double(found.most.size()) / mean) +
          " times the mean compute time, slowest in " +
          text_of_share(double(slowest) / double(compute.n_steps)) + " of the steps";
  return line("dearest", text);
}

std::string efficiency_line(const Tables& tables) {
  const Table measured = tables.of(&RankStep::measured_ns), mpi = tables.of(&RankStep::mpi_ns);
  if (measured.n_ranks < 2) return "";
  double mean = 0, most = 0;
  for (size_t rank = 0; rank < measured.n_ranks; ++rank) {
    const double useful = std::max(measured.of_rank(rank) - mpi.of_rank(rank), 0.0);
    mean += useful / double(measured.n_ranks);
    most = std::max(most, useful);
  }
  const double elapsed = elapsed_ns(tables);
  if (mean <= 0 || elapsed <= 0) return "";
  return line("efficiency", "parallel " + text_of_share(mean / elapsed) + " = load balance " +
                                text_of_share(mean / most) + " x communication " +
                                text_of_share(most / elapsed) + " (POP)");
}

std::string regions_line(const RunTotals& run, const Totals& totals, const Tables& tables) {
  std::map<std::string, std::vector<const RegionStep*>> rows;
  for (const RegionStep& row : totals.region_steps) {
    const auto name = run.region_names.find(region_key(row.rank, row.id));
    rows[name != run.region_names.end() ? name->second : "other regions"].push_back(&row);
  }
  std::map<std::string, double> time;
  for (const auto& [key, own] : totals.regions) {
    const auto name = run.region_names.find(key);
    time[name != run.region_names.end() ? name->second : "other regions"] += double(own.time_ns);
  }
  struct Told {
    double saved;
    bool is_whole;
    std::string name;
  };
  std::vector<Told> told;
  const double all_time = totals.of_all_ranks().measured_ns, elapsed = elapsed_ns(tables);
  if (tables.ranks().size() > 1)
    for (const auto& [name, of_region] : rows) {
      const Differences found = differences(tables.of_region(of_region));
      if (found.pattern != Pattern::chance && found.saved >= kWorthTelling * elapsed)
        told.push_back({found.saved, time[name] >= kWholeStep * all_time, name});
    }
  const auto is_whole = [](const Told& region) { return region.is_whole; };
  if (!std::all_of(told.begin(), told.end(), is_whole))
    told.erase(std::remove_if(told.begin(), told.end(), is_whole), told.end());
  std::sort(told.begin(), told.end(),
            [](const Told& a, const Told& b) { return a.saved > b.saved; });
  std::string text;
  for (size_t n = 0; n < std::min(told.size(), kMostNames); ++n)
    text += (n == 0 ? "ranks differ most in " : ", ") + text_of_name(told[n].name) +
            (n == 0 ? " (balancing it would save " : " (") + text_of_time(told[n].saved) + ")";
  const OutsideRegions& outside = totals.outside_regions;
  const double all = outside.compute_ns;
  if (outside.any_region && all > 0 && outside.least_ns >= kMuchOutside * all) {
    const bool is_exact = outside.most_ns - outside.least_ns < kWorthTelling * all;
    text += (text.empty() ? "" : "; ") + std::string(is_exact ? "" : "at least ") +
            text_of_share(outside.least_ns / all) + " of compute time is in no region";
  }
  return text.empty() ? "" : line("where", text);
}

std::string cores_line(const RunTotals& run, const Totals& totals) {
  size_t n_ranks = 0, n_pus = 0;
  bool bound = true;
  double switches = 0;
  for (const Sharing& sharing : sharings(run)) {
    n_ranks += sharing.ranks.size();
    n_pus += sharing.pus.size();
    bound &= sharing.bound;
    for (const int32_t rank : sharing.ranks) {
      const auto own = totals.ranks.find(rank);
      if (own != totals.ranks.end()) switches += own->second.involuntary_switches;
    }
  }
  if (!n_ranks) return "";
  return line("cores",
              plural(n_ranks, "rank") + " on " + plural(n_pus, "PU") +
                  (bound ? ", bound" : ", unbound") + ": times contain the scheduler (" +
                  plural(uint64_t(switches), "involuntary switch", "involuntary switches") + ")");
}

std::string most_on(const Tables& tables, float RankStep::*ns) {
  const Table time = tables.of(ns), measured = tables.of(&RankStep::measured_ns);
  const Differences found = differences(time);
  if (found.pattern != Pattern::fixed) return "";
  return "; most on " + names_of(found.most, tables.ranks()) + " (" +
         text_of_share(of_ranks(time, found.most) / of_ranks(measured, found.most)) +
         (found.most.size() == 1 ? " of its time)" : " of their time)");
}

}  // namespace perfield
