// SPDX-License-Identifier: BSD-3-Clause
//
// waiting.cpp - see waiting.hpp. Waiting is time in MPI calls that may wait for others, see
// RankSums::waiting_ns(). The rank waited for is known where the status of a wait gives it.
#include "summary/waiting.hpp"

#include <algorithm>

#include "summary/explanation.hpp"
#include "summary/imbalance.hpp"
#include "summary/text.hpp"

namespace perfield {
namespace {

constexpr double kWorthTelling = 0.01;  // as a share of the time
constexpr double kNearlyAll = 0.9;
constexpr double kWholeStep =
    0.95;  // as a share of the time: such a region says nothing about the place

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
  std::string parts;
  const std::pair<int, const char*> kinds[] = {{PERFIELD_CLASS_p2p, "point-to-point "},
                                               {PERFIELD_CLASS_wait, "wait "},
                                               {PERFIELD_CLASS_collective, "collective "},
                                               {PERFIELD_CLASS_onesided, "one-sided "}};
  for (const auto& [time_class, name] : kinds)
    if (all.class_ns[time_class] > 0)
      parts += (parts.empty() ? " (" : ", ") + (name + share(all.class_ns[time_class]));
  return line("waiting", share(all.waiting_ns()) + " of the time" + parts +
                             (parts.empty() ? "" : ")") + "; all MPI " + share(all.mpi_ns()) +
                             most_on(tables, &RankStep::waiting_ns));
}

std::string waited_for_line(const Totals& totals, const Tables& tables) {
  struct WaitedFor {
    double ns = 0, own_ns = 0;  // own: for which it waits itself
    uint64_t ranks = 0;
  };
  std::map<int32_t, WaitedFor> by_peer;
  double known = 0;  // waiting for known ranks
  for (const auto& [key, ns] : totals.waits) {
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
  const WaitedFor& most = by_peer[rank];
  const double of_those = all.measured_ns / double(totals.ranks.size()) * double(most.ranks);
  if (most.ns < kWorthTelling * of_those) return "";
  if (most.own_ns * double(most.ranks) >= most.ns) return "";  // it passes on what it waits for
  return line("waits", plural(most.ranks, "rank") + (most.ranks == 1 ? " waits " : " wait ") +
                           text_of_time(most.ns) + (most.ranks == 1 ? "" : " in all") +
                           " for rank " + std::to_string(rank) + ": " +
                           text_of_share(most.ns / all_ns) + " of all waiting, " +
                           text_of_share(most.ns / known) + " of the waiting that names a rank");
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
  if (most <= 0 || most < kWorthTelling * all_time) return "";
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
