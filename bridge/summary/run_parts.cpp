// SPDX-License-Identifier: BSD-3-Clause
//
// run_parts.cpp - see run_parts.hpp. Each rank's stamps are of one clock, so the clocks of nodes
// need not agree.
#include "summary/run_parts.hpp"

#include <array>

#include "summary/text.hpp"

namespace perfield {
namespace {

constexpr double kMostly = 0.5;           // of a part: for how long a rank waits that is named
constexpr double kWorthReporting = 0.05;  // of the run

constexpr std::array<const char*, kRunParts> kNames = {"setup", "steps", "teardown"};

}  // namespace

std::vector<RunPart> run_parts(const RunTotals& run) {
  if (run.steps.n_steps == 0 || run.parts.empty()) return {};
  std::vector<RunPart> parts(kRunParts);
  double all_ns = 0;
  for (const auto& [rank, own] : run.parts) {
    // Without the begin of the streams, setup is missing and the first steps may be.
    if (!own[0].is_known() || !own[1].is_known()) return {};
    for (size_t n = 0; n < kRunParts; ++n) {
      parts[n].ns += own[n].ns() / double(run.parts.size());
      all_ns += own[n].ns() / double(run.parts.size());
      if (own[n].waiting() < kMostly) continue;
      parts[n].who_waits.push_back(rank);
      parts[n].waiting += own[n].waiting();
    }
  }
  for (size_t n = 0; n < kRunParts; ++n) {
    RunPart& part = parts[n];
    part.name = kNames[n];
    part.share = all_ns > 0 ? part.ns / all_ns : 0;
    part.all_wait = part.who_waits.size() == run.parts.size();
    if (!part.who_waits.empty()) part.waiting /= double(part.who_waits.size());
  }
  return parts;
}

std::string waiting_in_words(const RunPart& part) {
  if (part.who_waits.empty() || part.share < kWorthReporting) return "";
  const bool is_one = part.who_waits.size() == 1;
  return (part.all_wait && !is_one ? "all ranks" : text_of_ranks(part.who_waits)) +
         (is_one ? " waits for " : " wait for ") + text_of_share(part.waiting) + " of it";
}

std::vector<int32_t> open_ranks(const RunTotals& run) {
  std::vector<int32_t> ranks;
  if (run.bytes_read < run.stream_bytes) return ranks;  // their last entries may not have been read
  for (const auto& [rank, own] : run.parts)
    if (!run.closed_at_end.count(rank)) ranks.push_back(rank);
  return ranks;
}

std::string run_parts_line(const std::vector<RunPart>& parts, const std::vector<int32_t>& open) {
  if (parts.empty()) return "";
  double all_ns = 0;
  std::string text;
  for (const RunPart& part : parts) {
    all_ns += part.ns;
    if (!(part.ns > 0)) continue;  // no teardown yet
    // Other lines are about the steps.
    const std::string waiting = part.name == kNames[1] ? "" : waiting_in_words(part);
    text += (text.empty() ? ": " : ", ") + std::string(part.name) + " " + text_of_time(part.ns) +
            " (" + text_of_share(part.share) + (waiting.empty() ? "" : "; ") + waiting + ")";
  }
  const std::string until = open.empty()
                                ? ""
                                : " recorded, and " + text_of_ranks(open) +
                                      (open.size() == 1 ? " has not ended" : " have not ended");
  return line("run", text_of_time(all_ns) + until + text);
}

bool are_mostly_outside(const std::vector<RunPart>& parts) {
  return !parts.empty() && parts[1].share < kMostly;
}

}  // namespace perfield
