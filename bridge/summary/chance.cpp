// SPDX-License-Identifier: BSD-3-Clause
//
// chance.cpp - see chance.hpp. Steps are not independent: a rank that is slow in one step is often
// slow in the next. So their numbers go into blocks of consecutive steps, and the correlation that
// is left between neighbouring blocks lowers the number of blocks that count (batch means, as in
// steady-state simulation: Law, Simulation Modeling and Analysis, chapter 9).
#include "summary/chance.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <set>
#include <utility>

#include "summary/most_steps.hpp"
#include "summary/turns.hpp"

namespace perfield {
namespace {

constexpr double kChance = 0.001;  // accepted probability of one false name or order per table
// The parts of it that the tests of means and of most steps take; they mostly agree, so that both
// together stay below it.
constexpr double kOfMeans = 0.1, kOfMost = 0.8;
constexpr size_t kMostWindows = 5;    // parts of a run in each of which another rank may have most
constexpr double kOfWindows = 0.033;  // the part of it for them: noise that lasts looks like it
constexpr size_t kBlocks = 20;
constexpr double kWorthReporting = 0.05;  // above the mean; less is not reported
constexpr double kWorthUntested = 0.1;    // the same, where no test is possible
constexpr double kOfImbalance = 0.25;     // the part of it that lasts, below which no rank is named
constexpr double kTogether = 0.75;        // of it, that ranks have which are not slowest in turn
constexpr size_t kLongestLag = 64;
constexpr double kPredictable = 0.6;  // of what chance leaves open
constexpr double kStays = 0.8;        // the same, where few ranks stay, but take no turns
constexpr size_t kFewRanks = 64;  // less than that: one is often slowest again by correlated noise
constexpr double kTurns = 0.025;  // that ranks which stay take turns by chance

// The incomplete beta function I_x(a, b), by its continued fraction (Numerical Recipes, 6.4).
double fraction_of_beta(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::fabs(d) < tiny ? tiny : d);
  double product = d;
  for (int m = 1; m < 300; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      d = 1 / (std::fabs(d) < tiny ? tiny : d);
      c = 1 + term / c;
      if (std::fabs(c) < tiny) c = tiny;
      product *= c * d;
    }
    if (std::fabs(c * d - 1) < 1e-12) break;
  }
  return product;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * fraction_of_beta(a, b, x) / a;
  return 1 - front * fraction_of_beta(b, a, 1 - x) / b;
}

std::vector<double> block_means(const std::vector<double>& numbers) {
  const size_t n_blocks = std::min(numbers.size(), kBlocks);
  std::vector<double> means;
  for (size_t block = 0; block < n_blocks; ++block) {
    const size_t begin = block * numbers.size() / n_blocks,
                 end = (block + 1) * numbers.size() / n_blocks;
    double sum = 0;
    for (size_t n = begin; n < end; ++n) sum += numbers[n];
    means.push_back(sum / double(end - begin));
  }
  return means;
}

double variance(const std::vector<double>& numbers) {
  double mean = 0, square = 0;
  for (const double number : numbers) mean += number / double(numbers.size());
  for (const double number : numbers) square += (number - mean) * (number - mean);
  return numbers.size() > 1 ? square / double(numbers.size() - 1) : 0;
}

// What each rank has above the mean of its step, in units of that mean; steps without anything are
// left out. By rank.
std::vector<std::vector<double>> excesses(const Table& table) {
  std::vector<std::vector<double>> above(table.n_ranks);
  for (size_t step = 0; step < table.n_steps; ++step) {
    const double mean = table.mean(step);
    if (!(mean > 0)) continue;
    for (size_t rank = 0; rank < table.n_ranks; ++rank)
      above[rank].push_back(table.at(step, rank) / mean - 1);
  }
  return above;
}

