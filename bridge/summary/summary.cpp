// SPDX-License-Identifier: BSD-3-Clause
//
// summary.cpp - writes the summary. One function per line; a line with nothing to report is left
// out. Compute time is a step's measured time minus all MPI and all file I/O.
#include "summary/summary.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>

#include "format/decode_json.hpp"
#include "summary/chance.hpp"
#include "summary/imbalance.hpp"
#include "summary/missing_ranks.hpp"
#include "summary/output_steps.hpp"
#include "summary/text.hpp"
#include "summary/totals.hpp"
#include "summary/uneven_steps.hpp"
#include "summary/unmatched.hpp"
#include "summary/waiting.hpp"

namespace perfield {
namespace {

std::string pair_text(uint64_t key) {
  return "from rank " + std::to_string(static_cast<int32_t>(key >> 32)) + " to " +
         std::to_string(static_cast<int32_t>(key & 0xFFFFFFFFu));
}

std::string steps_line(const RunTotals& run, const UnevenSteps& uneven) {
  const uint64_t seen = run.memory.size();
  const uint64_t size = std::max<uint64_t>(run.size, seen);
  std::string ranks = plural(size, "rank");
  if (seen < size) ranks = text_of_count(seen) + " of " + ranks;
  std::set<std::string> nodes;
  for (const auto& [rank, node] : run.node) nodes.insert(node);
  if (nodes.size() > 1) ranks += " and " + plural(nodes.size(), "node");
  if (run.steps.n_steps == 0)
    return line("steps", "none closed on " + ranks + "; the lines below are of the whole run");
  if (run.has_windows)
    return line("steps", "none closed on " + ranks + "; the lines below are of " +
                             plural(run.steps.lengths.size(), "window") + " of " +
                             text_of_time(double(kWindow_ns)) + " or more by the clock");
  std::string text = text_of_count(run.steps.n_steps) + " on " + ranks;
  if (run.bytes_read < run.stream_bytes)
    text = "the last " + text + " (in the newest " + text_of_bytes(double(run.bytes_read)) +
           " of " + text_of_bytes(double(run.stream_bytes)) + ")";
  std::vector<double> lengths;
  for (const auto& [step, longest] : run.steps.lengths) lengths.push_back(longest);
  if (!lengths.empty()) text += ", median " + text_of_time(median_of(std::move(lengths)));
  if (run.steps.n_unmeasured)
    text += "; " + text_of_count(run.steps.lengths.size()) + " of them measured";
  return line("steps", text + run.longest_span.in_words() + uneven.end_of_steps_line());
}

// How long all ranks would wait for the one that takes longest in each step.
double uneven_ns(const Table& table) {
  double sum = 0;
  for (size_t step = 0; step < table.n_steps; ++step)
    sum += table.at(step, table.largest(step)) - table.mean(step);
  return sum;
}

// Whether files of some ranks cost more than their computing, and a tenth of the time of one. most:
// the largest share of a rank's time in files.
bool files_cost_most(double most, const Tables& tables, const Computing& computing) {
  return most >= 0.1 && uneven_ns(tables.of(&RankStep::file_ns)) > computing.found.saved;
}

// File I/O, where it takes long enough to be worth a line.
std::string files_line(double most, const Totals& totals, const Tables& tables) {
  constexpr double kShare = 0.01;
  if (most < kShare) return "";
  const RankSums all = totals.of_all_ranks();
  return line("files", text_of_share(all.io_ns() / all.measured_ns) + " of the time" +
                           most_on(tables, &RankStep::file_ns) + "; " +
                           text_of_bytes(all.io_read_bytes) + " read, " +
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
    return text_of_bytes(double(pair.second.bytes)) + " in " + plural(pair.second.count, "message");
  };
  const bool alike = heaviest.second.bytes == emptiest.second.bytes;
  if (alike && !emptiest.second.empty && pairs.size() > 1)
    return line("messages",
                text + "; each of " + text_of_count(pairs.size()) + " pairs: " + load(heaviest));
  text += "; most bytes " + pair_text(heaviest.first) + ": " + load(heaviest);
  if (emptiest.second.empty)
    text += "; most empty ones " + pair_text(emptiest.first) + ": " +
            text_of_count(emptiest.second.empty) + " of " + text_of_count(emptiest.second.count);
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
    constexpr double kMuchMore = 1.2;  // than an equal share
    const auto most = *std::max_element(by_rank.begin(), by_rank.end(),
                                        [](auto& a, auto& b) { return a.second < b.second; });
    text += "; " + text_of_bytes(double(all)) + " by the program";
    if (double(most.second) * double(by_rank.size()) > kMuchMore * double(all))
      text += ", most by rank " + std::to_string(most.first) + " (" +
              text_of_share(double(most.second) / double(all)) + ")";
  }
  return line("written", text);
}

// What perfield adds to the program, in ns: closing steps, which is measured, and counting events,
// by what an event takes in tests/bench, where the caches are warm.
std::string own_line(const RunTotals& run) {
  constexpr double kCallNs = 50, kRegionNs = 20, kFileCallNs = 30;
  double own_ns = 0, all_ns = 0, events_ns = 0;
  uint64_t bytes = 0;
  for (const Totals* totals : {&run.steps, &run.outside}) {
    const RankSums all = totals->of_all_ranks();
    own_ns += all.perfield_ns;
    all_ns += all.measured_ns;
    events_ns += kCallNs * all.mpi_call_count + kFileCallNs * all.own_file_count;
    for (const auto& region : totals->regions)
      events_ns += kRegionNs * double(region.second.visits);
  }
  if (run.memory.empty()) return "";
  const auto most =
      std::max_element(run.memory.begin(), run.memory.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& own : run.memory) bytes += own.second;
  if (!bytes) return "";  // another tool measured this run
  std::string text;
  // Steps are closed outside of what they measure, so the run's time is the sum of both.
  if (all_ns > 0) {
    const std::string share =
        text_of_share(std::min(1.0, (own_ns + events_ns) / (all_ns + own_ns)));
    text = (share.rfind("below", 0) == 0 ? "" : "about ") + share + " of the time; ";
  }
  text += "memory " + text_of_bytes(double(bytes) / double(run.memory.size())) + " per rank";
  if (most->second * run.memory.size() > bytes)
    text += ", most " + text_of_bytes(double(most->second)) + " (rank " +
            std::to_string(most->first) + ")";
  return line("perfield", text);
}

// So that these times are not taken for the machine's own.
std::string injected_line(const RunTotals& run) {
  if (run.injected.empty()) return "";
  const double mean_s = std::strtod(json_value(run.injected, "mean_s").c_str(), nullptr);
  return line("injected",
              "latencies of " + text_of_time(mean_s * 1e9) +
                  " on average, into received messages; waiting and all times contain them");
}

std::string notice_line(const RunTotals& run) {
  std::string text;
  const auto add = [&text](uint64_t count, const char* one, const char* many) {
    if (!count) return;
    text += (text.empty() ? "" : ", ") + text_of_count(count) + " " + (count == 1 ? one : many);
  };
  if (run.n_blind() < run.blind.size())
    add(run.n_blind(), "rank whose MPI was not seen", "ranks whose MPI was not seen");
  add(run.n_damaged, "damaged place in the streams", "damaged places in the streams");
  add(run.n_missing, "entry that could not be written", "entries that could not be written");
  add(run.n_unsafe, "rank whose entries the file system may have lost",
      "ranks whose entries the file system may have lost");
  add(run.n_strangers, "entry of another run", "entries of another run");
  add(run.faults, "event that could not be right", "events that could not be right");
  add(run.overflowed, "event beyond full tables", "events beyond full tables");
  for (const std::string& missing : missing_in_words(run))
    text += (text.empty() ? "" : ", ") + missing;
  return text.empty() ? "" : line("notice", text);
}

}  // namespace

