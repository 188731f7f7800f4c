# SPDX-License-Identifier: BSD-3-Clause
"""The latency pattern of a machine as a file, and how two of them differ in words."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from known_runs.planted_regimes import two_levels

from perfield.studies.regimes.model import Model, RegimeError, simulated
from perfield.studies.regimes.model.machine import Machine, compared, machine_of, regime_name


def pattern(**changed):
    found = machine_of(
        simulated(two_levels(), 4, 3000, 1), two_levels(), ["b", "a"], "2024-05-01T10:00:00+00:00", "./heat"
    )
    return dataclasses.replace(found, **changed)


def test_pattern_says_the_regimes_of_its_timings():
    found = pattern()
    np.testing.assert_allclose(found.share, [0.75, 0.25], atol=0.02)
    np.testing.assert_allclose(found.dwell_steps, [20, 1 / 0.15], rtol=0.1)
    np.testing.assert_allclose(found.dwell_s, found.dwell_steps * found.mean_s)
    assert found.name == "b and a, 2024-05-01" and (found.n_ranks, found.n_steps) == (4, 3000)


def test_file_of_a_pattern_is_read_back_and_is_also_a_model():
    text = pattern().to_json()
    again = Machine.from_json(text)
    assert again.to_json() == text and again.hosts == ("b", "a")
    np.testing.assert_array_equal(Model.from_json(text).location, two_levels().location)


def test_stay_that_never_ended_is_null_in_the_file():
    found = pattern(dwell_steps=[np.inf, 2.0])
    about = json.loads(found.to_json())["machine"]
    assert about["dwell_steps"] == [None, 2.0] and about["dwell_s"][0] is None
    assert np.isinf(Machine.from_json(found.to_json()).dwell_steps[0])


def test_regime_that_did_not_occur_counts_as_none():
    quiet = simulated(two_levels(1.0, 0.0), 1, 500, 3)
    quiet["regime"][:] = 0
    assert machine_of(quiet, two_levels()).share.tolist() == [1, 0]


def test_differences_are_reported_and_likeness_too():
    now = pattern(share=[0.5, 0.5], mean_s=[1e-3, 6e-3])
    out = " ".join(compared(now, pattern()))
    assert "The fast regime occurs less often: in 50 % of the steps, before in 74 %." in out
    assert "The slow regime occurs more often: in 50 % of the steps, before in 26 %." in out
    assert "A step there takes 1.99 times as long (6 ms, before 3" in out
    alike = list(compared(pattern(), pattern()))
    assert len(alike) == 2 and all("as often as before" in line for line in alike)


def test_lengths_of_stay_that_are_not_known_are_not_compared():
    out = " ".join(compared(pattern(), pattern(dwell_steps=[20, 0.0])))
    assert "inf" not in out and "A stay there" not in out


def test_pattern_with_too_few_numbers_is_refused():
    with pytest.raises(RegimeError, match="3 numbers of share, but its model has 2 regimes"):
        pattern(share=[0.2, 0.3, 0.5])


def test_model_alone_is_no_pattern():
    with pytest.raises(RegimeError, match="does not say where and when it was measured"):
        Machine.from_json(two_levels().to_json())


def test_regimes_have_names_from_the_fastest():
    assert [regime_name(one, 2) for one in range(2)] == ["fast", "slow"]
    assert [regime_name(one, 3) for one in range(3)] == ["fast", "middle", "slow"]
    assert regime_name(0, 1) == "only" and regime_name(2, 5) == "3rd"
