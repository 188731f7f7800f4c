# SPDX-License-Identifier: BSD-3-Clause
"""Models fitted to timings with known regimes, and to timings that carry none."""

import numpy as np
import pytest
from known_runs.regime_levels import accuracy, levels, mean_s

from perfield.studies.regimes.model import (
    EMISSIONS,
    REGIME,
    TIME,
    Model,
    RegimeError,
    classify,
    fit,
    fit_pooled,
    largest,
    simulated,
    timings,
)


def model_of(times_ms, widths, transition, regime=None):
    n = len(times_ms)
    return Model(
        emission="log-gaussian",
        location=np.log(times_ms) - np.log(1000),
        scale=widths,
        dof=None,
        start=np.full(n, 1 / n),
        transition=transition,
        regime=np.arange(n) if regime is None else regime,
    )


TWO = model_of([1, 2], [0.03, 0.05], [[0.95, 0.05], [0.1, 0.9]])


@pytest.mark.parametrize("form", ["above 2.0", "tail"])
@pytest.mark.parametrize("emission", EMISSIONS)
def test_three_levels_are_found_whatever_the_slow_one_looks_like(emission, form):
    times = levels(seed=1, form=form)
    found = classify(times, fit(times, 3, emission=emission).model)
    assert accuracy(found, times) >= 0.95
    for number in (0, 1):  # within 1 %
        assert mean_s(times, found[REGIME], number) == pytest.approx(
            mean_s(times, times[REGIME], number), 0.01
        )


@pytest.mark.long
@pytest.mark.parametrize("n_regimes", [3, None])
@pytest.mark.parametrize("seed", range(20))
def test_three_levels_are_found_for_every_seed(seed, n_regimes):
    times = levels(seed)
    found = classify(times, fit(times, n_regimes, seed=seed).model)
    assert accuracy(found, times) >= 0.95
    for number in (0, 1):
        assert mean_s(times, found[REGIME], number) == pytest.approx(
            mean_s(times, times[REGIME], number), 0.01
        )


def test_the_fit_of_the_paper_merges_nothing_and_is_misled_by_a_tail():
    times = levels(seed=1)
    found = fit(times, 3, emission="gaussian", merge=False)
    assert found.model.n_states == 3
    assert (
        accuracy(classify(times, found.model), times) < 0.5
    )  # two of the three states are the slow regime's


@pytest.mark.parametrize("emission", EMISSIONS)
def test_the_number_of_regimes_is_chosen_by_bic(emission):
    times = simulated(TWO, 4, 1000, seed=1)
    found = fit(times, emission=emission)
    assert found.model.n_regimes == 2
    assert accuracy(classify(times, found.model), times) >= 0.99
    table = found.choice
    assert table["n_states"].tolist() == [1, 2, 3, 4, 5, 6]
    assert table["bic"].idxmin() == table["is_chosen"].idxmax()
    row = table.iloc[1]
    n_parameters = 2 * 2 + 2 * 2 - 1
    assert row["aic"] == pytest.approx(-2 * row["log_likelihood"] + 2 * n_parameters)
    assert row["bic"] == pytest.approx(-2 * row["log_likelihood"] + n_parameters * np.log(4000))


@pytest.mark.parametrize("n_regimes", [2, None])
def test_the_slowest_rank_s_series_has_two_regimes(n_regimes):
    two = model_of([2.2, 3.8], [0.05, 0.15], [[0.98, 0.02], [0.05, 0.95]])
    truth = simulated(two, 1, 8192, seed=4)
    quicker = truth[TIME].values * np.random.default_rng(4).uniform(0.5, 0.9, (5, 8192))
    times = timings(np.vstack([quicker, truth[TIME].values]))
    found = classify(largest(times), fit(largest(times), n_regimes).model)
    assert accuracy(found, truth) >= 0.99


def test_regimes_without_memory_keep_their_distance():
    mixture = model_of([1, 2, 4], [0.03, 0.05, 0.05], [[0.6, 0.3, 0.1]] * 3)
    times = simulated(mixture, 4, 500, seed=2)
    for has_memory in (True, False):
        found = fit(times, 3, memory=has_memory)
        assert accuracy(classify(times, found.model), times) >= 0.99
        assert ("do not last" in " ".join(found.notes)) == has_memory


