// SPDX-License-Identifier: BSD-3-Clause
//
// most_steps.cpp - see most_steps.hpp. What a rank has in a step is divided by the median of the
// ranks. Blocks of consecutive steps take the mean of the middle half of these ratios, so that no
// single step counts much. The logarithms of all blocks and ranks, in units of their median
// absolute deviation, are cut where they are far out (Huber, Robust Statistics, chapter 1), and
// ranks are compared as in a layout of blocks and treatments: the mean of a rank over its standard
// error is Student's t, by the scatter of all ranks together. Neighbouring blocks that are alike
// count less, as in chance.cpp. tests/bridge/summary/test_slowest_rank.py shows the size and the
// power.
#include "summary/most_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace perfield {
namespace {

constexpr size_t kBlocks = 20;
constexpr double kLeast = 1e-6;      // of a ratio, where a rank has nothing
constexpr double kLeastUnit = 0.02;  // relative: so little makes nobody slow
constexpr double kFar = 3;           // deviations, beyond which all values count alike
constexpr double kApart = 4;         // deviations of a block, where neighbouring blocks are alike
constexpr double kSure = 1.5;    // standard errors, beyond which a correlation is none of chance
constexpr double kFound = 0.99;  // in theory; 95 % are, as correlations that are chance cost some

// The mean of the middle half.
double middle_mean(std::vector<double>* numbers) {
  const size_t cut = (numbers->size() + 1) / 4;
  const auto begin = numbers->begin(), end = numbers->end();
  if (cut) {
    std::nth_element(begin, begin + std::ptrdiff_t(cut), end);
    std::nth_element(begin + std::ptrdiff_t(cut), end - std::ptrdiff_t(cut), end);
  }
  const auto from = begin + std::ptrdiff_t(cut), to = end - std::ptrdiff_t(cut);
  return std::accumulate(from, to, 0.0) / double(to - from);
}

// The t that a Student's t exceeds with this probability, below 0.5.
double quantile_of_t(double probability, double freedom) {
  double low = 0, high = 1;
  while (chance_of_t(high, freedom) > probability && high < 1e9) high *= 2;
  for (int n = 0; n < 60; ++n) {
    const double middle = (low + high) / 2;
    (chance_of_t(middle, freedom) > probability ? low : high) = middle;
  }
  return high;
}

}  // namespace

MostSteps::MostSteps(const Table& table) : n_ranks_(table.n_ranks) {
  std::vector<size_t> steps;
  std::vector<double> base, of_step(n_ranks_);
  for (size_t step = 0; step < table.n_steps; ++step) {
    const double mean = table.mean(step);
    if (!(mean > 0)) continue;
    for (size_t rank = 0; rank < n_ranks_; ++rank) of_step[rank] = table.at(step, rank);
    const double median = median_of(of_step);
    steps.push_back(step);
    base.push_back(median > 0 ? median : mean);
  }
  n_blocks_ = std::min(steps.size(), kBlocks);
  std::vector<double> numbers;
  relative_.assign(n_ranks_, 0.0);
  for (size_t block = 0; block < n_blocks_; ++block) {
    const size_t begin = block * steps.size() / n_blocks_,
                 end = (block + 1) * steps.size() / n_blocks_;
    for (size_t rank = 0; rank < n_ranks_; ++rank) {
      numbers.clear();
      for (size_t n = begin; n < end; ++n) numbers.push_back(table.at(steps[n], rank) / base[n]);
      blocks_.push_back(middle_mean(&numbers));
      relative_[rank] += blocks_.back() * double(end - begin);
    }
  }
  const double sum = std::accumulate(relative_.begin(), relative_.end(), 0.0);
  if (!steps.empty())
    mean_in_all_ =
        sum / double(n_ranks_ * steps.size()) * std::accumulate(base.begin(), base.end(), 0.0);
  for (double& one : relative_) one *= sum > 0 ? double(n_ranks_) / sum : 0;

  for (const double ratio : blocks_) scores_.push_back(std::log(std::max(ratio, kLeast)));
  const double middle = median_of(scores_);
  std::vector<double> apart;
  for (const double one : scores_) apart.push_back(std::fabs(one - middle));
  unit_ = std::max(1.483 * median_of(std::move(apart)), kLeastUnit);
  for (double& one : scores_) one = std::clamp((one - middle) / unit_, -kFar, kFar);
  for (size_t block = 0; block < n_blocks_; ++block) {
    double* const own = scores_.data() + block * n_ranks_;
    const double mean = std::accumulate(own, own + n_ranks_, 0.0) / double(n_ranks_);
    for (size_t rank = 0; rank < n_ranks_; ++rank) own[rank] -= mean;
  }
  means_ = means(0, n_blocks_);
  scatter_ = scatter_in({0, n_blocks_});
}

std::vector<double> MostSteps::means(size_t begin, size_t end) const {
  std::vector<double> found(n_ranks_);
  for (size_t block = begin; block < end; ++block)
    for (size_t rank = 0; rank < n_ranks_; ++rank)
      found[rank] += score(block, rank) / double(end - begin);
  return found;
}

