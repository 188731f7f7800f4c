# SPDX-License-Identifier: BSD-3-Clause
"""The compiled hidden Markov model against hmmlearn (Gaussians), SciPy's densities and all paths."""

import itertools

import numpy as np
import pytest
from hmmlearn.hmm import GaussianHMM
from scipy import stats

from perfield._bridge import HiddenMarkov

START = np.array([0.5, 0.2, 0.3])
TRANSITION = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.3, 0.1, 0.6]])
LOCATION, SCALE = np.array([2.0, 3.0, 5.0]), np.array([0.3, 0.5, 1.0])


def hidden(is_log=False, dof=0.0):
    return HiddenMarkov(is_log, dof, LOCATION, SCALE, START, TRANSITION)


def drawn(n_ranks=3, n_steps=400, seed=0):
    random = np.random.default_rng(seed)
    return np.abs(
        random.choice(LOCATION, (n_ranks, n_steps)) + 0.4 * random.standard_normal((n_ranks, n_steps))
    )


def by_hmmlearn(**options):
    model = GaussianHMM(
        3, "diag", min_covar=0, covars_prior=0, covars_weight=0, init_params="", tol=0, **options
    )
    model.n_features = 1
    model.startprob_, model.transmat_ = START, TRANSITION
    model.means_, model.covars_ = LOCATION[:, np.newaxis], SCALE[:, np.newaxis] ** 2
    return model


def as_one(values):
    return values.reshape(-1, 1), [values.shape[1]] * values.shape[0]


def density(dof, value):
    z = (value - LOCATION) / SCALE
    return (stats.t.pdf(z, dof) if dof else stats.norm.pdf(z)) / SCALE


def test_likelihood_is_that_of_hmmlearn():
    values = drawn()
    assert hidden().log_likelihood(values) == pytest.approx(by_hmmlearn().score(*as_one(values)), rel=1e-12)


def test_path_is_that_of_hmmlearn():
    values = drawn()
    expected = by_hmmlearn().predict(*as_one(values)).reshape(values.shape)
    np.testing.assert_array_equal(hidden().decode(values), expected)


def test_probabilities_are_those_of_hmmlearn():
    values = drawn()
    regime, probability = hidden().classify(values, [0, 1, 2])
    every = by_hmmlearn().predict_proba(*as_one(values)).reshape(*values.shape, 3)
    expected = np.take_along_axis(every, regime[..., np.newaxis].astype(int), axis=2)[..., 0]
    np.testing.assert_allclose(probability, expected, atol=1e-6)  # float32


def test_fit_ends_where_that_of_hmmlearn_does():
    values = drawn()
    theirs = by_hmmlearn(n_iter=20).fit(*as_one(values))
    ours, likelihood, n_iterations, has_converged = hidden().fit(values, 20, 0.0, 0.0)
    assert (n_iterations, has_converged) == (20, False)
    np.testing.assert_allclose(ours.location, theirs.means_[:, 0], rtol=1e-9)
    np.testing.assert_allclose(ours.scale**2, theirs.covars_[:, 0, 0], rtol=1e-9)
    np.testing.assert_allclose(ours.transition, theirs.transmat_, rtol=1e-8)
    assert likelihood == pytest.approx(theirs.monitor_.history[-1], rel=1e-12)


@pytest.mark.parametrize("dof", [0.0, 2.0, 3.5])
def test_likelihood_path_and_probabilities_are_those_of_all_paths(dof):
    values = np.array([[2.2, 4.0, 4.9, 2.1, 3.3]])
    paths = np.array(list(itertools.product(range(3), repeat=5)))
    densities = np.array([density(dof, value) for value in values[0]])
    chance = START[paths[:, 0]] * TRANSITION[paths[:, :-1], paths[:, 1:]].prod(axis=1)
    chance = chance * densities[np.arange(5), paths].prod(axis=1)
    assert hidden(dof=dof).log_likelihood(values) == pytest.approx(np.log(chance.sum()), rel=1e-12)
    best = paths[np.argmax(chance)]
    regime_of = np.array([0, 0, 1])
    regime, probability = hidden(dof=dof).classify(values, regime_of.tolist())
    np.testing.assert_array_equal(hidden(dof=dof).decode(values)[0], best)
    np.testing.assert_array_equal(regime[0], regime_of[best])
    same = regime_of[paths] == regime_of[best]
    expected = [chance[same[:, step]].sum() / chance.sum() for step in range(5)]
    np.testing.assert_allclose(probability[0], expected, rtol=1e-6)  # float32


def test_logarithms_are_taken_of_times():
    values = drawn()
    by_time = hidden(is_log=True).log_likelihood(np.exp(values))
    assert by_time == pytest.approx(hidden().log_likelihood(values) - values.sum(), rel=1e-12)
    np.testing.assert_array_equal(hidden(is_log=True).decode(np.exp(values)), hidden().decode(values))


@pytest.mark.parametrize("dof", [0.0, 2.0, 4.0])
def test_each_iteration_raises_the_likelihood(dof):
    values, model, before = drawn(), hidden(dof=dof), -np.inf
    for _ in range(30):
        now = model.log_likelihood(values)
        assert now >= before - 1e-9 * abs(now)
        model, before = model.fit(values, 1, 0.0, 0.0)[0], now