Summary summary_of(const std::string& run_path, uint64_t max_bytes) noexcept {
  Summary summary;
  std::vector<std::string>& lines = summary.lines;
  try {
    RunTotals run;
    const std::string error = read_totals(run_path, max_bytes, &run);
    if (!error.empty()) return {{error}, {}};
    summary.parts = run_parts(run);
    const std::vector<int32_t> open = open_ranks(run);
    const std::string parts_text = run_parts_line(summary.parts, open);
    const bool outside_first = !open.empty() || are_mostly_outside(summary.parts);
    const Totals& totals = run.steps.n_steps ? run.steps : run.outside;
    const UnevenSteps uneven(&run);
    const Tables tables(totals);
    const std::string path = text_of_path(run_path);
    const Computing computing(run, tables);
    const OutputSteps output(run);
    const std::string output_text = uneven.any_doubt() ? std::string() : output.line();
    const double in_files = totals.largest_share(&RankSums::io_ns).share;
    const std::string files_text = files_line(in_files, totals, tables);
    const bool files_first = files_cost_most(in_files, tables, computing);
    const std::string imbalance = imbalance_line(run, tables, computing, run.steps.n_steps == 0);
    for (const std::string& text : {not_believed_line(run),
                                    missing_ranks_line(run),
                                    injected_line(run),
                                    uneven.line(!imbalance.empty()),
                                    uneven.advice_line(),
                                    outside_first ? parts_text : std::string(),
                                    output.comes_first() ? output_text : std::string(),
                                    files_first ? files_text : std::string(),
                                    imbalance,
                                    why_line(tables, computing),
                                    regions_line(run, totals, tables, computing),
                                    cores_line(run, totals),
                                    steps_line(run, uneven),
                                    outside_first ? std::string() : parts_text,
                                    output.comes_first() ? std::string() : output_text,
                                    efficiency_line(tables),
                                    waiting_line(totals, tables, run.n_blind() > 0),
                                    waited_for_line(totals, tables, run.waiting, computing),
                                    delay_line(run, totals, tables, computing),
                                    explained_line(totals, run.waiting),
                                    waiting_region_line(run, totals),
                                    messages_line(totals),
                                    files_first ? std::string() : files_text,
                                    written_line(run),
                                    own_line(run),
                                    unmatched_line(run),
                                    notice_line(run),
                                    line("next", "perfield report " + path + "  (serve: browser)")})
      if (!text.empty()) lines.push_back(text);
  } catch (...) {  // out of memory: the run matters more than its summary
    summary = {};
  }
  return summary;
}

}  // namespace perfield
