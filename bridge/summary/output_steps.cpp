// SPDX-License-Identifier: BSD-3-Clause
//
// output_steps.cpp - see output_steps.hpp.
#include "summary/output_steps.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include "summary/chance.hpp"
#include "summary/text.hpp"

namespace perfield {
namespace {

constexpr double kFarBeyond = 10;   // times the bytes of the median step
constexpr double kLogBytes = 4096;  // less may be a log
constexpr double kWorthReporting = 0.01, kFirst = 0.1;
constexpr double kLongSteps = 0.1;  // the part of the other steps that counts as long
constexpr double kChance = 0.0101;  // that output steps are long so often: two of two are enough
constexpr size_t kFewest = 3;       // output steps, to call them regular

// How long the steps took: the time of the rank that measured longest, for each group.
double elapsed_ns(const RunTotals& run) {
  std::map<uint64_t, double> longest;
  for (const auto& [rank, sums] : run.steps.ranks) {
    const auto group = run.group.find(rank);
    double& ns = longest[group == run.group.end() ? 0 : group->second];
    ns = std::max(ns, double(sums.measured_ns));
  }
  double all = 0;
  for (const auto& [group, ns] : longest) all += ns;
  return all;
}

}  // namespace

OutputSteps::OutputSteps(const RunTotals& run) : n_steps_(run.steps.lengths.size()) {
  const Totals& steps = run.steps;
  std::vector<double> bytes, other, output;
  for (const auto& [step, written] : steps.written) bytes.push_back(written);
  const double limit = std::max(kFarBeyond * median_of(bytes), kLogBytes);
  std::vector<uint64_t> keys;
  double n_of_program = 0;
  for (const auto& [step, written] : steps.written) {
    (written > limit ? output : other).push_back(steps.lengths.at(step));
    if (written <= limit) continue;
    keys.push_back(step);
    n_of_program += steps.spans.at(step);
  }
  n_output_ = output.size();
  const double base = median_of(other);
  if (output.empty() || base <= 0) return;
  std::sort(other.begin(), other.end());
  const double limit_of_long = other[size_t(double(other.size()) * (1 - kLongSteps))];
  const auto n_long = std::count_if(output.begin(), output.end(),
                                    [&](double length) { return length > limit_of_long; });
  if (chance_of_hits(size_t(n_long), output.size(), kLongSteps) > kChance) return;
  ratio_ = median_of(output) / base;
  share_ = n_of_program * (median_of(output) - base) / elapsed_ns(run);
  std::sort(keys.begin(), keys.end());
  if (keys.size() < kFewest) return;
  period_ = keys[1] - keys[0];
  for (size_t n = 2; n < keys.size(); ++n)
    if (keys[n] - keys[n - 1] != period_) period_ = 0;
}

std::string OutputSteps::line() const {
  if (share_ < kWorthReporting) return "";
  const std::string counts = text_of_count(n_output_) + " of " + text_of_count(n_steps_);
  char ratio[32];
  std::snprintf(ratio, sizeof(ratio), "%.1f", ratio_);
  const std::string when = period_ > 1
                               ? "every " + text_of_count(period_) + " steps (" + counts + ")"
                               : "in " + counts + " steps";
  return perfield::line("output", when + "; these take " + ratio +
                                      " times as long as the others and cost " +
                                      text_of_share(share_) + " of the time");
}

bool OutputSteps::comes_first() const { return share_ >= kFirst; }

}  // namespace perfield