// The ranks that have most in all and cannot be distinguished; none if that may be chance. Sets
// tested's chance and is_significant.
std::vector<size_t> ranks_with_most(const Table& table, Differences* tested) {
  const double mean = table.sum() / double(table.n_ranks);
  const double limit = kOfMeans * kChance / double(table.n_ranks);
  const auto above = excesses(table);
  // If ranks are equal, they scatter alike. A rank that was spared by chance scatters too little.
  double scatter = 0;
  for (const auto& of_rank : above) scatter += variance(block_means(of_rank));
  scatter /= double(table.n_ranks);
  std::vector<size_t> found;
  size_t most = table.n_ranks;
  for (size_t rank = 0; rank < table.n_ranks; ++rank) {
    if (table.of_rank(rank) <= mean) continue;
    const double chance = chance_of_mean(above[rank], scatter);
    if (chance > limit) continue;
    tested->is_significant = true;
    if (table.of_rank(rank) < (1 + kWorthReporting) * mean) continue;
    found.push_back(rank);
    if (most != table.n_ranks && table.of_rank(rank) <= table.of_rank(most)) continue;
    most = rank;
    tested->chance = chance * double(table.n_ranks);
  }
  if (found.empty()) return found;
  std::vector<size_t> alike;
  for (const size_t rank : found) {
    std::vector<double> less(above[most].size());
    for (size_t n = 0; n < less.size(); ++n) less[n] = above[most][n] - above[rank][n];
    const bool clearly_less = table.of_rank(rank) * (1 + kWorthReporting) < table.of_rank(most) &&
                              chance_of_mean(less) <= limit;
    if (!clearly_less) alike.push_back(rank);
  }
  return alike;
}

// The ranks that have most in most steps and cannot be distinguished; none if that may be chance.
// Sets tested's chance and is_significant.
std::vector<size_t> ranks_with_most_in(const MostSteps& steps, size_t n_ranks,
                                       Differences* tested) {
  const double limit = kOfMost * kChance / double(n_ranks);
  const std::vector<double>& relative = steps.relative();
  const auto most = size_t(std::max_element(relative.begin(), relative.end()) - relative.begin());
  const double chance = steps.chance_of(most);
  if (chance > limit) return {};
  tested->is_significant = true;
  if (relative[most] < 1 + kWorthReporting) return {};
  tested->chance = chance * double(n_ranks);
  std::vector<size_t> alike;
  for (size_t rank = 0; rank < n_ranks; ++rank) {
    if (relative[rank] < 1 + kWorthReporting || steps.chance_of(rank) > limit) continue;
    const bool clearly_less = relative[rank] * (1 + kWorthReporting) < relative[most] &&
                              steps.chance_of_less(rank, most) <= limit;
    if (!clearly_less) alike.push_back(rank);
  }
  return alike;
}

// Whether another rank has most in another part of the run, both beyond chance. Sets found's
// chance.
bool moves_between_windows(const MostSteps& steps, Differences* found) {
  for (size_t n_windows = 2; n_windows <= kMostWindows; ++n_windows) {
    std::set<size_t> ranks;
    double chance = 0;
    for (const MostSteps::Window& window : steps.windows(n_windows)) {
      const double of_all = window.chance * double(kMostWindows - 1);
      if (of_all > kOfWindows * kChance) continue;
      ranks.insert(window.most);
      chance = std::max(chance, of_all);
    }
    if (ranks.size() < 2) continue;
    found->is_significant = true;
    found->chance = chance;
    return true;
  }
  return false;
}

// Whether ranks take turns in having most, one after the other: the next is one that has not had
// most yet, or the one that had it longest ago, more often than by chance. Turns of one step do not
// count.
bool takes_turns(const std::vector<size_t>& order, size_t n_ranks) {
  std::list<size_t> oldest_first;
  std::vector<std::list<size_t>::iterator> place(n_ranks, oldest_first.end());
  size_t hits = 0, turns = 0;
  double expected = 0;
  for (size_t at = 0; at < order.size(); ++at) {
    const size_t rank = order[at];
    const bool is_first = oldest_first.empty();
    if (!is_first && rank == oldest_first.back()) continue;
    if (at + 1 == order.size() || order[at + 1] != rank) continue;
    const size_t unmet = n_ranks - oldest_first.size();
    const bool is_new = place[rank] == oldest_first.end();
    if (!is_first) {
      ++turns;
      hits += unmet ? is_new : rank == oldest_first.front();
      expected += double(std::max<size_t>(unmet, 1)) / double(n_ranks - 1);
    }
    if (!is_new) oldest_first.erase(place[rank]);
    place[rank] = oldest_first.insert(oldest_first.end(), rank);
  }
  return turns && chance_of_hits(hits, turns, expected / double(turns)) <= kTurns;
}

