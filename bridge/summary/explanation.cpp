// SPDX-License-Identifier: BSD-3-Clause
//
// explanation.cpp - see explanation.hpp.
#include "summary/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "summary/most_steps.hpp"

namespace perfield {
namespace {

constexpr double kEnough = 0.6;    // of the imbalance, for an explanation
constexpr double kChance = 0.05;   // of an explanation, over all that are tried
constexpr double kOfOrder = 5e-4;  // that ranks follow counts by chance, over all that are tried
constexpr double kDiffers = 1.05;  // less is not reported
constexpr double kCellsAlike = 0.01;
constexpr double kCostsMore = 1.1;        // than another rank's cell
constexpr double kWorthReporting = 0.01;  // of the run's time
constexpr double kWholeStep = 0.95;       // of it: such a region locates nothing
constexpr double kNothing = 0.1;          // of the others' compute time: who has less has no work
constexpr double kCoverage = 0.2;         // of all waiting must name a rank
constexpr double kStandsOut = 1.5;        // times an even share of all ranks

// What the slowest ranks have of a table, relative to the mean: in each step the fixed ones, or the
// one that was slowest. Steps weigh as much as their compute time.
double ratio_of_slowest(const Table& table, const Table& compute, const Differences& found) {
  double all = 0, weighted = 0;
  for (size_t step = 0; step < compute.n_steps; ++step) {
    const double time = compute.mean(step), mean = table.mean(step);
    if (!(time > 0) || !(mean > 0)) continue;
    double slowest = 0;
    for (const size_t rank : found.most)
      slowest += table.at(step, rank) / double(found.most.size());
    if (found.most.empty()) slowest = table.at(step, compute.largest(step));
    all += time;
    weighted += time * slowest / mean;
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
  return 1 + slope(compute, cause) * (ratio_of_slowest(cause, compute, found) - 1);
}

// Whether that is most of the imbalance.
bool is_enough(const Table& compute, const Table& cause, const Differences& found) {
  return explained(compute, cause, found) - 1 >=
         kEnough * (ratio_of_slowest(compute, compute, found) - 1);
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
  const double chance = found.names_ranks() ? chance_of_correlation(compute, cause)
                                            : chance_of_agreement(compute, cause, found.stay);
  return chance <= kChance / double(n_tried);
}

}  // namespace

size_t rank_without_work(const Table& compute) {
  if (compute.n_ranks < 3) return kNone;
  std::vector<std::pair<double, size_t>> times;
  for (size_t rank = 0; rank < compute.n_ranks; ++rank)
    times.emplace_back(compute.of_rank(rank), rank);
  std::sort(times.begin(), times.end());
  const auto has_none = [&](size_t place) {
    std::vector<double> others;
    for (size_t other = 0; other < times.size(); ++other)
      if (other != place) others.push_back(times[other].first);
    return times[place].first <= kNothing * median_of(std::move(others));
  };
  return has_none(0) && !has_none(1) ? times[0].second : kNone;
}

Explanation explanation_of(const Table& compute, const Differences& found,
                           const std::vector<Table>& causes) {
  for (size_t cause = 0; cause < causes.size(); ++cause)
    if (causes[cause].n_ranks && explains(compute, causes[cause], found, causes.size()))
      return {cause, explained(compute, causes[cause], found)};
  return {};
}

Explanation follow_counts(const Table& compute, const std::vector<Table>& causes,
                          Differences* found) {
  if (found->pattern != Pattern::chance || compute.n_steps < 2 || compute.n_ranks < 2) return {};
  const MostSteps steps(compute);
  for (size_t cause = 0; cause < causes.size(); ++cause) {
    const Table& counts = causes[cause];
    if (!counts.n_ranks || !(counts.sum() > 0)) continue;
    std::vector<double> numbers;
    for (size_t rank = 0; rank < counts.n_ranks; ++rank) numbers.push_back(counts.of_rank(rank));
    const double most = *std::max_element(numbers.begin(), numbers.end());
    if (most < kDiffers * counts.sum() / double(counts.n_ranks)) continue;
    Differences by_counts = *found;
    by_counts.pattern = Pattern::fixed;
    by_counts.chance = steps.chance_of_order(numbers) * double(causes.size());
    if (by_counts.chance > kOfOrder) continue;
    by_counts.most.clear();
    for (size_t rank = 0; rank < counts.n_ranks; ++rank)
      if (numbers[rank] * kDiffers >= most) by_counts.most.push_back(rank);
    const double makes = explained(compute, counts, by_counts);
    if (makes < kDiffers || !is_enough(compute, counts, by_counts)) continue;
    by_counts.n_most = 0;
    for (size_t step = 0; step < compute.n_steps; ++step)
      by_counts.n_most +=
          size_t(std::count(by_counts.most.begin(), by_counts.most.end(), compute.largest(step)));
    by_counts.saved = compute.of_ranks(by_counts.most) / double(by_counts.most.size()) -
                      compute.sum() / double(compute.n_ranks);
    *found = by_counts;
    return {cause, makes};
  }
  return {};
}

CostOfCells cost_of_cells(const Table& compute, const Differences& found, const Table& cells) {
  CostOfCells cost;
  if (!cells.n_ranks) return cost;
  const double slowest_cells = cells.of_ranks(found.most), slowest = compute.of_ranks(found.most);
  const double other_cells = cells.sum() - slowest_cells, other = compute.sum() - slowest;
  if (!(slowest_cells > 0) || !(other_cells > 0) || !(other > 0)) return cost;
  double most = 0, mean = cells.sum() / double(cells.n_ranks);
  for (size_t rank = 0; rank < cells.n_ranks; ++rank)
    most = std::max(most, std::fabs(cells.of_rank(rank) / mean - 1));
  cost.is_known = true;
  cost.are_alike = most < kCellsAlike;
  cost.may_explain = compute.n_ranks < 3 && is_enough(compute, cells, found);
  cost.alone = ratio_of_slowest(cells, compute, found);
  cost.relative = slowest / slowest_cells * other_cells / other;
  cost.costs_more = cost.relative >= kCostsMore;
  return cost;
}

std::vector<size_t> regions_to_report(const std::vector<double>& saved,
                                      const std::vector<double>& share, double elapsed,
                                      double most) {
  std::vector<size_t> reported;
  if (most < kWorthReporting * elapsed) return reported;
  for (size_t region = 0; region < saved.size(); ++region)
    if (saved[region] > 0 && saved[region] >= kWorthReporting * elapsed) reported.push_back(region);
  const auto is_whole = [&](size_t region) { return share[region] >= kWholeStep; };
  if (!std::all_of(reported.begin(), reported.end(), is_whole))
    reported.erase(std::remove_if(reported.begin(), reported.end(), is_whole), reported.end());
  std::sort(reported.begin(), reported.end(),
            [&](size_t a, size_t b) { return saved[a] > saved[b]; });
  return reported;
}

size_t rank_waited_for(const Table& waited, double named, double waiting) {
  if (!(named > 0) || named < kCoverage * std::max(named, waiting)) return kNone;
  const Differences found = differences(waited);
  if (!found.names_ranks() || found.most.size() > 1) return kNone;
  const size_t rank = found.most[0];
  for (size_t other = 0; other < waited.n_ranks; ++other)
    if (waited.of_rank(other) > waited.of_rank(rank)) return kNone;
  const bool stands_out = waited.of_rank(rank) / named >= kStandsOut / double(waited.n_ranks);
  return stands_out ? rank : kNone;
}

}  // namespace perfield
