# SPDX-License-Identifier: BSD-3-Clause
"""Stamps of all ranks on one clock, with nodes whose clocks are shifted and drift."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import perfield
from perfield import commands
from perfield.run.clocks import Clocks
from perfield.run.schema import checked
from twins import twin

SECOND = 1_000_000_000
PAIR_S = 1e-6  # see perfield.run.clocks
RUN_S = 3600.0


class NodeClock:
    """A fake CLOCK_MONOTONIC of a node: shifted by up to months, and drifting by an almost constant rate.

    wander_ppb : how far its rate strays from the mean one.
    """

    def __init__(self, random: np.random.Generator, wander_ppb: float):
        self.shift_ns = int(random.integers(0, 10**16))
        self.drift = random.uniform(-50e-6, 50e-6)
        self.period_s = random.uniform(20.0, 4 * RUN_S)
        self.phase = random.uniform(0.0, 2 * math.pi)
        # The derivative of the wave is the wander.
        self.wave_ns = wander_ppb * self.period_s / (2 * math.pi)

    def at(self, true_s: float) -> int:
        """What the clock shows at a true time, in ns."""
        wave = self.wave_ns * math.sin(2 * math.pi * true_s / self.period_s + self.phase)
        return self.shift_ns + round(true_s * 1e9 * (1 + self.drift) + wave)


def compare(random, clock: NodeClock, home: NodeClock, times_s) -> dict:
    """A `clock` entry by two comparisons, each with an answer that is late on one of its ways."""
    pairs, trips = [], []
    for at in times_s:
        out, back = random.uniform(1e-6, 40e-6, size=2)
        trips.append((out + back) * 1e9)
        here, there = clock.at(at), home.at(at + out)
        pairs.append((here + round(trips[-1] / 2), there))
    (m, r), (m2, r2) = pairs
    return {
        "reference_rank": 0,
        "monotonic_ns": m,
        "offset_ns": r - m,
        "drift_ppb": ((r2 - r) / (m2 - m) - 1) * 1e9,
        "round_trip_ns": max(trips) + 100,
        "wander_ppb": 2100.0,  # of both clocks, twice: the mean rate is itself measured
        "compared_ns": [m, m2],
        "uncertainty_ns": max(trips) / 2,
        "method": "exchange",
    }


@pytest.mark.parametrize("seed", range(100))
def test_shifted_and_drifting_clocks_agree_within_their_uncertainty(seed):
    random = np.random.default_rng(seed)
    nodes = [NodeClock(random, 500.0 if n else 0.0) for n in range(4)]
    starts_s = random.uniform(0.0, 2.0, size=8)
    node_of = np.arange(8) // 2
    entries = [
        {"rank": r, "boot_id": f"boot{node_of[r]}", "monotonic_ns": nodes[node_of[r]].at(starts_s[r])}
        for r in range(8)
    ]
    compared = (2.5, RUN_S)
    reported = [(2 * n, compare(random, nodes[n], nodes[0], compared)) for n in range(1, 4)]
    clocks = Clocks(entries, reported)
    assert clocks.methods == ["same node"] * 2 + ["exchange"] * 6
    first = int(np.argmin(starts_s))
    zero = nodes[0].at(starts_s[first])  # as sure as the stamp of that rank
    for true_s in (*compared, *random.uniform(0.0, RUN_S, size=30)):
        stamps = np.array([nodes[node_of[r]].at(true_s) - entries[r]["monotonic_ns"] for r in range(8)])
        found = clocks.common_s(np.arange(8), stamps)
        unsure = clocks.uncertainty_s(np.arange(8), stamps)
        of_zero = clocks.uncertainty_s([first], [0])[0]
        error = np.abs(found - (nodes[0].at(true_s) - zero) * 1e-9)
        assert (error <= unsure + of_zero).all(), (error, unsure)
        assert unsure[:2] == pytest.approx(PAIR_S)


def entry(rank: int, host: str, **values) -> dict:
    """A rank entry as far as clocks need it; by default CLOCK_MONOTONIC began with the first rank."""
    return {
        "rank": rank,
        "host": host,
        "boot_id": host * 4,
        "monotonic_ns": 0,
        "realtime_ns": SECOND,
    } | values


def test_nodes_without_comparison_follow_by_realtime():
    """CLOCK_REALTIME of host b is right; that node started 100 s earlier."""
    far = entry(1, "b", monotonic_ns=100 * SECOND, realtime_ns=3 * SECOND, realtime_error_ns=40_000)
    clocks = Clocks([entry(0, "a", realtime_error_ns=2_000), far])
    assert clocks.methods == ["same node", "realtime"]
    np.testing.assert_allclose(clocks.common_s([0, 1], [SECOND, SECOND]), [1.0, 3.0], atol=1e-9)
    np.testing.assert_allclose(clocks.uncertainty_s([0, 1], [0, 0]), [PAIR_S, 42e-6 + PAIR_S])


@pytest.mark.parametrize("errors", [(-1, 5), (5, -1), (None, 5)])
def test_realtime_that_nothing_synchronises_has_no_known_uncertainty(errors):
    entries = [
        entry(n, "ab"[n], **({} if e is None else {"realtime_error_ns": e})) for n, e in enumerate(errors)
    ]
    clocks = Clocks(entries)
    assert np.isnan(clocks.uncertainty_s([1], [0])).all()
    assert np.isfinite(clocks.common_s([1], [0])).all()


def comparison(**values) -> dict:
    """A `clock` entry: b is 5 s ahead of a and loses 1 ppm."""
    return {
        "reference_rank": 0, "monotonic_ns": 0, "offset_ns": -5 * SECOND, "drift_ppb": 1000.0,
        "round_trip_ns": 4000, "wander_ppb": 10.0, "compared_ns": [0], "uncertainty_ns": 2000,
        "method": "exchange",
    } | values  # fmt: skip


def test_newest_comparison_of_a_node_counts():
    entries = [entry(0, "a"), entry(1, "b", monotonic_ns=6 * SECOND)]
    newest = comparison(drift_ppb=0.0, compared_ns=[0, 100 * SECOND])
    for order in ([comparison(), newest], [newest, comparison()]):
        clocks = Clocks(entries, [(1, body) for body in order])
        np.testing.assert_allclose(clocks.common_s([1], [10 * SECOND]), [11.0], atol=1e-9)
    clocks = Clocks(entries, [(1, comparison())])
    np.testing.assert_allclose(clocks.common_s([1], [10 * SECOND]), [11.000016], atol=1e-9)
    # Half of the round trip, and 10 ppb of the 16 s since the comparison.
    np.testing.assert_allclose(clocks.uncertainty_s([1], [10 * SECOND]), [PAIR_S + 2e-6 + 160e-9])


@pytest.mark.parametrize(
    "wrong",
    [
        {"reference_rank": 9},
        {"reference_rank": None},
        {"offset_ns": "5"},
        {"drift_ppb": None},
        {"round_trip_ns": 1e300},
        {"monotonic_ns": 0.5},
        {"compared_ns": []},
        {"compared_ns": [True]},
        {"compared_ns": 3},
    ],
)
def test_damaged_comparison_is_left_out(wrong):
    clocks = Clocks(
        [entry(0, "a"), entry(1, "b")], [(1, checked("clock", comparison(**wrong))[0]), (7, comparison())]
    )
    assert clocks.methods == ["same node", "realtime"]


def test_clock_of_the_node_that_most_compared_with_is_the_common_one():
    entries = [entry(rank, "abc"[rank]) for rank in range(3)]
    towards = comparison(reference_rank=1)
    clocks = Clocks(entries, [(0, towards), (2, towards)])
    assert clocks.reference_rank == 1 and clocks.methods == ["exchange", "same node", "exchange"]


def test_ranks_that_never_checked_in_and_imported_runs_are_distinguished():
    clocks = Clocks(
        [None, {"rank": 1, "host": "a", "realtime_ns": 5}, {"rank": 2, "host": "b", "realtime_ns": 5}]
    )
    assert clocks.methods == ["unknown", "trace", "trace"]
    np.testing.assert_array_equal(clocks.common_s([0, 1, 2], [10, 10, 20]), [np.nan, 1e-8, 2e-8])


# --- in a run -----------------------------------------------------------------------------------------------

AHEAD_NS = 7_000 * SECOND  # of host b's CLOCK_MONOTONIC
LATE_NS = 300_000_000  # rank 3 starts that much later
EXCHANGED = (
    (2, comparison(offset_ns=-AHEAD_NS, drift_ppb=0.0, monotonic_ns=AHEAD_NS, compared_ns=[AHEAD_NS])),
)


def two_nodes(path, **options):
    """Ranks 0 and 1 on a, 2 and 3 on b; all close their steps together."""

    def shifted(rank, values):
        values["monotonic_ns"] = SECOND + (AHEAD_NS if rank > 1 else 0) + (LATE_NS if rank == 3 else 0)
        values["realtime_ns"] += LATE_NS if rank == 3 else 0
        values["realtime_error_ns"] = 1_500_000

    def late(rank, step, values):
        values["begin_ns"] += SECOND - (LATE_NS if rank == 3 else 0)
        values["end_ns"] += SECOND - (LATE_NS if rank == 3 else 0)

    return perfield.open(
        twin.write_run(path, hosts=("a", "b"), change_rank=shifted, change_step=late, **options)
    )


@pytest.mark.parametrize("clocks", [(), EXCHANGED])
def test_frames_and_dataset_have_begin_and_end_on_the_common_clock(tmp_path, clocks):
    run = two_nodes(tmp_path / "run", clocks=clocks)
    begin = [1.01 + twin.step_values(0, 4, n)["begin_ns"] * 1e-9 - 0.01 for n in range(5)]
    for n, frame in enumerate(run.frames()):
        np.testing.assert_allclose(frame.begin_s, begin[n], atol=1e-9)
        np.testing.assert_allclose(frame.end_s - frame.begin_s, frame.values["step_time_s"], atol=1e-9)
    steps = run.steps
    np.testing.assert_allclose(steps.begin_s, np.array([begin] * 4).T, atol=1e-9)
    np.testing.assert_allclose(steps.end_s, [frame.end_s for frame in run.frames()])
    np.testing.assert_allclose(
        steps.end_s.isel(step=slice(1, 3), rank=2), [run.frame(n).end_s[2] for n in (1, 2)]
    )
    unsure = 2e-6 if clocks else 3e-3
    np.testing.assert_allclose(steps.clock_uncertainty_s[:, :2], PAIR_S)
    np.testing.assert_allclose(steps.clock_uncertainty_s[:, 2:], PAIR_S + unsure, atol=4e-8)


def test_table_of_clocks_has_a_row_per_rank(tmp_path):
    table = two_nodes(tmp_path / "run", clocks=EXCHANGED).clocks
    assert table.method.tolist() == ["same node"] * 2 + ["exchange"] * 2
    assert table.host.tolist() == ["a", "a", "b", "b"]
    np.testing.assert_allclose(table.start_s, [0, 0, 0, 0.3], atol=1e-9)
    np.testing.assert_allclose(table.offset_s, [0, 0, -7000, -7000])
    assert (table.drift_ppb == 0).all()
    np.testing.assert_allclose(table.uncertainty_s, [PAIR_S] * 2 + [PAIR_S + 2e-6] * 2, atol=4e-8)


@pytest.mark.parametrize(
    "options, reported",
    [
        ({"clocks": EXCHANGED}, "1 node agrees with a within 3.02 µs (exchange)"),
        ({}, "1 node agrees with a within 3 ms (CLOCK_REALTIME)"),
    ],
)
def test_info_says_how_well_clocks_agree(tmp_path, capsys, options, reported):
    path = two_nodes(tmp_path / "run", **options).path
    assert commands.main(["info", str(path)]) == 0
    assert f"clocks     {reported}\n" in capsys.readouterr().out
    assert commands.main(["info", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["clocks"] == reported


def test_info_says_that_agreement_is_unknown(tmp_path, capsys):
    def unsynchronised(rank, values):
        values |= {"monotonic_ns": 0, "realtime_error_ns": -1}

    path = twin.write_run(tmp_path / "run", hosts=("a", "b", "c"), change_rank=unsynchronised, ranks=3)
    assert commands.main(["info", str(path)]) == 0
    sentence = "2 nodes agree with a by CLOCK_REALTIME, which nothing synchronises there: how well is unknown"
    assert f"clocks     {sentence}\n" in capsys.readouterr().out


def test_info_of_one_node_says_nothing_of_clocks(tmp_path, capsys):
    assert commands.main(["info", str(twin.write_run(tmp_path / "run"))]) == 0
    assert "clocks " not in capsys.readouterr().out


def test_rank_in_a_time_namespace_with_an_unknown_shift_has_a_clock_of_its_own():
    """Its CLOCK_MONOTONIC is 5,000 s ahead of the node's; CLOCK_REALTIME is the same."""
    known = {"boot_id": "b", "realtime_ns": 10**18, "realtime_error_ns": 1000}
    entries = [
        {**known, "monotonic_ns": 1000 * SECOND},
        {**known, "monotonic_ns": 1000 * SECOND},
        {**known, "monotonic_ns": 6000 * SECOND, "time_namespace": "time:[4026532000]"},
    ]
    clocks = Clocks(entries)
    assert clocks.methods == ["same node", "same node", "realtime"]
    np.testing.assert_allclose(clocks.common_s(np.arange(3), np.zeros(3)), 0.0, atol=1e-9)
    assert clocks.uncertainty_s([2], [0])[0] == pytest.approx(PAIR_S + 2e-6)


def test_hosts_distinguish_clocks_where_the_boot_id_is_not_known():
    entries = [{"boot_id": "00000000", "host": host, "monotonic_ns": 0} for host in ("a", "b")]
    assert Clocks(entries).methods[0] == "same node"
    assert len(set(Clocks(entries).node)) == 2