// Whether the rank with most in a step predicts the one in a later step more often than by chance,
// given how often each had most: it comes back after a fixed number of steps, during which others
// had most, or it stays. A rank that other programs slow down stays for a while, too. So two ranks
// must come back, and of few ranks those that stay must stay long, or take turns. Sets found's
// chance and is_significant.
bool is_predictable(const std::vector<size_t>& order, size_t n_ranks, Differences* found) {
  const size_t n = order.size();
  std::vector<double> times(n_ranks);
  for (const size_t rank : order) ++times[rank];
  double alike = 1 / double(n_ranks);
  if (n > 1) {
    double pairs = 0;
    for (const double t : times) pairs += t * (t - 1);
    alike = std::max(alike, pairs / (double(n) * double(n - 1)));
  }
  const size_t longest = std::min(n / (n_ranks == 2 ? 3 : 2), kLongestLag);
  bool has_left = false;
  for (size_t lag = 1; lag <= longest; ++lag) {
    size_t hits = 0;
    for (size_t at = lag; at < n; ++at) hits += order[at] == order[at - lag];
    const double share = double(hits) / double(n - lag);
    has_left |= share <= alike;
    const double chance = alike < 1 ? chance_of_hits(hits, n - lag, alike) : 1;
    if (chance > kChance / double(longest)) continue;
    found->is_significant = true;
    found->chance = chance * double(longest);
    const double predicted = (share - alike) / (1 - alike);
    if (predicted < kPredictable) continue;
    if (has_left) found->period = lag;
    if (has_left) return true;
    if (lag > 1 || n_ranks == 2) continue;
    if (n_ranks >= kFewRanks || predicted >= kStays || takes_turns(order, n_ranks)) return true;
  }
  return false;
}

// Sets which rank has most when, and what that costs, without what other ranks add in single steps.
void describe_turns(const Table& table, Differences* found) {
  std::vector<Turn> turns = turns_of(table);
  size_t n_most = 0;
  double own = 0, mean = 0;
  std::set<size_t> ranks;
  for (const Turn& turn : turns) {
    n_most += turn.n_most;
    ranks.insert(turn.rank);
    for (size_t step = turn.begin; step < turn.end; ++step) {
      own += table.at(step, turn.rank);
      mean += table.mean(step);
    }
  }
  if (ranks.size() < 2 || 2 * n_most < table.n_steps) return;
  found->n_in_turn = ranks.size();
  found->stay = double(table.n_steps) / double(turns.size());
  found->ratio = own / mean;
  found->saved = own - mean;
  found->turns = std::move(turns);
}

}  // namespace