def test_a_single_t_is_fitted_to_the_likeliest_location_and_scale():
    values = 50 + 0.1 * np.random.default_rng(1).standard_t(2, (1, 4000))
    first = HiddenMarkov(False, 2.0, [49.0], [1.0], [1.0], [[1.0]])
    found = first.fit(values, 300, 1e-9, 0.0)[0]
    _, location, scale = stats.t.fit(values[0], fix_df=2)
    by_scipy = stats.t.logpdf(values, 2, location, scale).sum()
    assert by_scipy <= found.log_likelihood(values) <= by_scipy + 0.1  # SciPy's search ends early
    assert (found.location[0], found.scale[0]) == (pytest.approx(50, abs=0.01), pytest.approx(0.1, rel=0.05))


def test_without_memory_all_rows_are_the_shares():
    found = hidden().fit(drawn(), 50, 1e-6, 0.0, has_memory=False)[0]
    np.testing.assert_allclose(found.transition, np.tile(found.start, (3, 1)), rtol=1e-12)


@pytest.mark.parametrize("hole", [np.nan, np.inf, -1.0, 0.0])
def test_what_is_unknown_splits_a_series(hole):
    values = drawn(1, 20)
    values[0, 8] = hole
    apart = hidden().log_likelihood(values[:, :8]) + hidden().log_likelihood(values[:, 9:])
    assert hidden().log_likelihood(values) == pytest.approx(apart, rel=1e-12)
    regime, probability = hidden().classify(values, [0, 1, 2])
    assert regime[0, 8] == -1 and np.isnan(probability[0, 8])
    np.testing.assert_array_equal(regime[:, 9:], hidden().decode(values[:, 9:]))


@pytest.mark.parametrize("dof", [0.0, 2.0])
def test_filtering_gives_the_probabilities_of_a_series_that_ends_there(dof):
    values, known = drawn(2, 30), np.full((2, 3), np.nan)
    for step in range(30):
        known = hidden(dof=dof).filter(values[:, step], known)
    regime, probability = hidden(dof=dof).classify(values, [0, 1, 2])
    last = regime[:, -1].astype(int)
    np.testing.assert_allclose(known[[0, 1], last], probability[:, -1], rtol=1e-6)  # float32


def test_impossible_values_do_not_break_a_path():
    values = np.array([[2.0, 1e9, 2.0, 3.0]])
    for is_log, dof in [(False, 0.0), (False, 2.0), (True, 0.0)]:
        model = hidden(is_log, dof)
        assert (model.decode(values) >= 0).all()
        assert np.isfinite(model.classify(values, [0, 1, 2])[1]).all()
        assert np.isfinite(model.fit(values, 3, 0.0, 1e-3)[0].location).all()


def test_a_path_that_the_model_forbids_has_finite_probabilities():
    one_way = HiddenMarkov(False, 0.0, [1, 100], [1e-3, 1e-3], [1, 0], [[0.5, 0.5], [0, 1]])
    values = np.array([[1.0, 100, 1, 1, 100, 1]])  # nothing leads back
    regime, probability = one_way.classify(values, [0, 1])
    assert (regime >= 0).all() and np.isfinite(probability).all()
    found = one_way.fit(values, 3, 0.0, 1e-3)[0]
    assert np.isfinite(found.location).all() and np.isfinite(found.transition).all()


@pytest.mark.parametrize("n_states", [0, 9])
def test_the_core_takes_1_to_8_states(n_states):
    share = np.full(n_states, 1 / max(n_states, 1))
    with pytest.raises(ValueError, match=f"{n_states} states; expected 1 to 8"):
        HiddenMarkov(False, 0.0, share, share, share, np.tile(share, (n_states, 1)))


def test_arrays_of_a_model_must_agree():
    with pytest.raises(ValueError, match="2 locations, but not as many"):
        HiddenMarkov(False, 0.0, [1, 2], [1], [0.5, 0.5], np.full((2, 2), 0.5))
    with pytest.raises(ValueError, match="one per state"):
        hidden().classify(drawn(), [0, 1])
    with pytest.raises(ValueError, match="1 dimensions"):
        hidden().decode(drawn()[0])
    with pytest.raises(ValueError, match="one number per rank"):
        hidden().filter(np.ones(2), np.ones((3, 3)))


APART = HiddenMarkov(False, 0.0, [1, 8, 99], [1, 1, 1], [1, 0, 0], [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
TO_AND_FRO = [1.0, 8.0] * 30


def test_values_that_no_state_explains_leave_the_likelihood_finite():
    assert np.isfinite(APART.log_likelihood(np.array([[*TO_AND_FRO, 99, 99, 1, 1]])))


def test_steps_before_a_value_that_no_state_explains_count_in_the_transitions():
    values = np.full((2, 61), np.nan)
    values[0] = [*TO_AND_FRO, 61.4]  # 30 times from 1 to 8; at last a density below the least normal number
    values[1, :3] = 1
    transition = APART.fit(values, 1, 0.0, 1e-3)[0].transition
    assert transition[0, 1] == pytest.approx(30 / 32, abs=1e-6)
