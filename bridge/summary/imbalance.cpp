// SPDX-License-Identifier: BSD-3-Clause
//
// imbalance.cpp - see imbalance.hpp. docs/chance.md explains the sentences and their tests.
#include "summary/imbalance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>

#include "summary/explanation.hpp"
#include "summary/text.hpp"

namespace perfield {
namespace {

constexpr double kWorthReporting = 0.01;  // of the run's time
constexpr double kMuchOutside = 0.25;     // of compute time in no region
constexpr size_t kMostNames = 3;
constexpr size_t kFewSteps = 10;  // in which little is beyond chance

std::string number(double value, int digits = 2) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

// "rank 2", "ranks 2 and 5", "ranks 40-47", "ranks 0, 1, 2 and 4 more"
std::string names_of(const std::vector<size_t>& columns, const std::vector<int32_t>& ranks) {
  std::vector<int32_t> named;
  for (const size_t column : columns) named.push_back(ranks[column]);
  if (named.size() > kMostNames) {
    std::string ranges = text_of_ranks(named);
    if (ranges.compare(0, 6, "ranks ") == 0) return ranges;
  }
  std::string text = named.size() == 1 ? "rank " : "ranks ";
  const size_t shown = std::min(named.size(), kMostNames);
  for (size_t n = 0; n < shown; ++n) {
    const bool is_last = n + 1 == named.size();
    text += (n == 0 ? "" : is_last ? " and " : ", ") + std::to_string(named[n]);
  }
  if (shown < named.size()) text += " and " + std::to_string(named.size() - shown) + " more";
  return text;
}

// How long the steps took: the time of the rank that measured longest.
double elapsed_ns(const Tables& tables) {
  const Table measured = tables.of(&RankStep::measured_ns);
  double most = 0;
  for (size_t rank = 0; rank < measured.n_ranks; ++rank)
    most = std::max(most, measured.of_rank(rank));
  return most;
}

// Which rank is slowest when, or how many of them for how long.
std::string text_of_turns(const Tables& tables, const Differences& found) {
  if (found.turns.empty() || found.turns.size() > kMostNames)
    return text_of_count(found.n_in_turn) + " of " + plural(tables.ranks().size(), "rank") +
           " in turn" + (found.stay >= 1.5 ? ", " + number(found.stay, 0) + " steps each" : "");
  const std::vector<int64_t> labels = tables.labels();
  std::string text;
  for (const Turn& turn : found.turns)
    text += (text.empty() ? "rank " : ", then rank ") + std::to_string(tables.ranks()[turn.rank]) +
            " in steps " + std::to_string(labels[turn.begin]) + " to " +
            std::to_string(labels[turn.end - 1]);
  return text;
}

// Where more than half of the ranks would be named as slowest: the others, which compute least.
std::vector<size_t> with_least(const Computing& computing) {
  const std::vector<size_t>& most = computing.found.most;
  const size_t n_ranks = computing.time.n_ranks;
  std::vector<size_t> others;
  if (2 * most.size() <= n_ranks) return others;
  for (size_t column = 0; column < n_ranks; ++column)
    if (std::count(most.begin(), most.end(), column) == 0) others.push_back(column);
  return others;
}

// What the cells of the slowest ranks cost, in words.
std::string text_of(const CostOfCells& cost) {
  if (!cost.is_known) return "";
  const std::string alone = text_of_share(std::abs(cost.alone - 1)) +
                            (cost.alone < 1 ? " fewer" : " more") + " cells than the mean";
  if (cost.may_explain) return alone + " (2 ranks are too few to test whether that is why)";
  return (cost.are_alike ? "as many cells as others" : alone) +
         (cost.costs_more ? ", but each costs " + number(cost.relative, 1) + " times as much" : "");
}

// What may explain an imbalance, in the order of the words of explanation().
std::vector<Table> causes_of(const Tables& tables) {
  return {tables.of(&RankStep::cells), tables.of(&RankStep::points),
          tables.of(&RankStep::ghost_cells), tables.of(&RankStep::sent_bytes)};
}

std::string explanation(const Tables& tables, const Computing& computing) {
  const Table& compute = computing.time;
  const Differences& found = computing.found;
  constexpr const char* words[] = {
      "cell counts explain a factor of ", "points explain a factor of ",
      "ghost cells explain a factor of ", "bytes sent explain a factor of "};
  const std::vector<Table> causes = causes_of(tables);
  const Explanation explained = computing.followed.cause != kNone
                                    ? computing.followed
                                    : explanation_of(compute, found, causes);
  if (explained.cause != kNone) return words[explained.cause] + number(explained.imbalance);
  const bool names_slowest = found.names_ranks() && with_least(computing).empty();
  return names_slowest ? text_of(cost_of_cells(compute, found, causes[0])) : "";
}

// ", on hosts a and b", where the run has several.
std::string hosts_of(const RunTotals& run, const Tables& tables,
                     const std::vector<size_t>& columns) {
  std::set<std::string> all;
  for (const auto& [rank, host] : run.host) all.insert(host);
  std::vector<std::string> hosts;
  for (const size_t column : columns) {
    const auto host = run.host.find(tables.ranks()[column]);
    if (host != run.host.end() && std::count(hosts.begin(), hosts.end(), host->second) == 0)
      hosts.push_back(host->second);
  }
  if (all.size() < 2 || hosts.empty() || hosts.size() > kMostNames) return "";
  std::string text = hosts.size() == 1 ? ", on host " : ", on hosts ";
  for (size_t n = 0; n < hosts.size(); ++n)
    text += (n == 0 ? "" : n + 1 == hosts.size() ? " and " : ", ") + text_of_name(hosts[n]);
  return text;
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

// Ranks of one node whose sets of PUs overlap.
struct Sharing {
  std::vector<int32_t> ranks;
  size_t n_threads = 0;  // of these, that compute
  std::vector<int> pus;  // sorted
  bool bound = true;     // each rank to one PU
};

size_t n_threads_of(const RunTotals& run, int32_t rank) {
  const auto threads = run.n_threads.find(rank);
  return threads == run.n_threads.end() ? 1 : threads->second;
}

// The ranks of each node whose sets of PUs overlap, directly or through others; also single ranks.
std::vector<Sharing> on_same_pus(const RunTotals& run) {
  std::map<std::string, std::vector<Sharing>> by_node;
  for (const auto& [rank, cpus] : run.cpus) {
    Sharing all;
    all.ranks = {rank};
    all.pus = numbers_of(cpus);
    std::sort(all.pus.begin(), all.pus.end());
    const auto node = run.node.find(rank);
    if (all.pus.empty() || node == run.node.end()) continue;  // its rank entry is damaged
    all.bound = all.pus.size() == 1;
    all.n_threads = n_threads_of(run, rank);
    std::vector<Sharing> apart;
    for (Sharing& other : by_node[node->second]) {
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
      all.n_threads += other.n_threads;
      all.bound &= other.bound;
    }
    apart.push_back(std::move(all));
    by_node[node->second] = std::move(apart);
  }
  std::vector<Sharing> found;
  for (const auto& [node, of_node] : by_node)
    found.insert(found.end(), of_node.begin(), of_node.end());
  return found;
}

// Those of several ranks that have more threads than PUs.
std::vector<Sharing> sharings(const RunTotals& run) {
  std::vector<Sharing> found = on_same_pus(run);
  const auto has_room = [](const Sharing& one) {
    return one.ranks.size() < 2 || one.n_threads <= one.pus.size();
  };
  found.erase(std::remove_if(found.begin(), found.end(), has_room), found.end());
  return found;
}

// How many PUs the ranks of the tables can use at once, at most.
double usable_pus(const RunTotals& run, const std::vector<int32_t>& ranks) {
  const std::set<int32_t> wanted(ranks.begin(), ranks.end());
  std::set<int32_t> placed;
  double n_pus = 0;
  for (const Sharing& one : on_same_pus(run)) {
    size_t n_threads = 0;
    for (const int32_t rank : one.ranks)
      if (wanted.count(rank)) {
        placed.insert(rank);
        n_threads += n_threads_of(run, rank);
      }
    n_pus += double(std::min(n_threads, one.pus.size()));
  }
  for (const int32_t rank : ranks)
    if (!placed.count(rank)) n_pus += double(n_threads_of(run, rank));
  return n_pus;
}

// What balancing could save at most: the PUs of the ranks must supply the CPU time for which they
// compute, however it is divided among them. (imbalance.py does the same.)
double most_to_save_ns(const RunTotals& run, const Tables& tables) {
  const Table work = tables.of(&RankStep::compute_cpu_ns);
  const double n_pus = usable_pus(run, tables.ranks());
  return std::max(elapsed_ns(tables) - (n_pus > 0 ? work.sum() / n_pus : 0), 0.0);
}

double delayed_ns(const Totals& totals) {
  double sum = 0;
  for (const auto& [rank, own] : totals.delayed_ns) sum += own;
  return sum;
}

bool is_worth_reporting(double delayed, const Totals& totals) {
  return delayed >= kWorthReporting * totals.of_all_ranks().measured_ns && delayed > 0;
}

}  // namespace

Computing::Computing(const RunTotals& run, const Tables& tables)
    : time(tables.of(&RankStep::compute_ns)),
      found(differences(time)),
      idle(rank_without_work(time)) {
  if (idle != kNone) {
    const Table working = time.without(idle);
    const Differences of_others = differences(working);
    others = of_others.ratio;
    work_of_idle = time.of_rank(idle) * double(working.n_ranks) / working.sum();
    if (of_others.pattern == Pattern::chance)
      found.pattern = Pattern::chance;
    else
      idle = kNone;
  }
  if (idle == kNone) followed = follow_counts(time, causes_of(tables), &found);
  if (time.n_ranks) {
    most_to_save = most_to_save_ns(run, tables);
    found.saved = std::min(found.saved, most_to_save);
  }
  has_delays = is_worth_reporting(delayed_ns(run.steps), run.steps);
}

std::string imbalance_line(const RunTotals& run, const Tables& tables, const Computing& computing,
                           bool is_whole) {
  const Table& compute = computing.time;
  const Differences& found = computing.found;
  if (compute.n_ranks < 2 || compute.sum() <= 0) return "";
  const bool is_untested = found.pattern == Pattern::untested;
  std::string text = number(found.in_most_steps ? found.usual : found.ratio);
  if (tables.ranks().size() < run.group.size())
    text +=
        " among " + text_of_ranks(tables.ranks()) + " (" + plural(compute.n_steps, "step") + ")";
  if (found.in_most_steps) text += " in most steps, " + number(found.ratio) + " in all";
  if (found.pattern != Pattern::chance)
    text += ", costs " + text_of_time(found.saved) + " (" +
            text_of_share(found.saved / std::max(elapsed_ns(tables), 1.0)) + ")";
  text += ": ";
  const std::vector<size_t> least = with_least(computing);
  switch (found.pattern) {
    case Pattern::moving:
      text += "the slowest rank changes";
      break;
    case Pattern::fixed:
    case Pattern::untested:
      if (least.empty())
        text += names_of(found.most, tables.ranks()) +
                (found.most.size() == 1 ? " is slowest" : " are slowest");
      else
        text += names_of(least, tables.ranks()) + (least.size() == 1 ? " computes " : " compute ") +
                text_of_share(compute.of_ranks(least) / double(least.size()) /
                              (compute.of_ranks(found.most) / double(found.most.size()))) +
                " of the others' mean";
      if (found.in_most_steps)
        text += " in " + text_of_count(found.n_most) + " of " + plural(compute.n_steps, "step");
      text += hosts_of(run, tables, least.empty() ? found.most : least);
      if (is_untested) text += std::string("; not proven: one ") + (is_whole ? "frame" : "step");
      break;
    case Pattern::chance:
      if (computing.idle != kNone) {
        text += "rank " + std::to_string(tables.ranks()[computing.idle]) + " computes " +
                text_of_share(computing.work_of_idle) +
                " of the others' mean; no other rank stands out (" + number(computing.others) + ")";
        break;
      }
      text += "no rank is clearly slower";
      if (compute.n_steps < kFewSteps)
        text += is_whole ? "; not proven: one frame" : " in so few steps";
      break;
  }
  return line("imbalance", text);
}

std::string why_line(const Tables& tables, const Computing& computing) {
  if (computing.time.n_ranks < 2 || computing.time.sum() <= 0) return "";
  std::string text = explanation(tables, computing);
  if (computing.found.pattern == Pattern::moving)
    text = text_of_turns(tables, computing.found) + (text.empty() ? "" : "; ") + text;
  return text.empty() ? "" : line("why", text);
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
  return line(
      "efficiency",
      "parallel " + text_of_share(mean / elapsed) + " = load balance " +
          text_of_share(mean / most) + " x communication " + text_of_share(most / elapsed) +
          (measured.n_steps > 1 ? " (POP, of sums over the steps; the imbalance is step by step)"
                                : " (POP)"));
}

std::string regions_line(const RunTotals& run, const Totals& totals, const Tables& tables,
                         const Computing& computing) {
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
  std::vector<std::string> names;
  std::vector<double> saved, share;
  const double all_time = totals.of_all_ranks().measured_ns, elapsed = elapsed_ns(tables);
  const double most = computing.most_to_save;
  // Times of regions contain waiting for a PU, which the imbalance above does not.
  if (tables.ranks().size() > 1 && !computing.has_delays)
    for (const auto& [name, of_region] : rows) {
      const Differences found = differences(tables.of_region(of_region));
      names.push_back(name);
      saved.push_back(found.pattern == Pattern::chance ? 0 : found.saved);
      share.push_back(time[name] / all_time);
    }
  const std::vector<size_t> reported = regions_to_report(saved, share, elapsed, most);
  std::string text;
  for (size_t n = 0; n < std::min(reported.size(), kMostNames); ++n)
    text += (n == 0 ? "ranks differ most in " : ", ") + text_of_name(names[reported[n]]) +
            (n == 0 ? " (balancing it would save " : " (") +
            text_of_time(std::min(saved[reported[n]], most)) + ")";
  const OutsideRegions& outside = totals.outside_regions;
  const double all = outside.compute_ns;
  if (outside.any_region && all > 0 && outside.least_ns >= kMuchOutside * all) {
    const bool is_exact = outside.most_ns - outside.least_ns < kWorthReporting * all;
    text += (text.empty() ? "" : "; ") + std::string(is_exact ? "" : "at least ") +
            text_of_share(outside.least_ns / all) + " of compute time is in no region";
  }
  return text.empty() ? "" : line("where", text);
}

// How long ranks waited for a PU while they computed, who took it, and, unless ranks share PUs, on
// which most.
std::string delays_in_words(const Totals& totals, bool are_shared) {
  const double delayed = delayed_ns(totals);
  if (!is_worth_reporting(delayed, totals)) return "";
  double compute = 0, most = 0;
  int32_t rank = -1;
  for (const auto& [number, own] : totals.ranks) {
    const auto of_rank = totals.delayed_ns.find(number);
    const double without = of_rank == totals.delayed_ns.end() ? 0 : of_rank->second;
    compute += own.outside_calls_ns();
    const double share = without / std::max(own.outside_calls_ns(), 1.0);
    if (share > most) {
      most = share;
      rank = number;
    }
  }
  const bool are_several = totals.ranks.size() > 1;
  std::string text = std::string(are_shared    ? "they"
                                 : are_several ? "ranks"
                                               : "the rank") +
                     " waited " + text_of_time(delayed) + " for a PU, " +
                     text_of_share(delayed / compute) + (are_several ? " of their" : " of its") +
                     " time outside MPI and files";
  if (are_several && !are_shared)
    text += ", most on rank " + std::to_string(rank) + " (" + text_of_share(most) + ")";
  const RankSums& worst = totals.ranks.at(rank);
  const double throttled = worst.without_pu(KnownQuantity::throttled_time);
  if (throttled >= most * worst.outside_calls_ns() / 2)
    text +=
        "; a CPU quota stopped rank " + std::to_string(rank) + " for " + text_of_time(throttled);
  return text;
}

// For how long a hypervisor took the PUs of a rank.
std::string stolen_in_words(const Totals& totals) {
  const LargestShare most = totals.largest_share(
      [](const RankSums& own) { return own.without_pu(KnownQuantity::stolen_time); });
  if (most.share < kWorthReporting) return "";
  return "the hypervisor took PUs of this virtual machine, most of rank " +
         std::to_string(most.rank) + " (" + text_of_share(most.share) + " of the time)";
}

std::string cores_line(const RunTotals& run, const Totals& totals) {
  size_t n_ranks = 0, n_threads = 0, n_pus = 0;
  bool bound = true;
  for (const Sharing& sharing : sharings(run)) {
    n_ranks += sharing.ranks.size();
    n_threads += sharing.n_threads;
    n_pus += sharing.pus.size();
    bound &= sharing.bound;
  }
  const std::string delays = delays_in_words(totals, n_ranks > 0);
  std::string text;
  if (n_ranks)
    text = plural(n_ranks, "rank") +
           (n_threads > n_ranks ? " with " + plural(n_threads, "thread") : "") + " on " +
           plural(n_pus, "PU") + (bound ? ", bound: " : ", unbound: ") +
           (delays.empty() ? "times include scheduling" : delays);
  else
    text = delays;
  const std::string stolen = stolen_in_words(totals);
  if (!stolen.empty()) text += (text.empty() ? "" : "; ") + stolen;
  return text.empty() ? "" : line("cores", text);
}

std::string most_on(const Tables& tables, float RankStep::*ns) {
  const Table time = tables.of(ns), measured = tables.of(&RankStep::measured_ns);
  const Differences found = differences(time);
  if (!found.names_ranks()) return "";
  return "; most on " + names_of(found.most, tables.ranks()) + " (" +
         text_of_share(time.of_ranks(found.most) / measured.of_ranks(found.most)) +
         (found.most.size() == 1 ? " of its time)" : " of their time)");
}

}  // namespace perfield