double median_of(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  const auto middle = numbers.begin() + std::ptrdiff_t(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  if (numbers.size() % 2) return *middle;
  return (*middle + *std::max_element(numbers.begin(), middle)) / 2;
}

double Table::mean(size_t step) const {
  double all = 0;
  for (size_t rank = 0; rank < n_ranks; ++rank) all += at(step, rank);
  return n_ranks ? all / double(n_ranks) : 0;
}

size_t Table::largest(size_t step) const {
  size_t found = 0;
  for (size_t rank = 1; rank < n_ranks; ++rank)
    if (at(step, rank) > at(step, found)) found = rank;
  return found;
}

double Table::of_rank(size_t rank) const {
  double all = 0;
  for (size_t step = 0; step < n_steps; ++step) all += at(step, rank);
  return all;
}

double Table::of_ranks(const std::vector<size_t>& ranks) const {
  double sum = 0;
  for (const size_t rank : ranks) sum += of_rank(rank);
  return sum;
}

Table Table::without(size_t rank) const {
  Table others(n_ranks - 1, n_steps);
  for (size_t step = 0; step < n_steps; ++step)
    for (size_t other = 0; other < n_ranks; ++other)
      if (other != rank) others.at(step, other - (other > rank)) = at(step, other);
  return others;
}

double Table::sum() const {
  double all = 0;
  for (const double value : values) all += value;
  return all;
}

double chance_of_t(double t, double degrees_of_freedom) {
  const double half = incomplete_beta(degrees_of_freedom / 2, 0.5,
                                      degrees_of_freedom / (degrees_of_freedom + t * t)) /
                      2;
  return t > 0 ? half : 1 - half;
}

double chance_of_hits(size_t hits, size_t n, double probability) {
  if (hits == 0) return 1;
  if (hits > n) return 0;
  return incomplete_beta(double(hits), double(n - hits) + 1, probability);
}

MeanError mean_error(const std::vector<double>& numbers, double least_variance) {
  const std::vector<double> blocks = block_means(numbers);
  const size_t n = blocks.size();
  MeanError found;
  double square = 0, neighbours = 0;
  for (const double block : blocks) found.mean += block / double(n);
  if (n < 2) return found;
  for (size_t at = 0; at < n; ++at) {
    square += (blocks[at] - found.mean) * (blocks[at] - found.mean);
    if (at) neighbours += (blocks[at] - found.mean) * (blocks[at - 1] - found.mean);
  }
  square = std::max(square, least_variance * double(n - 1));
  const double alike = square > 0 ? std::clamp(neighbours / square, 0.0, 0.95) : 0;
  const double count = std::max(2.0, double(n) * (1 - alike) / (1 + alike));
  found.error = std::sqrt(square / double(n - 1) / count);
  // The correlation widens the mean's error; the scatter itself is known from all blocks, of which
  // at least every second one counts.
  found.degrees_of_freedom = std::max(count - 1, double(n - 1) / 2);
  return found;
}

double chance_of_mean(const std::vector<double>& numbers, double least_variance) {
  const MeanError found = mean_error(numbers, least_variance);
  if (found.degrees_of_freedom <= 0 || found.mean <= 0) return 1;
  if (found.error <= 0) return 0;  // always the same
  return chance_of_t(found.mean / found.error, found.degrees_of_freedom);
}

Differences differences(const Table& table) {
  Differences found;
  if (table.n_ranks < 2 || table.n_steps == 0) return found;
  double largest = 0, mean = 0;
  std::vector<size_t> order;
  std::vector<bool> met(table.n_ranks);
  size_t changes = 0;
  for (size_t step = 0; step < table.n_steps; ++step) {
    const double of_step = table.mean(step);
    if (!(of_step > 0)) continue;
    const size_t most = table.largest(step);
    largest += table.at(step, most);
    mean += of_step;
    changes += !order.empty() && order.back() != most;
    found.n_in_turn += !met[most];
    met[most] = true;
    order.push_back(most);
  }
  if (order.empty()) return found;
  found.ratio = largest / mean;
  found.saved = largest - mean;
  found.stay = double(order.size()) / double(changes + 1);
  if (order.size() == 1) {
    if (found.ratio < 1 + kWorthUntested) return found;
    found.pattern = Pattern::untested;
    for (size_t rank = 0; rank < table.n_ranks; ++rank)
      if (table.of_rank(rank) * (1 + kWorthReporting) >= largest) found.most.push_back(rank);
    return found;
  }

  const MostSteps steps(table);
  found.visible =
      steps.visible(kOfMost * kChance, std::max(kWorthReporting, kOfImbalance * (found.ratio - 1)));
  found.usual = steps.largest();
  const auto lasts = [&](double imbalance) {
    for (const size_t rank : found.most)
      if (table.of_rank(rank) / mean - 1 >= kOfImbalance * imbalance) return true;
    return false;
  };
  const auto name = [&] {
    found.pattern = Pattern::fixed;
    for (const size_t rank : order)
      found.n_most += size_t(std::count(found.most.begin(), found.most.end(), rank));
  };
  found.most = ranks_with_most(table, &found);
  if (lasts(found.ratio - 1)) {
    // Ranks that have most in turn are not slow together: each has far less than the largest.
    const double together = table.of_ranks(found.most) / double(found.most.size()) / mean - 1;
    Differences in_turn = found;
    if (found.most.size() > 1 && together < kTogether * (found.ratio - 1) &&
        is_predictable(order, table.n_ranks, &in_turn)) {
      in_turn.most.clear();
      in_turn.pattern = Pattern::moving;
      describe_turns(table, &in_turn);
      return in_turn;
    }
    name();
    return found;
  }
  found.most = ranks_with_most_in(steps, table.n_ranks, &found);
  if (!found.most.empty()) {
    name();
    if (2 * found.n_most >= order.size() || lasts(found.ratio - 1)) {
      found.in_most_steps = !lasts(found.ratio - 1);
      if (found.in_most_steps) found.saved = (found.usual - 1) * steps.mean_in_all();
      return found;
    }
    found.pattern = Pattern::chance;
    found.most.clear();
  }
  if (found.ratio < 1 + kWorthReporting) return found;
  if (is_predictable(order, table.n_ranks, &found) || moves_between_windows(steps, &found)) {
    found.pattern = Pattern::moving;
    describe_turns(table, &found);
  }
  return found;
}

}  // namespace perfield
