# SPDX-License-Identifier: BSD-3-Clause
"""The course of planted rhythms: state at the end, since when, widest spread, warnings, absent ranks."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from known_runs import rhythm_runs
from known_runs.simulated_waves import chain, simulated

from perfield.studies.oscillators.model import Topology
from perfield.studies.rhythm.model import course, idle_waves, phases


def course_of(stamps, edges=None, **options):
    return course(phases(rhythm_runs.steps_of(stamps), samples=1000), edges, **options)


def neighbours(n):
    ranks = np.arange(n - 1)
    ends = np.concatenate([ranks, ranks + 1]), np.concatenate([ranks + 1, ranks])
    return Topology(n, *ends, np.ones(2 * n - 2))


def test_ranks_in_step_are_so_from_the_beginning():
    found = course_of(rhythm_runs.waiting(8, 100))
    assert (found.end.state, found.fall, found.drift) == ("synchronised", None, None)
    assert found.since.time_s == found.begin_s
    assert found.end.spread == pytest.approx(0, abs=1e-9)
    assert found.period_s == pytest.approx(1)


def test_settles_after_a_delay_has_left_the_ranks():
    found = course_of(rhythm_runs.waiting(8, 100, delay=(2, 30, 10.0)))
    assert found.end.state == "synchronised"
    assert 40 < found.since.time_s < 55  # the wave needs 5 steps from rank 2 to rank 7, after 10 s
    # When rank 7 begins its step 34, in which the wave stops it, rank 2 has completed 30 + 4/11 steps.
    assert found.widest.spread == pytest.approx(34 - 30 - 4 / 11, abs=0.02)
    assert 29 <= found.fall.step <= 36 and found.fall.before > 0.9 and not found.fall.recent


def test_short_hiccups_do_not_end_a_state():
    stamps = rhythm_runs.even(6, 100)
    for rank, step in ((1, 30), (2, 60), (4, 80)):  # half a step late, and made up for in the next step
        (begin, _), (_, end) = stamps[rank][step - 1 : step + 1]
        stamps[rank][step - 1 : step + 1] = [(begin, begin + 1.5), (begin + 1.5, end)]
    found = course_of(stamps)
    assert found.since.time_s == found.begin_s


def test_ranks_that_drift_have_not_settled():
    found = course_of(rhythm_runs.drifting(6, 200, longer=0.05))
    assert found.since is None
    assert found.words.startswith("The ranks have not settled.")


def test_wavefront_has_the_planted_slope():
    found = course_of(rhythm_runs.even(10, 50, behind_s=0.3 * np.arange(10)))
    assert found.end.state == "wavefront"
    assert found.end.slope == pytest.approx(-0.3, abs=1e-6)
    assert found.end.spread == pytest.approx(2.7, abs=1e-6)


def test_whole_steps_between_ranks_show_in_the_spread_and_not_in_r():
    found = course_of(rhythm_runs.even(6, 50, behind_s=np.arange(6.0)))
    assert found.end.order_parameter == pytest.approx(1)
    assert (found.end.state, found.end.spread) == ("wavefront", pytest.approx(5))


def test_largest_distance_of_ranks_that_communicate():
    found = course_of(rhythm_runs.even(5, 50, behind_s=[0, 0.2, 0.4, 0.6, 0.3]), neighbours(5))
    assert found.apart == (pytest.approx(0.3), pytest.approx(0.3))
    assert np.isnan(course_of(rhythm_runs.even(5, 50)).apart).all()


def test_fall_in_the_last_tenth_of_the_time_is_recent():
    stamps = rhythm_runs.waiting(8, 100, delay=(2, 97, 8.0))
    found = course_of({rank: of_rank[:100] for rank, of_rank in stamps.items()})
    assert found.fall.recent


def test_delay_that_travelled_names_the_rank_of_the_fall():
    edges = chain(8, (1, -1))
    steps = simulated(100, 8, edges, [(5, 40, 0.2)], noise=0.01)
    stamps = {name: (("step", "rank"), steps[name]) for name in ("begin_s", "end_s")}
    found = phases(xr.Dataset(stamps, {"step": np.arange(100), "rank": np.arange(8)}), samples=1000)
    times = (steps[name] for name in ("begin_s", "end_s", "compute_time_s", "waiting_time_s"))
    out = course(found, waves=idle_waves(*times, *edges))
    assert course(found).fall.delay_s == 0
    assert (out.fall.rank, out.fall.delay_s) == (5, pytest.approx(0.2, rel=0.05))


def test_absent_ranks_and_unknown_phases_are_reported():
    stamps = rhythm_runs.waiting(4, 100)
    del stamps[1][60:]
    stamps[2][:20] = [None] * 20
    stamps[3][30:50] = [None] * 20
    found = course_of(stamps)
    assert [(each.rank, round(each.steps)) for each in found.early] == [(1, 60)]
    assert [(each.rank, round(each.begin_s)) for each in found.late] == [(2, 20)]
    assert found.unknown == pytest.approx(20 / 340, rel=0.05)
    assert found.end.known == 3


def test_table_has_the_wanted_rows_in_order():
    found = course_of(rhythm_runs.waiting(3, 50), rows=5)
    assert [round(each.step) for each in found.moments] == [0, 13, 25, 37, 50]