def test_memory_separates_overlapping_levels_and_a_mixture_does_not():
    near = model_of([1, 1.1], [0.05, 0.05], [[0.95, 0.05], [0.05, 0.95]])
    times = simulated(near, 8, 1000, seed=3)
    with_memory, without = (
        accuracy(classify(times, fit(times, 2, memory=memory, emission="log-gaussian").model), times)
        for memory in (True, False)
    )
    assert with_memory > 0.95 > 0.85 > without


def test_pooled_fit_serves_several_methods():
    slow_less = model_of([1, 2], [0.03, 0.05], [[0.98, 0.02], [0.2, 0.8]])
    methods = [simulated(TWO, 6, 800, seed=1), simulated(slow_less, 4, 1000, seed=2)]
    found = fit_pooled(methods, 2)
    for times in methods:
        assert accuracy(classify(times, found.model), times) >= 0.99
    assert found.ranks.tolist() == [*range(6), *range(4)]
    assert not any("missing" in line for line in found.notes)  # the shorter series lacks no time


def test_ranks_are_sampled_evenly_by_their_medians():
    random = np.random.default_rng(1)
    slowness = random.permutation(101)
    times = timings((1000 + slowness[:, np.newaxis] + 0.1 * random.random((101, 300))) * 1e-6)
    found = fit(times, 1, n_sampled=5)
    assert sorted(slowness[found.ranks]) == [0, 25, 50, 75, 100]


def test_the_caller_s_times_stay():
    times = simulated(TWO, 4, 500, seed=2)
    before = times.copy(deep=True)
    classify(times, fit(times, 2).model)
    assert times.identical(before)


def test_the_same_seed_fits_the_same():
    times = simulated(TWO, 4, 500, seed=2)
    first, second = (fit(times, 2, seed=5).model for _ in range(2))
    np.testing.assert_array_equal(first.location, second.location)


@pytest.mark.parametrize("shape", [(1, 1), (8, 7)])
def test_a_few_times_that_are_the_same_are_too_few(shape):
    with pytest.raises(RegimeError, match="too few"):
        fit(timings(np.full(shape, 2e-3)))


def test_constant_times_are_one_regime_without_a_fit():
    times = timings(np.full((3, 40), 2e-3))
    found = fit(times)
    assert "one regime, and nothing was fitted" in found.notes[0]
    assert (classify(times, found.model)[REGIME] == 0).all() and len(found.choice) == 0


def test_too_few_times_are_refused():
    with pytest.raises(RegimeError, match=r"300 known times in 3 ranks, at most 100.*measure more steps"):
        fit(timings(np.random.default_rng(1).random((3, 100))), 3)


@pytest.mark.parametrize("value", [np.nan, -1.0, 0.0])
def test_times_that_are_all_unknown_are_refused(value):
    with pytest.raises(RegimeError, match="no value above 0 in 2 ranks x 600 steps"):
        fit(timings(np.full((2, 600), value)), 2)


def test_unknown_times_are_reported_and_belong_to_no_regime():
    times = simulated(TWO, 4, 500, seed=5)
    times[TIME].values[[0, 1, 1, 2], [7, 8, 9, 10]] = [np.nan, -1, np.inf, 0]
    found = fit(times, 2)
    notes = " ".join(found.notes)
    assert "1 of 2000 sampled times is negative" in notes and "2 of 2000 sampled times are missing" in notes
    classified = classify(times, found.model)
    assert (classified[REGIME].values[[0, 1, 1, 2], [7, 8, 9, 10]] == -1).all()
    assert int((classified[REGIME] == -1).sum()) == 4
    assert accuracy(classified, times) >= 0.99


def test_one_rank_is_enough():
    times = simulated(TWO, 1, 600, seed=6)
    assert accuracy(classify(times, fit(times, 2).model), times) >= 0.99


