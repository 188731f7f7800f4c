// SPDX-License-Identifier: BSD-3-Clause
//
// rank_clocks.cpp - see rank_clocks.hpp.
#include "summary/rank_clocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "format/decode_json.hpp"

namespace perfield {
namespace {

constexpr double kPair_ns = 1000;  // a stamp counts from a pair of clocks read within this time
constexpr int64_t kMissing = std::numeric_limits<int64_t>::min();
constexpr double kNotKnown = std::numeric_limits<double>::infinity();

double number(const std::string& body, const char* key) {
  const std::string text = json_value(body, key);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() ? NAN : value;
}

std::vector<int64_t> wholes(const std::string& list) {
  std::vector<int64_t> found;
  const char* at = list.c_str();
  while (*at && *at != ']') {
    char* end = nullptr;
    const long long value = std::strtoll(*at == '[' || *at == ',' ? ++at : at, &end, 10);
    if (end == at) break;
    found.push_back(value);
    at = end;
  }
  std::sort(found.begin(), found.end());
  return found;
}

// How far a time of [begin, end] is from the nearest of `times`, at most.
double farthest(const std::vector<int64_t>& times, int64_t begin, int64_t end) {
  double far = std::max({double(times.front() - begin), double(end - times.back()), 0.0});
  for (size_t i = 1; i < times.size(); ++i) {
    const bool lies_between = times[i - 1] < end && times[i] > begin;
    if (lies_between) far = std::max(far, double(times[i] - times[i - 1]) / 2);
  }
  return far;
}

}  // namespace

void RankClocks::add_rank(int32_t rank, const std::string& body) {
  zeros_[rank] = {node_in(body) + json_text(body, "time_namespace"),
                  json_integer(body, "monotonic_ns", kMissing),
                  json_integer(body, "realtime_ns", kMissing),
                  json_integer(body, "realtime_error_ns", -1)};
}

void RankClocks::add_comparison(int32_t rank, const std::string& body) {
  const auto zero = zeros_.find(rank);
  Comparison found{int32_t(json_integer(body, "reference_rank", -1)),
                   json_integer(body, "monotonic_ns", kMissing),
                   json_integer(body, "offset_ns", kMissing),
                   number(body, "drift_ppb") * 1e-9,
                   number(body, "round_trip_ns") / 2,
                   number(body, "wander_ppb") * 1e-9,
                   wholes(json_value(body, "compared_ns"))};
  const bool is_whole = found.at != kMissing && found.times.size() &&
                        std::isfinite(found.drift + found.error + found.wander);
  if (zero == zeros_.end() || !is_whole) return;
  if (found.offset == kMissing) found.offset = std::llrint(number(body, "offset_ns"));
  const auto newest = compared_.find(zero->second.node);
  if (newest == compared_.end() || found.times.back() >= newest->second.times.back())
    compared_[zero->second.node] = found;
}

RankClocks::Joined RankClocks::join(size_t n_ranks, const std::vector<int64_t>& last_ns) const {
  Joined joined;
  joined.clock.assign(n_ranks, {NAN, 0});
  joined.uncertainty_ns.assign(n_ranks, kNotKnown);
  joined.node.resize(n_ranks);
  for (size_t rank = 0; rank < n_ranks; ++rank) joined.node[rank] = -1 - int64_t(rank);
  // The reference that most nodes have; else the first rank.
  std::map<int32_t, int> votes;
  for (const auto& [node, comparison] : compared_) ++votes[comparison.reference];
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  auto home = most == votes.end() ? zeros_.begin() : zeros_.find(most->first);
  if (home == zeros_.end()) home = zeros_.begin();
  if (home == zeros_.end()) return joined;

  std::map<std::string, int64_t> nodes;
  std::vector<int64_t> zero_of(n_ranks, kMissing);
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const auto& [rank, zero] : zeros_) {
    if (rank < 0 || size_t(rank) >= n_ranks || zero.monotonic_ns == kMissing) continue;
    const auto at = size_t(rank);
    joined.node[at] = nodes.emplace(zero.node, int64_t(nodes.size())).first->second;
    int64_t offset = 0;
    double error = 0;
    const auto found = compared_.find(zero.node);
    if (zero.node == home->second.node) {
      // The reference's own clock.
    } else if (found != compared_.end()) {
      const Comparison& to = found->second;
      offset = to.offset + std::llrint(to.drift * double(zero.monotonic_ns - to.at));
      joined.clock[at].drift = to.drift;
      error = to.error +
              to.wander * farthest(to.times, zero.monotonic_ns, zero.monotonic_ns + last_ns[at]);
    } else if (zero.realtime_ns != kMissing && home->second.realtime_ns != kMissing &&
               home->second.monotonic_ns != kMissing) {
      offset = (zero.realtime_ns - zero.monotonic_ns) -
               (home->second.realtime_ns - home->second.monotonic_ns);
      const bool is_known = zero.realtime_error_ns >= 0 && home->second.realtime_error_ns >= 0;
      error =
          is_known ? double(zero.realtime_error_ns + home->second.realtime_error_ns) : kNotKnown;
    } else {
      continue;
    }
    zero_of[at] = zero.monotonic_ns + offset;
    first = std::min(first, zero_of[at]);
    joined.uncertainty_ns[at] = kPair_ns + error;
  }
  for (size_t rank = 0; rank < n_ranks; ++rank)
    if (zero_of[rank] != kMissing) joined.clock[rank].shift_ns = double(zero_of[rank] - first);
  return joined;
}

}  // namespace perfield
