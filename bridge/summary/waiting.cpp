// SPDX-License-Identifier: BSD-3-Clause
//
// waiting.cpp - see waiting.hpp. Waiting is time in MPI calls that may wait for others, see
// RankSums::waiting_ns(); a wrapper cannot see where in a receive or a fence waiting ends and the
// transfer begins. Stamps of messages show for whom; without them, the status of a wait may.
#include "summary/waiting.hpp"

#include <algorithm>

#include "summary/explanation.hpp"
#include "summary/text.hpp"
#include "waits/wait_states.hpp"

namespace perfield {
namespace {

constexpr double kWorthReporting = 0.01;  // as a share of the time
constexpr double kNearlyAll = 0.9;
constexpr double kMostly = 0.5;      // of what a rank costs begins in the region that is named
constexpr double kLittle = 0.005;    // smaller shares of waiting are not reported
constexpr double kWholeStep = 0.95;  // as a share of the time: such a region locates nothing

// Of waits::StateKind.
constexpr const char* kKinds[waits::kStateKinds] = {
    "late sender",    "late receiver", "barrier",       "n-to-n",
    "late broadcast", "early reduce",  "late one-sided"};

struct Victim {
  int32_t rank = -1;
  int why = 0;
  double ns = 0;
};

// The rank that waits longest for `cause`, why and how long.
Victim victim_of(int32_t cause, const FoundWaiting& found) {
  Victim victim;
  for (int kind = 0; kind < waits::kStateKinds; ++kind)
    for (const auto& [pair, ns] : found.by_pair[kind])
      if (pair.first == cause && ns > victim.ns) victim = {pair.second, kind, ns};
  return victim;
}

std::string by_kind(const FoundWaiting& found) {
  std::vector<std::pair<double, int>> kinds;
  double sum = 0;
  for (int kind = 0; kind < waits::kStateKinds; ++kind) {
    const double ns = found.by_kind[kind];
    if (ns > 0) kinds.emplace_back(ns, kind);
    sum += ns;
  }
  std::sort(kinds.begin(), kinds.end(), std::greater<>());
  std::string text;
  for (const auto& [ns, kind] : kinds)
    if (ns >= kLittle * sum)
      text += (text.empty() ? "" : ", ") + (kKinds[kind] + (" " + text_of_share(ns / sum)));
  return text;
}

// ns in MPI calls that may wait, of the steps whose events are known.
double time_in_mpi(const Totals& totals, const FoundWaiting& found) {
  return std::max(found.blocked_ns, found.is_all ? totals.of_all_ranks().waiting_ns() : 0.0);
}

// Whether enough of that is explained to name a rank as the cause of waiting.
bool names_causes(const Totals& totals, const FoundWaiting& found) {
  return found.exact_ns + found.bounded_ns >= waits::kEnoughExplained * time_in_mpi(totals, found);
}

double cost_of(int32_t rank, const FoundWaiting& found) {
  double ns = 0;
  for (const CausedWaiting& caused : found.caused)
    if (caused.cost.rank == rank) ns += caused.ns();
  return ns;
}

// Whether the rank waited so long for a PU that this alone may have cost the others most of that:
// while it computed, or, if it computes no longer than others, in MPI, too, where a rank without a
// PU answers late.
bool is_late_for_a_pu(int32_t rank, bool is_slowest, const Totals& totals,
                      const FoundWaiting& found) {
  const auto own = totals.ranks.find(rank);
  const double all = totals.of_all_ranks().measured_ns;
  if (own == totals.ranks.end() || !(all > 0)) return false;
  const double looked_at = std::min(found.measured_ns / all, 1.0);
  const double without_ns =
      is_slowest ? own->second.delayed_ns() : own->second.without_pu(KnownQuantity::run_delay);
  return without_ns * looked_at * double(totals.ranks.size() - 1) >= kMostly * cost_of(rank, found);
}

// The rank on which so much of the waiting begins that it stands out; -1: none, or one that was
// late for a PU.
int32_t most_late(const Totals& totals, const FoundWaiting& found, const Tables& tables,
                  const Computing& computing) {
  if (!names_causes(totals, found)) return -1;
  if (!(found.waiting_ns > 0) || found.caused_ns < kWorthReporting * found.measured_ns) return -1;
  const double perhaps = found.waiting_ns + found.hidden_ns;
  const size_t column = rank_waited_for(tables.waited_for(), found.caused_ns, perhaps);
  if (column == kNone) return -1;
  const int32_t rank = tables.ranks()[column];
  const size_t idle = computing.idle;
  if (idle != kNone && victim_of(rank, found).rank == tables.ranks()[idle]) return -1;
  const std::vector<size_t>& most = computing.found.most;
  const bool is_slowest =
      2 * most.size() <= tables.ranks().size() && std::count(most.begin(), most.end(), column) > 0;
  return is_late_for_a_pu(rank, is_slowest, totals, found) ? -1 : rank;
}

// Which ranks send to this one, in words: "; all others send to it", or "" where not nearly all do.
std::string who_sends_to(int32_t rank, const Totals& totals) {
  constexpr double kNearlyAll = 0.9;
  constexpr size_t kFewest = 3;
  size_t n_senders = 0;
  for (const auto& [key, pair] : totals.pairs)
    n_senders += static_cast<int32_t>(key & 0xFFFFFFFFu) == rank &&
                 static_cast<int32_t>(key >> 32) != rank && pair.count > 0;
  const size_t n_others = totals.ranks.size() - 1;
  if (n_senders < kFewest || double(n_senders) < kNearlyAll * double(n_others)) return "";
  return n_senders < n_others ? "; nearly all others send to it" : "; all others send to it";
}

std::string caused_line(const Totals& totals, const FoundWaiting& found, const Tables& tables,
                        const Computing& computing) {
  const int32_t rank = most_late(totals, found, tables, computing);
  if (rank < 0) return "";
  const double ns = cost_of(rank, found);
  const Victim victim = victim_of(rank, found);
  const bool is_receiver = victim.rank >= 0 && victim.why == waits::kLateReceiver;
  const std::string who = is_receiver ? who_sends_to(rank, totals) : "";
  return line("waits",
              "rank " + std::to_string(rank) + " costs the others " + text_of_time(ns) + ", " +
                  text_of_share(ns / found.waiting_ns) + " of all known waiting" +
                  (victim.rank < 0 ? "" : std::string(" (") + kKinds[victim.why] + who + ")"));
}

}  // namespace

std::string waiting_line(const Totals& totals, const Tables& tables, bool is_blind) {
  const RankSums all = totals.of_all_ranks();
  if (is_blind && all.mpi_ns() <= 0)
    return line(
        "waiting",
        "not known: MPI was not seen; start the program with perfield-exec, and let it call "
        "MPI_Init");
  if (all.measured_ns <= 0 || all.mpi_ns() <= 0) return "";
  const auto share = [&](double ns) { return text_of_share(ns / all.measured_ns); };
  std::string text = share(all.waiting_ns()) + " of the time";
  const std::string most = most_on(tables, &RankStep::waiting_ns);
  if (most.empty()) {
    std::string parts;
    const std::pair<int, const char*> kinds[] = {{PERFIELD_CLASS_p2p, "point-to-point "},
                                                 {PERFIELD_CLASS_wait, "wait "},
                                                 {PERFIELD_CLASS_collective, "collective "},
                                                 {PERFIELD_CLASS_onesided, "one-sided "}};
    for (const auto& [time_class, name] : kinds)
      if (all.class_ns[time_class] > 0)
        parts += (parts.empty() ? " (" : ", ") + (name + share(all.class_ns[time_class]));
    text += parts + (parts.empty() ? "" : ")");
  }
  const std::string mpi = share(all.mpi_ns());
  if (mpi != share(all.waiting_ns())) text += "; all MPI " + mpi;
  return line("waiting", text + most);
}

std::string waited_for_line(const Totals& totals, const Tables& tables, const FoundWaiting& found,
                            const Computing& computing) {
  if (found.waiting_ns > 0) return caused_line(totals, found, tables, computing);
  struct WaitedFor {
    double ns = 0, own_ns = 0;  // own: for which it waits itself
    uint64_t ranks = 0;
  };
  std::map<int32_t, WaitedFor> by_peer;
  double known = 0;                                       // waiting for known ranks
  std::map<int32_t, std::pair<double, int32_t>> longest;  // by rank: for how long who waits for it
  for (const auto& [key, ns] : totals.waits) {
    auto& wait = longest[static_cast<int32_t>(key & 0xFFFFFFFFu)];
    wait = std::max(wait, {double(ns), static_cast<int32_t>(key >> 32)});
    WaitedFor& peer = by_peer[static_cast<int32_t>(key & 0xFFFFFFFFu)];
    peer.ns += double(ns);
    peer.ranks += ns > 0;
    by_peer[static_cast<int32_t>(key >> 32)].own_ns += double(ns);
    known += double(ns);
  }
  const RankSums all = totals.of_all_ranks();
  const double all_ns = std::max(known, all.waiting_ns());
  const size_t column = rank_waited_for(tables.waited_for(), known, all_ns);
  if (column == kNone) return "";
  const int32_t rank = tables.ranks()[column];
  if (computing.idle != kNone && longest[rank].second == tables.ranks()[computing.idle]) return "";
  const WaitedFor& most = by_peer[rank];
  const double of_those = all.measured_ns / double(totals.ranks.size()) * double(most.ranks);
  if (most.ns < kWorthReporting * of_those) return "";
  if (most.own_ns * double(most.ranks) >= most.ns) return "";  // it passes on what it waits for
  return line("waits", plural(most.ranks, "rank") + (most.ranks == 1 ? " waits " : " wait ") +
                           text_of_time(most.ns) + (most.ranks == 1 ? "" : " in all") +
                           " for rank " + std::to_string(rank) + ": " +
                           text_of_share(most.ns / all_ns) + " of all waiting, " +
                           text_of_share(most.ns / known) + " of the waiting that names a rank");
}

std::string delay_line(const RunTotals& run, const Totals& totals, const Tables& tables,
                       const Computing& computing) {
  const int32_t rank = most_late(totals, run.waiting, tables, computing);
  const DelayRegions::value_type* most = nullptr;
  for (auto at = run.delays.lower_bound({rank, ""});
       rank >= 0 && at != run.delays.end() && at->first.first == rank; ++at)
    if (!most || at->second > most->second) most = &*at;
  if (!most || most->second < kMostly * cost_of(rank, run.waiting)) return "";
  const std::string& name = most->first.second;
  return line("delay", text_of_time(most->second) + " of that waiting is caused by rank " +
                           std::to_string(rank) + " in " +
                           (name.empty() ? "no region" : "region " + text_of_name(name)));
}

std::string explained_line(const Totals& totals, const FoundWaiting& found) {
  const double mpi = time_in_mpi(totals, found);
  if (!(found.blocked_ns > 0) || mpi < kWorthReporting * found.measured_ns) return "";
  const double exact = found.exact_ns / mpi;
  std::string text =
      (exact < kLittle ? "nothing" : text_of_share(exact)) + " of the time in MPI exactly";
  if (found.bounded_ns > kLittle * mpi)
    text += ", " + text_of_share(found.bounded_ns / mpi) + " by a lower bound";
  if (!found.is_all) text += ", in the last " + plural(found.n_steps, "step");
  if (found.waiting_ns > 0)
    text += "; ranks wait " + text_of_time(found.waiting_ns) + " of it (" + by_kind(found) + ")";
  if (!names_causes(totals, found)) text += "; too little to name who makes others wait";
  return line("explained", text);
}

std::string waiting_region_line(const RunTotals& run, const Totals& totals) {
  std::map<std::string, RegionTotals> by_name;
  for (const auto& [key, own] : totals.regions) {
    const auto found = run.region_names.find(key);
    RegionTotals& sum = by_name[found != run.region_names.end() ? found->second : "other regions"];
    sum.time_ns += own.time_ns;
    sum.waiting_ns += own.waiting_ns;
  }
  const double all_time = totals.of_all_ranks().measured_ns;
  double most = 0, most_of_parts = 0;
  for (const auto& [name, region] : by_name) {
    most = std::max(most, double(region.waiting_ns));
    if (double(region.time_ns) < kWholeStep * all_time)
      most_of_parts = std::max(most_of_parts, double(region.waiting_ns));
  }
  if (most <= 0 || most < kWorthReporting * all_time) return "";
  const double enough = kNearlyAll * (most_of_parts >= most / 2 ? most_of_parts : most);
  const std::pair<const std::string, RegionTotals>* shortest = nullptr;
  for (const auto& region : by_name)
    if (double(region.second.waiting_ns) >= enough &&
        (!shortest || region.second.time_ns < shortest->second.time_ns))
      shortest = &region;
  const double time = double(shortest->second.time_ns),
               waiting = double(shortest->second.waiting_ns);
  return line("region", text_of_name(shortest->first) + ": " +
                            text_of_share(std::min(1.0, waiting / std::max(time, 1.0))) +
                            " of it is waiting, " + text_of_time(waiting) + " of " +
                            text_of_time(time) +
                            (totals.ranks.size() > 1 ? " over all ranks" : ""));
}

}  // namespace perfield
