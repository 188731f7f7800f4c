// SPDX-License-Identifier: BSD-3-Clause
//
// clock_line.hpp - the mathematics of comparing the clocks of two nodes: from round trips to a line
// that puts stamps of one clock on another, and how wrong it may be. Pure; stamps are
// CLOCK_MONOTONIC in ns. The true offset lies within half a round trip of the one found, whatever
// the two ways took.
#pragma once

#include <cstdint>

namespace perfield::pmpi {

// What two clocks may do unseen, in ns per second. After one comparison their rates are unknown:
// quartz and the kernel's corrections stay below this. After two, only changes of the rate count.
inline constexpr double kWanderOfOne_ppb = 100'000.0;
inline constexpr double kWanderOfTwo_ppb = 1'000.0;
inline constexpr double kWanderOfDrift = 0.05;  // of the drift found, added to the latter

// One round trip: `other_ns` was read on the other node between two readings on this one, which lie
// `round_trip_ns` apart with `own_ns` in their middle.
struct RoundTrip {
  int64_t own_ns, other_ns, round_trip_ns;
};

// The round trips of one meeting of two nodes.
struct Comparison {
  static constexpr int kMost = 30;
  RoundTrip trips[kMost];
  int n = 0;

  void add(int64_t sent_ns, int64_t other_ns, int64_t received_ns) noexcept {
    if (n >= kMost || received_ns < sent_ns) return;
    trips[n++] = {sent_ns + (received_ns - sent_ns) / 2, other_ns, received_ns - sent_ns};
  }
};

// A stamp m of this node is m + offset_ns + drift_ppb * 1e-9 * (m - monotonic_ns) on the reference.
struct ClockLine {
  int64_t monotonic_ns, offset_ns;
  double drift_ppb;
  int64_t round_trip_ns;  // offset_ns is wrong by at most half of it at the comparisons,
  double wander_ppb;      // and by this share of the distance from the nearest of them more
  int32_t compared;       // comparisons so far; 0: the line is not known
  int64_t compared_ns[2];

  int64_t on_reference(int64_t m) const noexcept {
    return m + offset_ns + int64_t(drift_ppb * 1e-9 * double(m - monotonic_ns));
  }
  // How wrong on_reference may be there.
  int64_t uncertainty_ns(int64_t m) const noexcept {
    const auto distance = [m](int64_t at) { return m < at ? at - m : m - at; };
    int64_t nearest = distance(compared_ns[0]);
    if (compared > 1 && distance(compared_ns[1]) < nearest) nearest = distance(compared_ns[1]);
    return round_trip_ns / 2 + int64_t(wander_ppb * 1e-9 * double(nearest));
  }
  // The same for a stamp behind the last comparison, where the drift's own error counts, too.
  int64_t uncertainty_behind_ns(int64_t m) const noexcept {
    const int64_t span = compared_ns[1] - compared_ns[0], behind = m - compared_ns[1];
    const bool errs = drift_ppb != 0.0 && behind > 0 && span > 0;
    return uncertainty_ns(m) +
           (errs ? int64_t(double(round_trip_ns) * double(behind) / double(span)) : 0);
  }
};

// The line of the reference's own clock.
inline ClockLine own_clock(int64_t now_ns) noexcept {
  return {now_ns, 0, 0.0, 0, 0.0, 1, {now_ns, now_ns}};
}

// A meeting as one point: the mean of its shortest round trips, and the longest of these.
struct Meeting {
  double own_ns, offset_ns;  // since the reading that both are counted from
  int64_t round_trip_ns;     // with what the other's line adds
};

// origin: the reading that the means are counted from; a double holds no stamp to the ns.
inline Meeting mean_of(const Comparison& c, const ClockLine& of_other, const RoundTrip& origin) {
  int64_t shortest = c.trips[0].round_trip_ns;
  for (int i = 1; i < c.n; ++i)
    if (c.trips[i].round_trip_ns < shortest) shortest = c.trips[i].round_trip_ns;
  const int64_t base = of_other.on_reference(origin.other_ns) - origin.own_ns;
  Meeting mean{0.0, 0.0, 0};
  int used = 0;
  for (int i = 0; i < c.n; ++i) {
    const RoundTrip& trip = c.trips[i];
    if (trip.round_trip_ns > shortest + shortest / 4) continue;
    ++used;
    mean.own_ns += double(trip.own_ns - origin.own_ns);
    mean.offset_ns += double(of_other.on_reference(trip.other_ns) - trip.own_ns - base);
    if (trip.round_trip_ns > mean.round_trip_ns) mean.round_trip_ns = trip.round_trip_ns;
  }
  mean.own_ns /= used;
  mean.offset_ns /= used;
  mean.round_trip_ns += 2 * of_other.uncertainty_behind_ns(c.trips[0].other_ns);
  return mean;
}

// The line through one comparison, or through the means of two. of_other: the line of the other
// node, whose uncertainty adds up. Not known without a round trip or without the other's line.
inline ClockLine line_through(const Comparison* comparisons, int n, const ClockLine& of_other) {
  ClockLine line{};
  if (n < 1 || comparisons[0].n == 0 || of_other.compared == 0) return line;
  const RoundTrip& origin = comparisons[0].trips[0];
  const Meeting first = mean_of(comparisons[0], of_other, origin);
  line.monotonic_ns = origin.own_ns + int64_t(first.own_ns);
  line.offset_ns =
      of_other.on_reference(origin.other_ns) - origin.own_ns + int64_t(first.offset_ns);
  line.compared = 1;
  line.compared_ns[0] = line.compared_ns[1] = line.monotonic_ns;
  line.round_trip_ns = first.round_trip_ns;
  line.wander_ppb = kWanderOfOne_ppb;
  if (n < 2 || comparisons[1].n == 0) return line;
  const Meeting second = mean_of(comparisons[1], of_other, origin);
  if (second.own_ns - first.own_ns < 1.0) return line;
  line.compared = 2;
  line.compared_ns[1] = origin.own_ns + int64_t(second.own_ns);
  if (second.round_trip_ns > first.round_trip_ns) line.round_trip_ns = second.round_trip_ns;
  const double gained = second.offset_ns - first.offset_ns;
  const double drift_ppb = gained / (second.own_ns - first.own_ns) * 1e9;
  const double apart_ns = gained < 0 ? -gained : gained;
  const bool likely = -kWanderOfOne_ppb < drift_ppb && drift_ppb < kWanderOfOne_ppb;
  if (!likely && apart_ns <= double(line.round_trip_ns)) {  // the errors of both, so soon
    line.offset_ns += int64_t(gained / 2);
    line.round_trip_ns += int64_t(apart_ns) + 1;
    return line;
  }
  line.drift_ppb = drift_ppb;
  line.wander_ppb = kWanderOfTwo_ppb + kWanderOfDrift * (drift_ppb < 0 ? -drift_ppb : drift_ppb);
  return line;
}

}  // namespace perfield::pmpi
