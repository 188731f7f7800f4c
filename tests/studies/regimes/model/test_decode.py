# SPDX-License-Identifier: BSD-3-Clause
"""Regimes of each rank and step: at once, in blocks of ranks, and as steps arrive."""

import dask
import dask.array
import numpy as np
import pytest
import xarray as xr

from perfield.studies.regimes.model import (
    PROBABILITY,
    REGIME,
    TIME,
    Follower,
    Model,
    RegimeError,
    classify,
    fit,
    simulated,
    timings,
)

MODEL = Model(
    emission="student-t",
    location=np.log([1e-3, 2e-3, 4e-3]),
    scale=[0.02, 0.05, 0.1],
    dof=2.0,
    start=[0.6, 0.2, 0.2],
    transition=[[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]],
    regime=[0, 1, 1],
)


def test_slow_steps_behind_unknown_times_stay_slow():
    times = simulated(MODEL, 2, 1500, seed=5)
    model = fit(simulated(MODEL, 1, 1500, seed=1).drop_vars(REGIME), 2).model  # of a series without gaps
    slow = times[REGIME].values == 1
    times[TIME][:, 9::10] = np.nan
    behind = np.zeros(slow.shape, bool)
    behind[:, 10::10] = slow[:, 10::10]
    assert behind.sum() > 50 and (classify(times, model)[REGIME].values[behind] == 1).mean() > 0.9


def test_classified_timings_keep_their_model():
    found = classify(simulated(MODEL, 2, 50, seed=1), MODEL)
    np.testing.assert_array_equal(Model.from_json(found.attrs["model"]).transition, MODEL.transition)
    assert found[REGIME].dtype == np.int8 and found[REGIME].dims == found[PROBABILITY].dims == (
        "rank",
        "step",
    )


def test_several_states_form_one_regime():
    found = classify(simulated(MODEL, 4, 500, seed=1), MODEL)
    slow = found[TIME].values[found[REGIME].values == 1]
    assert slow.min() < 2.2e-3 and slow.max() > 3.5e-3
    assert float(found[PROBABILITY].min()) > 0.4  # of the regime, not of one of its states


def test_blocks_of_ranks_give_what_the_whole_gives():
    times = simulated(MODEL, 40, 500, seed=2)
    lazy = timings(dask.array.from_array(times[TIME].values, chunks=(7, 100)), name="time")
    assert dask.is_dask_collection(lazy[TIME].data)
    model = fit(times, 2).model
    np.testing.assert_array_equal(fit(lazy, 2).model.transition, model.transition)
    found = classify(lazy, model)
    assert dask.is_dask_collection(found[REGIME].data)
    whole = classify(times, model)
    xr.testing.assert_identical(found[REGIME].compute(), whole[REGIME])
    xr.testing.assert_identical(found[PROBABILITY].compute(), whole[PROBABILITY])


def test_times_may_lie_step_by_rank():
    times = simulated(MODEL, 3, 60, seed=2)
    turned = times.transpose("step", "rank")
    xr.testing.assert_identical(classify(turned, MODEL)[REGIME], classify(times, MODEL)[REGIME])


def test_following_agrees_with_looking_back():
    times = simulated(MODEL, 5, 400, seed=3)
    follower = Follower(MODEL, 5)
    steps = [follower.add(times[TIME].values[:, step]) for step in range(400)]
    regime = np.stack([step[0] for step in steps], axis=1)
    probability = np.stack([step[1] for step in steps], axis=1)
    whole = classify(times, MODEL)
    assert (regime == whole[REGIME].values).mean() > 0.97
    np.testing.assert_array_less(0.5 - 1e-9, probability)
    same = regime[:, -1] == whole[REGIME].values[:, -1]  # the last step looks back at all, as classify does
    np.testing.assert_allclose(probability[same, -1], whole[PROBABILITY].values[same, -1], rtol=1e-6)


def test_following_begins_anew_after_an_unknown_time():
    follower, fresh = Follower(MODEL, 2), Follower(MODEL, 2)
    follower.add([4e-3, 4e-3])
    regime, probability = follower.add([np.nan, 4e-3])
    assert regime.tolist() == [-1, 1] and np.isnan(probability[0])
    again, first = follower.add([1.5e-3, 1.5e-3]), fresh.add([1.5e-3, 1.5e-3])
    assert again[1][0] == first[1][0] and again[1][1] != first[1][1]


def test_following_takes_one_time_per_rank():
    with pytest.raises(RegimeError, match=r"shape \(3,\); expected one per rank, 2"):
        Follower(MODEL, 2).add([1, 2, 3])