@pytest.mark.parametrize("emission", EMISSIONS)
def test_more_regimes_than_the_times_carry_are_reported(emission):
    times = simulated(TWO, 4, 700, seed=1)
    found = fit(times, 4, emission=emission)
    assert found.model.n_regimes == 2
    assert "4 regimes were requested, but the times carry only 2" in " ".join(found.notes)
    assert accuracy(classify(times, found.model), times) >= 0.99


def test_one_level_is_one_regime():
    one = model_of([1], [0.03], [[1]])
    assert fit(simulated(one, 4, 500, seed=1)).model.n_regimes == 1


def test_a_single_outlier_is_no_regime():
    times = timings(1e-3 * (1 + 0.01 * np.random.default_rng(1).standard_normal((1, 2000))))
    times[TIME].values[0, 1500] = 1
    assert fit(times).model.n_regimes == 1


def test_a_state_of_almost_no_times_is_dropped():
    times = timings(1e-3 * (1 + 0.01 * np.random.default_rng(1).standard_normal((1, 3000))))
    times[TIME].values[0, [700, 1500]] = 1e-2
    found = fit(times, 2, emission="log-gaussian", merge=False)  # without merging, nor by BIC
    assert found.model.n_states == 1
    assert "carry only 1: one of 2 states held less than 0.1 % of the times" in found.notes[0]


def test_one_long_event_is_a_regime():
    random = np.random.default_rng(1)
    times = timings(1e-3 * (1 + 0.01 * random.standard_normal((1, 2000))))
    times[TIME].values[0, 1000:1100] *= 3 + 0.3 * random.random(100)
    found = classify(times, fit(times).model)
    assert np.flatnonzero(found[REGIME].values[0] == 1).tolist() == list(range(1000, 1100))


def test_a_coarse_clock_does_not_make_regimes_of_its_ticks():
    slow = model_of([1e-2, 1.4e-2], [0.02, 0.1], [[0.95, 0.05], [0.1, 0.9]])
    times = simulated(slow, 8, 1000, seed=1)
    ticks = timings(np.round(times[TIME].values, 6))  # microseconds
    found = fit(ticks)
    assert found.model.n_regimes == 2
    assert accuracy(classify(ticks, found.model), times) >= 0.98


def test_times_of_two_values_are_two_regimes():
    truth = simulated(TWO, 2, 500, seed=1)
    times = timings(np.where(truth[REGIME], 2.0, 1.0))
    for n_regimes in (2, 3, None):
        model = fit(times, n_regimes).model
        assert model.n_regimes == 2
        assert accuracy(classify(times, model), truth) > 0.98


def test_a_fit_that_does_not_converge_is_reported(monkeypatch):
    monkeypatch.setattr("perfield.studies.regimes.model.states.MAX_ITERATIONS", 2)
    found = fit(simulated(TWO, 4, 500, seed=1), 2, n_starts=1)
    assert "did not converge in 2 iterations" in " ".join(found.notes)


def test_regimes_that_overlap_are_reported():
    near = model_of([1, 1.05], [0.06, 0.06], [[0.9, 0.1], [0.1, 0.9]])
    notes = " ".join(fit(simulated(near, 8, 1000, seed=1), 2, emission="log-gaussian").notes)
    assert "the regimes overlap" in notes


@pytest.mark.parametrize(
    ("wrong", "notes"),
    [
        ({"emission": "gamma"}, "'gamma' is unknown; expected one of student-t"),
        ({"n_regimes": 0}, "0 regimes; expected 1 to 8"),
        ({"n_regimes": 9}, "9 regimes; expected 1 to 8"),
        ({"dof": 0.0}, "expected degrees of freedom above 0"),
        ({"n_starts": 0}, "expected at least 1 of each"),
        ({"n_sampled": 0}, "expected at least 1 of each"),
    ],
)
def test_arguments_that_cannot_be_are_refused(wrong, notes):
    with pytest.raises(RegimeError, match=notes):
        fit(simulated(TWO, 2, 500, seed=1), **{"n_regimes": 2, **wrong})
