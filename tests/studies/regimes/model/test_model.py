# SPDX-License-Identifier: BSD-3-Clause
"""The form of timings, models and their files, and timings that are drawn from a model."""

import json

import numpy as np
import pytest

from perfield.studies.regimes.model import TIME, Model, RegimeError, largest, simulated, timings


def two_levels(**changes):
    given = {
        "emission": "log-gaussian",
        "location": np.log([1e-3, 3e-3]),
        "scale": [0.02, 0.1],
        "dof": None,
        "start": [0.75, 0.25],
        "transition": [[0.95, 0.05], [0.15, 0.85]],
        "regime": [0, 1],
    }
    return Model(**{**given, **changes})


def test_one_series_is_a_row():
    assert timings([1, 2, 3])[TIME].shape == (1, 3)


def test_timings_of_three_dimensions_are_refused():
    with pytest.raises(RegimeError, match=r"3 dimensions"):
        timings(np.zeros((2, 2, 2)))


def test_timings_need_a_number_for_each_row():
    with pytest.raises(RegimeError, match="2 x 3, but 1 ranks"):
        timings(np.zeros((2, 3)), rank=[4])


def test_largest_takes_the_slowest_rank_of_each_step():
    found = largest(timings([[1, np.nan, np.nan], [3, 2, np.nan]]))
    np.testing.assert_array_equal(found[TIME], [[3, 2, np.nan]])


def test_a_model_survives_its_file():
    model = two_levels(notes=["a sentence"])
    again = Model.from_json(model.to_json())
    np.testing.assert_array_equal(again.transition, model.transition)
    assert (again.emission, again.dof, again.notes) == (model.emission, None, ("a sentence",))


@pytest.mark.parametrize("text", ["", "[]", "{}", "3"])
def test_a_file_that_is_no_model_is_reported(text):
    with pytest.raises(RegimeError, match="not a model of regimes"):
        Model.from_json(text)


def test_a_model_of_another_version_is_reported():
    text = json.dumps({**json.loads(two_levels().to_json()), "perfield_regimes": 7})
    with pytest.raises(RegimeError, match=r"version 7.*version 1"):
        Model.from_json(text)


@pytest.mark.parametrize(
    "change",
    [
        {"scale": [0, 1]},
        {"start": [1, 1]},
        {"emission": "gamma"},
        {"regime": [0]},
        {"regime": [0, 2]},
        {"regime": [-1, 0]},
        {"start": [2, -1]},
        {"location": "abc"},
        {"transition": [[1], [0.5, 0.5]]},
        {"dof": 2.0},
        {"emission": "student-t", "dof": None},
        {"emission": "student-t", "dof": "two"},
    ],
)
def test_a_model_that_cannot_be_is_refused(change):
    with pytest.raises(RegimeError):
        two_levels(**change)


def test_drawn_timings_follow_the_model():
    found = simulated(two_levels(), 20, 5000, seed=1)
    assert float((found["regime"] == 1).mean()) == pytest.approx(0.25, abs=0.01)  # stationary
    slow = found[TIME].where(found["regime"] == 1)
    assert float(slow.median()) == pytest.approx(3e-3, rel=0.01)


def test_the_same_seed_draws_the_same():
    assert simulated(two_levels(), 2, 50, seed=3).identical(simulated(two_levels(), 2, 50, seed=3))