MostSteps::Scatter MostSteps::scatter_in(const std::vector<size_t>& windows) const {
  double square = 0, neighbours = 0;
  for (size_t window = 0; window + 1 < windows.size(); ++window) {
    const std::vector<double> mean = means(windows[window], windows[window + 1]);
    for (size_t block = windows[window]; block < windows[window + 1]; ++block)
      for (size_t rank = 0; rank < n_ranks_; ++rank) {
        const double left = score(block, rank) - mean[rank];
        square += left * left;
        if (block > windows[window]) neighbours += left * (score(block - 1, rank) - mean[rank]);
      }
  }
  const double n_windows = double(windows.size() - 1);
  const double free = (double(n_blocks_) - n_windows) * double(n_ranks_ - 1);
  Scatter found;
  if (!(free > 0)) return found;
  found.variance = square / free;
  // The means are taken out, so correlations are larger than they look (Kendall, Biometrika 41,
  // 1954).
  const double correlation = square > 0 ? neighbours / square : 0;
  const double bias = n_windows / double(n_blocks_), error = 1 / std::sqrt(free);
  found.is_correlated = correlation + bias > kSure * error;
  const bool is_short = n_blocks_ < kBlocks;  // so few steps show none that is smaller
  const double alike = correlation > (is_short ? kSure * error : 0)
                           ? std::min(correlation + (1 + 3 * correlation) * bias, 0.95)
                           : 0;
  const double counts = (1 - alike) / (1 + alike);
  found.n_blocks = std::max(1.0, double(n_blocks_) * counts);
  found.freedom = std::max(free * counts, double(n_ranks_ - 1));
  return found;
}

double MostSteps::largest() const {
  return relative_.empty() ? 1 : *std::max_element(relative_.begin(), relative_.end());
}

double MostSteps::chance_of(size_t rank) const {
  if (!(scatter_.freedom > 0) || !(means_[rank] > 0)) return 1;
  const double of_rank = double(n_ranks_ - 1) / double(n_ranks_) / scatter_.n_blocks;
  const double error = std::sqrt(scatter_.variance * of_rank);
  return error > 0 ? chance_of_t(means_[rank] / error, scatter_.freedom) : 0;
}

double MostSteps::chance_of_less(size_t rank, size_t most) const {
  if (!(scatter_.freedom > 0) || !(means_[most] > means_[rank])) return 1;
  const double error = std::sqrt(2 * scatter_.variance / scatter_.n_blocks);
  return error > 0 ? chance_of_t((means_[most] - means_[rank]) / error, scatter_.freedom) : 0;
}

double MostSteps::chance_of_order(const std::vector<double>& numbers) const {
  if (!(scatter_.freedom > 0)) return 1;
  const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / double(n_ranks_);
  double sum = 0, square = 0;
  for (size_t rank = 0; rank < n_ranks_; ++rank) {
    sum += (numbers[rank] - mean) * means_[rank];
    square += (numbers[rank] - mean) * (numbers[rank] - mean);
  }
  const double error = std::sqrt(scatter_.variance * square / scatter_.n_blocks);
  if (!(sum > 0)) return 1;
  return error > 0 ? chance_of_t(sum / error, scatter_.freedom) : 0;
}

double MostSteps::visible(double level, double least) const {
  const double n = double(n_ranks_);
  if (!(scatter_.freedom > 0) || n <= 1 + least) return std::numeric_limits<double>::infinity();
  const double error = unit_ * std::sqrt(scatter_.variance * n / (n - 1) / scatter_.n_blocks);
  const double surely = quantile_of_t(1 - kFound, scatter_.freedom) * error;
  const double beyond_chance = quantile_of_t(level / n, scatter_.freedom) * error;
  return std::max(std::expm1(beyond_chance + surely), least * n / (n - 1 - least) + surely);
}

std::vector<MostSteps::Window> MostSteps::windows(size_t n_windows) const {
  std::vector<Window> found;
  if (n_blocks_ < 2 * n_windows) return found;
  std::vector<size_t> begin;
  for (size_t window = 0; window <= n_windows; ++window)
    begin.push_back(window * n_blocks_ / n_windows);
  const Scatter scatter = scatter_in(begin);
  for (size_t window = 0; window < n_windows; ++window) {
    const std::vector<double> mean = means(begin[window], begin[window + 1]);
    const auto at = std::max_element(mean.begin(), mean.end());
    const double share = double(begin[window + 1] - begin[window]) / double(n_blocks_);
    const double of_rank =
        double(n_ranks_ - 1) / double(n_ranks_) / std::max(scatter.n_blocks * share, 1.0);
    const double error = std::sqrt(scatter.variance * of_rank);
    double chance = error > 0 ? chance_of_t(*at / error, scatter.freedom) : *at > 0 ? 0 : 1;
    // Noise that lasts stays on a rank, too, but hardly so far from the others.
    if (scatter.is_correlated && *at < kApart * std::sqrt(scatter.variance)) chance = 1;
    found.push_back({size_t(at - mean.begin()), chance * double(n_ranks_ * n_windows)});
  }
  return found;
}

}  // namespace perfield
