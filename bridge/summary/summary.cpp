// SPDX-License-Identifier: BSD-3-Clause
//
// summary.cpp - writes the closing lines. One function per line; a line with nothing to say is left
// out. Compute time is a step's measured time minus all MPI and all file I/O.
#include "summary/summary.hpp"

#include <algorithm>
#include <cstdio>

#include "summary/text.hpp"
#include "summary/totals.hpp"
#include "summary/uneven_steps.hpp"
#include "summary/waiting.hpp"

namespace perfield {
namespace {

std::string pair_text(uint64_t key) {
  return std::to_string(static_cast<int32_t>(key >> 32)) + " -> " +
         std::to_string(static_cast<int32_t>(key & 0xFFFFFFFFu));
}

std::string steps_line(const RunTotals& run) {
  const uint64_t seen = run.memory.size();
  const uint64_t size = std::max<uint64_t>(run.size, seen);
  std::string ranks = plural(size, "rank");
  if (seen < size) ranks = text_of_count(seen) + " of " + ranks;
  if (run.hosts.size() > 1) ranks += " and " + plural(run.hosts.size(), "host");
  if (run.steps.n_steps == 0)
    return line("steps", "none closed on " + ranks + "; the lines below are of the whole run");

  std::vector<double> lengths;
  for (const auto& step : run.steps.steps) lengths.push_back(step.second.longest_ns);
  std::string text = text_of_count(run.steps.n_steps) + " on " + ranks;
  if (run.bytes_read < run.stream_bytes)
    text = "the last " + text + " (in the newest " + text_of_bytes(double(run.bytes_read)) +
           " of " + text_of_bytes(double(run.stream_bytes)) + ")";
  if (!lengths.empty()) {
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    double median = *middle;
    if (lengths.size() % 2 == 0) median = (median + *std::max_element(lengths.begin(), middle)) / 2;
    text += ", median " + text_of_time(median);
  }
  if (run.steps.n_unmeasured)
    text += "; " + text_of_count(run.steps.steps.size()) + " of them measured";
  return line("steps", text + uneven_steps_text(run));
}

// Which ranks were slowest, and how often. order: (times, -rank) of these ranks, most often first.
// n_steps, n_ranks: among how many steps and ranks. Names no rank where many take turns.
std::string slowest_text(const std::vector<std::pair<uint64_t, int32_t>>& order, uint64_t n_steps,
                         uint32_t n_ranks) {
  const auto share = [&](size_t n) {
    return text_of_share(double(order[n].first) / double(n_steps));
  };
  const bool all_named = order.size() <= 3 && order.size() < n_ranks;
  const double even = double(n_steps) / double(order.size());
  if (order.size() > 1 && !all_named && double(order[0].first) < 1.25 * even)
    return "; slowest: no rank in particular (" + text_of_count(order.size()) + " of " +
           text_of_count(n_ranks) + " in turn, at most " + share(0) + " each)";
  std::string text;
  for (size_t n = 0; n < std::min<size_t>(3, order.size()); ++n)
    text += (n == 0 ? "; slowest most often: rank " : ", ") + std::to_string(-order[n].second) +
            " (" + share(n) + (n == 0 ? " of the steps)" : ")");
  return text;
}

// The slowest rank's compute time relative to the mean, over the steps that all ranks of a group
// closed.
std::string imbalance_line(const Totals& totals) {
  uint32_t most = 0;
  for (const auto& step : totals.steps) most = std::max(most, step.second.ranks);
  if (most < 2) return "";
  double slowest_ns = 0, mean_ns = 0;
  std::map<int32_t, uint64_t> times_slowest;
  uint64_t counted = 0;
  for (const auto& step : totals.steps) {
    if (step.second.ranks < most) continue;
    slowest_ns += step.second.most_compute_ns;
    mean_ns += step.second.compute_ns / step.second.ranks;
    ++times_slowest[step.second.slowest];
    ++counted;
  }
  if (mean_ns <= 0) return "";
  std::vector<std::pair<uint64_t, int32_t>> order;
  for (const auto& [rank, times] : times_slowest) order.emplace_back(times, -rank);
  std::sort(order.rbegin(), order.rend());
  char number[32];
  std::snprintf(number, sizeof(number), "%.2f", slowest_ns / mean_ns);
  return line("imbalance", std::string(number) + " (compute time, slowest rank / mean)" +
                               slowest_text(order, counted, most));
}

// File I/O, where it takes long enough to be worth a line.
std::string files_line(const Totals& totals) {
  constexpr double kShare = 0.01;
  const RankSums all = totals.of_all_ranks();
  const LargestShare worst = totals.largest_share(&RankSums::io_ns);
  if (worst.share < kShare) return "";
  std::string text = text_of_share(all.io_ns() / all.measured_ns) + " of the time";
  if (totals.ranks.size() > 1)
    text +=
        ", most on rank " + std::to_string(worst.rank) + " (" + text_of_share(worst.share) + ")";
  return line("files", text + "; " + text_of_bytes(all.io_read_bytes) + " read, " +
                           text_of_bytes(all.io_write_bytes) + " written");
}

std::string messages_line(const Totals& totals) {
  if (!totals.messages.count) return "";
  std::string text = text_of_count(totals.messages.count) + " with " +
                     text_of_bytes(double(totals.messages.bytes));
  if (totals.unknown.count)
    text += " (peer unknown: " + text_of_count(totals.unknown.count) + " with " +
            text_of_bytes(double(totals.unknown.bytes)) + ")";
  using Pair = std::pair<uint64_t, PairTotals>;
  const std::vector<Pair> pairs(totals.pairs.begin(), totals.pairs.end());
  if (pairs.empty()) return line("messages", text);
  const auto heaviest = *std::max_element(pairs.begin(), pairs.end(), [](auto& a, auto& b) {
    return a.second.bytes != b.second.bytes ? a.second.bytes < b.second.bytes : a.first > b.first;
  });
  const auto emptiest = *std::max_element(pairs.begin(), pairs.end(), [](auto& a, auto& b) {
    if (a.second.empty != b.second.empty) return a.second.empty < b.second.empty;
    return a.second.bytes != b.second.bytes ? a.second.bytes > b.second.bytes : a.first > b.first;
  });
  const auto load = [](const Pair& pair) {
    return text_of_bytes(double(pair.second.bytes)) + " in " + text_of_count(pair.second.count);
  };
  const bool alike = heaviest.second.bytes == emptiest.second.bytes;
  if (alike && !emptiest.second.empty && pairs.size() > 1)
    return line("messages",
                text + "; each of " + text_of_count(pairs.size()) + " pairs: " + load(heaviest));
  text += "; heaviest " + pair_text(heaviest.first) + ": " + load(heaviest);
  if (emptiest.second.empty)
    text += "; emptiest " + pair_text(emptiest.first) + ": " +
            text_of_count(emptiest.second.empty) + " of " + text_of_count(emptiest.second.count) +
            " empty";
  else if (pairs.size() > 1)
    text += "; lightest " + pair_text(emptiest.first) + ": " + load(emptiest);
  return line("messages", text);
}

std::string written_line(const RunTotals& run) {
  std::string text = text_of_bytes(double(run.stream_bytes + run.mesh_bytes)) + " by perfield";
  if (run.mesh_bytes)
    text += " (stream " + text_of_bytes(double(run.stream_bytes)) + ", mesh " +
            text_of_bytes(double(run.mesh_bytes)) + ")";
  std::map<int32_t, uint64_t> by_rank;
  uint64_t all = 0;
  for (const Totals* totals : {&run.steps, &run.outside})
    for (const auto& [rank, own] : totals->ranks) {
      by_rank[rank] += uint64_t(own.io_write_bytes);
      all += uint64_t(own.io_write_bytes);
    }
  if (all) {
    const auto most = *std::max_element(by_rank.begin(), by_rank.end(),
                                        [](auto& a, auto& b) { return a.second < b.second; });
    text += "; " + text_of_bytes(double(all)) + " by the program";
    if (by_rank.size() > 1)
      text += ", most by rank " + std::to_string(most.first) + " (" +
              text_of_share(double(most.second) / double(all)) + ")";
  }
  return line("written", text);
}

std::string own_line(const RunTotals& run) {
  double own_ns = 0, all_ns = 0;
  uint64_t bytes = 0;
  for (const Totals* totals : {&run.steps, &run.outside}) {
    const RankSums all = totals->of_all_ranks();
    own_ns += all.perfield_ns;
    all_ns += all.measured_ns;
  }
  if (run.memory.empty()) return "";
  const auto most =
      std::max_element(run.memory.begin(), run.memory.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& own : run.memory) bytes += own.second;
  if (!bytes) return "";  // another tool measured this run
  std::string text;
  // perfield's own time lies outside the steps, so the run's time is the sum of both.
  if (all_ns > 0) text = text_of_share(own_ns / (all_ns + own_ns)) + " of the time; ";
  text += "memory " + text_of_bytes(double(bytes) / double(run.memory.size())) + " per rank";
  if (most->second * run.memory.size() > bytes)
    text += ", most " + text_of_bytes(double(most->second)) + " (rank " +
            std::to_string(most->first) + ")";
  return line("perfield", text);
}

std::string notice_line(const RunTotals& run) {
  std::string text;
  const auto say = [&text](uint64_t count, const char* one, const char* many) {
    if (!count) return;
    text += (text.empty() ? "" : ", ") + text_of_count(count) + " " + (count == 1 ? one : many);
  };
  if (run.n_blind() < run.blind.size())
    say(run.n_blind(), "rank whose MPI was not seen", "ranks whose MPI was not seen");
  say(run.n_damaged, "damaged place in the streams", "damaged places in the streams");
  say(run.n_strangers, "entry of another run", "entries of another run");
  say(run.faults, "event that could not be right", "events that could not be right");
  say(run.overflowed, "event beyond full tables", "events beyond full tables");
  return text.empty() ? "" : line("notice", text);
}

}  // namespace

std::vector<std::string> closing_lines(const std::string& run_path, uint64_t max_bytes) noexcept {
  std::vector<std::string> lines;
  try {
    RunTotals run;
    const std::string error = read_totals(run_path, max_bytes, &run);
    if (!error.empty()) return {error};
    const Totals& totals = run.steps.n_steps ? run.steps : run.outside;
    const std::string path = text_of_path(run_path);
    for (const std::string& text :
         {steps_line(run), run.steps.n_steps ? imbalance_line(totals) : std::string(),
          waiting_line(totals, run.n_blind() > 0), waited_for_line(totals),
          waiting_region_line(run, totals), messages_line(totals), files_line(totals),
          written_line(run), own_line(run), notice_line(run),
          line("look",
               "perfield open " + path + "    (files and images: render in place of open)")})
      if (!text.empty()) lines.push_back(text);
  } catch (...) {  // out of memory: the run matters more than its summary
    lines.clear();
  }
  return lines;
}

}  // namespace perfield
