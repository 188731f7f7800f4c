# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of regimes find what was planted, and their intervals hold it as often as they say."""

import numpy as np
import pytest
from known_runs.observed_runs import plain_placement
from known_runs.planted_regimes import FAST_S, SLOW_S, by_node, planted, two_levels

from perfield.studies.regimes.model import REGIME, RegimeError, shares, simulated, statistics, timings


def test_statistics_of_few_steps_are_counts():
    regimes = np.array([[0, 0, 1, 1, 0, 0, 0, 1, 1, 0]], np.int8)
    times = timings(np.where(regimes, 3.0, 1.0)).assign({REGIME: (("rank", "step"), regimes)})
    found = statistics(times).sel(bound="estimate")
    np.testing.assert_allclose(found["share"], [0.6, 0.4])
    np.testing.assert_allclose(found["mean_s"], [1, 3])
    np.testing.assert_allclose(found["sd_s"], [0, 0], atol=1e-12)
    np.testing.assert_allclose(found["transition"], [[3 / 5, 2 / 5], [2 / 4, 2 / 4]])
    np.testing.assert_allclose(found["dwell_steps"], [2.5, 2])


def test_unknown_steps_end_no_regime():
    regimes = np.array([[0, 0, -1, 1, 1, -1, 0, 0, 0]], np.int8)
    times = timings(np.where(regimes < 0, np.nan, 1.0 + regimes)).assign(
        {REGIME: (("rank", "step"), regimes)}
    )
    found = statistics(times).sel(bound="estimate")
    np.testing.assert_allclose(found["share"], [5 / 7, 2 / 7])
    np.testing.assert_allclose(found["transition"], np.eye(2))
    assert np.isinf(found["dwell_steps"]).all()


def test_statistics_find_the_model_that_made_the_timings():
    model = two_levels()
    found = statistics(simulated(model, 20, 4000, 1))
    np.testing.assert_allclose(found["transition"].sel(bound="estimate"), model.transition, atol=0.005)
    np.testing.assert_allclose(found["mean_s"].sel(bound="estimate"), [FAST_S, SLOW_S], rtol=0.01)
    np.testing.assert_allclose(found["dwell_steps"].sel(bound="estimate"), [20, 1 / 0.15], rtol=0.05)
    assert found.attrs["block_length"] > 10


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    held = np.zeros(3)
    for seed in range(100):
        found = statistics(simulated(two_levels(), 2, 1000, seed), n_resamples=200)
        for at, (name, truth) in enumerate([("share", 0.25), ("dwell_steps", 1 / 0.15), ("mean_s", SLOW_S)]):
            low, high = (float(found[name].sel(regime=1, bound=end)) for end in ("low", "high"))
            held[at] += low <= truth * (np.exp(0.005) if name == "mean_s" else 1) <= high
    assert (held >= 85).all(), held


def test_timings_without_regimes_are_refused():
    with pytest.raises(RegimeError, match="these timings have no regimes yet; call `classify`"):
        statistics(timings(np.ones(20)))


def test_shares_of_ranks_nodes_and_switches_follow_what_is_slow():
    times = planted(8, 100, [([4, 5, 6, 7], 20, 60)])
    by_rank, by_place = shares(times), shares(times, plain_placement(8, 4), "node")
    assert by_rank["share_of_steps"].tolist() == [0] * 4 + [0.4] * 4
    assert by_place.index.tolist() == ["n1", "n2"]
    assert by_place["share_of_steps"].tolist() == [0, 0.4]
    assert by_place["n_ranks"].tolist() == [4, 4]
    assert by_place["share_of_time"]["n2"] == pytest.approx(0.4 * 3 / (0.6 + 0.4 * 3), rel=0.02)
    assert by_place["low"]["n2"] < 0.4 < by_place["high"]["n2"]


def test_share_of_a_node_has_the_interval_of_its_ranks_together():
    found = shares(by_node(2, 4, 2000, 3), plain_placement(8, 4), "node")
    single = shares(by_node(2, 4, 2000, 3))
    np.testing.assert_allclose(
        found["high"] - found["low"], (single["high"] - single["low"])[[0, 4]], rtol=0.01
    )


def test_shares_need_a_placement_for_places():
    times = planted(2, 20, [([0], 2, 4)])
    with pytest.raises(RegimeError, match="nobody knows the node of these ranks"):
        shares(times, None, "node")
    with pytest.raises(RegimeError, match="'rack' is not a level of the machine; give one of switch, node"):
        shares(times, plain_placement(2), "rack")
