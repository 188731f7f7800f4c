# SPDX-License-Identifier: BSD-3-Clause
"""Events name the steps, ranks and nodes of planted slow phases, and what these cost."""

import numpy as np
import pytest
from known_runs.observed_runs import plain_placement
from known_runs.planted_regimes import FAST_S, SLOW_S, planted, two_levels

from perfield.studies.regimes.model import REGIME, events, largest, simulated, stretches


def test_slow_phase_of_a_node_is_one_event_with_its_cost():
    phases = [([4, 5, 6, 7], 100, 150), ([1], 300, 310)]
    found = events(planted(8, 400, phases), plain_placement(8, 4))
    assert found[["start", "end", "n_steps", "ranks", "nodes"]].values.tolist() == [
        [100, 149, 50, (4, 5, 6, 7), ("n2",)],
        [300, 309, 10, (1,), ("n1",)],
    ]
    np.testing.assert_allclose(found["cost_s"], np.array([50, 10]) * (SLOW_S - FAST_S), rtol=0.05)
    np.testing.assert_allclose(found["rank_s"], np.array([200, 10]) * (SLOW_S - FAST_S), rtol=0.05)


def test_ranks_that_enter_and_leave_a_phase_a_little_apart_share_an_event():
    phases = [([rank], 100 + rank, 150 + 2 * rank) for rank in range(4)]
    found = events(planted(6, 400, phases))
    assert found["ranks"].tolist() == [(0, 1, 2, 3)]
    assert found.loc[0, ["start", "end"]].tolist() == [100, 155]
    assert found.loc[0, "nodes"] == ()


def test_short_disturbance_inside_a_long_phase_is_an_event_of_its_own():
    found = events(planted(4, 400, [([0, 1], 100, 200), ([3], 150, 153)]))
    assert found["ranks"].tolist() == [(0, 1), (3,)]
    assert found["cost_s"][1] <= 3 * (SLOW_S - FAST_S)


def test_costs_of_events_add_up_to_the_time_that_the_slow_regime_costs():
    times = simulated(two_levels(), 6, 2000, 5)
    ordinary = times["time_s"].where(times[REGIME] == 0)
    without = ordinary.fillna(ordinary.median("step")).max("rank")
    expected = (times["time_s"].max("rank") - without).sum()
    assert events(times)["cost_s"].sum() == pytest.approx(float(expected), rel=0.01)


def test_series_of_longest_times_has_events_without_ranks_of_the_world():
    times = planted(3, 50, [([1], 10, 20)])
    reduced = largest(times).assign({REGIME: (("rank", "step"), times[REGIME].max("rank").values[None])})
    assert events(reduced, plain_placement(3))[["start", "end", "ranks", "nodes"]].values.tolist() == [
        [10, 19, (-1,), ()]
    ]


def test_steps_keep_their_labels():
    times = planted(1, 20, [([0], 5, 8)]).assign_coords(step=np.arange(20) * 10 + 1000)
    assert events(times).loc[0, ["start", "end", "n_steps"]].tolist() == [1050, 1070, 3]


def test_step_without_a_time_ends_a_stretch():
    times = planted(1, 30, [([0], 5, 15)])
    times["time_s"][0, 10], times[REGIME][0, 10] = np.nan, -1
    assert events(times)[["start", "end"]].values.tolist() == [[5, 9], [11, 14]]


def test_rank_that_is_always_slow_costs_what_others_take_less():
    found = events(planted(4, 100, [([2], 0, 100)]))
    assert found["cost_s"][0] == pytest.approx(100 * (SLOW_S - FAST_S), rel=0.05)


def test_timings_of_one_regime_have_no_events():
    times = planted(2, 20, [])
    assert not len(events(times)) and events(times)["cost_s"].sum() == 0


def test_stretches_are_found_at_both_ends():
    row, begin, end = stretches(np.array([[True, False, True], [False, False, False], [True, True, True]]))
    assert (row.tolist(), begin.tolist(), end.tolist()) == ([0, 0, 2], [0, 2, 0], [1, 3, 3])
