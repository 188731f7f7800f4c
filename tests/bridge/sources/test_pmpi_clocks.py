# SPDX-License-Identifier: BSD-3-Clause
"""The line between two clocks, computed from round trips of nodes whose true clocks are known here."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

# Reads, for each node down from the reference, the number of its comparisons, then for each of these the
# number of round trips and their (sent, other, received); then stamps of the last node. Prints its line, and
# each stamp on the reference's clock with its uncertainty.
PROGRAM = r"""
#include "sources/pmpi/clock_line.hpp"
#include <cstdio>
using namespace perfield::pmpi;
int main() {
  long long sent, other, received, stamp;
  int nodes, n, trips;
  ClockLine line = own_clock(0);
  for (scanf("%d", &nodes); nodes-- > 0;) {
    Comparison comparisons[2];
    scanf("%d", &n);
    for (int i = 0; i < n; ++i)
      for (scanf("%d", &trips); trips-- > 0;) {
        scanf("%lld %lld %lld", &sent, &other, &received);
        comparisons[i].add(sent, other, received);
      }
    line = line_through(comparisons, n, line);
  }
  printf("%d %lld %lld %.17g %lld %.17g\n", line.compared, (long long)line.monotonic_ns,
         (long long)line.offset_ns, line.drift_ppb, (long long)line.round_trip_ns, line.wander_ppb);
  while (scanf("%lld", &stamp) == 1)
    printf("%lld %lld\n", (long long)line.on_reference(stamp), (long long)line.uncertainty_ns(stamp));
}
"""


@pytest.fixture(scope="session")
def line_of(build_c):
    """line_of(nodes, stamps): the line's numbers, and (time on the reference, uncertainty) of each stamp.

    nodes : from the reference's child down, a list of comparisons, each a list of round trips.
    """
    program = build_c(PROGRAM, f"-I{ROOT / 'bridge'}", name="clock_line.cpp", mpi=False)

    def compute(nodes, stamps):
        words = [len(nodes)]
        for comparisons in nodes:
            words.append(len(comparisons))
            for trips in comparisons:
                words += [len(trips), *(number for trip in trips for number in trip)]
        text = " ".join(map(str, [*words, *stamps]))
        result = subprocess.run([program], input=text, capture_output=True, text=True, check=True, timeout=60)
        first, *rest = result.stdout.splitlines()
        names = ("compared", "monotonic_ns", "offset_ns", "drift_ppb", "round_trip_ns", "wander_ppb")
        return dict(zip(names, map(float, first.split()))), [tuple(map(int, row.split())) for row in rest]

    return compute


class FakeClock:
    """A node's clock: shifted against true time, drifting, and its drift wanders at random."""

    def __init__(self, chance: random.Random, seconds: int, exact: bool = False):
        self.shift = 0 if exact else chance.randrange(-(10**13), 10**13)
        drift = 0.0 if exact else chance.uniform(-50e3, 50e3)
        self.gained = [0.0]  # ns after each second
        for _ in range(seconds + 2):
            self.gained.append(self.gained[-1] + drift)
            drift += 0.0 if exact else chance.gauss(0, 30)

    def at(self, true_ns: float) -> int:
        """What the clock shows at a true time."""
        second = int(true_ns // 1e9)
        part = true_ns / 1e9 - second
        gained = self.gained[second] * (1 - part) + self.gained[second + 1] * part
        return round(true_ns + self.shift + gained)


def meeting(chance, own: FakeClock, other: FakeClock, begin_ns: float, n: int = 30):
    """Round trips over a network whose two ways take unlike, and at times very long."""
    trips, now = [], begin_ns
    for _ in range(n):
        there, back = (5e3 + chance.expovariate(1 / 10e3) for _ in range(2))
        if chance.random() < 0.2:
            back += 1e6
        trips.append((own.at(now), other.at(now + there), own.at(now + there + back)))
        now += there + back + 1e3
    return trips


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_error_stays_below_the_stated_uncertainty(line_of, levels):
    seed = 20 + levels
    chance = random.Random(seed)
    below = 0
    for _ in range(100):
        seconds = chance.choice([1, 20, 300])
        clocks = [FakeClock(chance, seconds, exact=i == 0) for i in range(levels + 1)]
        nodes = [
            [
                meeting(chance, clocks[i + 1], clocks[i], begin + i * 2e6 + 1e7)
                for begin in (0, (seconds - 0.5) * 1e9)
            ]
            for i in range(levels)
        ]
        moments = [2e7 + (seconds - 0.6) * 1e9 * share for share in (0, 0.1, 0.5, 0.77, 1)]
        line, found = line_of(nodes, [clocks[-1].at(moment) for moment in moments])
        assert line["compared"] == 2
        errors = [(abs(at - clocks[0].at(moment)), limit) for (at, limit), moment in zip(found, moments)]
        below += all(error <= limit for error, limit in errors)
    assert below >= 95, f"seed {seed}: {below} of 100"


def test_drift_is_found_from_two_comparisons(line_of):
    trips = [
        [(begin, round((begin + 500) * 1.00004) + 7, begin + 1000) for begin in (start, start + 2000)]
        for start in (10**12, 10**12 + 10**10)
    ]
    line, found = line_of([trips], [10**12 + 5 * 10**9])
    assert line["drift_ppb"] == pytest.approx(40_000, abs=1)
    assert line["round_trip_ns"] == 1000
    assert found[0][0] == pytest.approx(round((10**12 + 5 * 10**9) * 1.00004) + 7, abs=2)


def test_errors_of_two_close_comparisons_are_no_drift(line_of):
    """Both are wrong by nearly half a round trip, in opposite ways, 1 ms apart."""
    trips = [[(0, 950, 1000)], [(1_000_000, 1_000_050, 1_001_000)]]
    line, found = line_of([trips], [500, 1_000_500])
    assert (line["compared"], line["drift_ppb"]) == (2, 0)
    assert all(abs(at - stamp) <= uncertainty for (at, uncertainty), stamp in zip(found, (500, 1_000_500)))


def test_lowest_round_trip_wins(line_of):
    """The slow trips are wrong by all their delay."""
    slow = [(i * 10**6, i * 10**6 + 5_000_000, i * 10**6 + 100_000) for i in range(20)]
    fast = [(10**8, 10**8 + 100 + 42, 10**8 + 200)]
    line, _ = line_of([[slow + fast]], [])
    assert (line["offset_ns"], line["round_trip_ns"]) == (42, 200)


def test_one_comparison_has_no_drift_and_a_wide_wander(line_of):
    line, found = line_of([[[(1000, 5000, 1200)]]], [1100, 1100 + 10**9])
    assert (line["compared"], line["drift_ppb"]) == (1, 0)
    assert found == [(5000, 100), (5000 + 10**9, 100 + 100_000)]


def test_uncertainty_adds_up_along_the_tree(line_of):
    parent, child = [[(0, 0, 1000)]], [[(0, 0, 600)]]
    line, _ = line_of([parent, child], [])
    assert line["round_trip_ns"] == 1600


def test_nothing_is_known_without_a_round_trip_or_the_parent(line_of):
    assert line_of([[[]]], [])[0]["compared"] == 0
    assert line_of([[[]], [[(0, 0, 600)]]], [])[0]["compared"] == 0


def test_second_comparison_that_failed_leaves_the_first(line_of):
    line, _ = line_of([[[(1000, 5000, 1200)], []]], [])
    assert (line["compared"], line["offset_ns"]) == (1, 3900)
