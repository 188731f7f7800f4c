# SPDX-License-Identifier: BSD-3-Clause
"""Frames that carry the regime of each rank, how certain it is, and how often the rank is slow."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import mixed_spans, rhythm_runs
from known_runs.planted_regimes import planted

import perfield
from perfield.derived.providers import FieldsOfRun
from perfield.derived.view import RunView
from perfield.run import AnyRun
from perfield.studies.regimes.fields import REGIMES, Regimes
from perfield.studies.regimes.model import REGIME, RegimeError


def frames_of(path, classified, n_ranks=4, n_steps=10):
    run = perfield.open(rhythm_runs.write(path / "run", rhythm_runs.even(n_ranks, n_steps)))
    return RunView(run, REGIMES, all_fields=FieldsOfRun(run, [Regimes(run, classified=classified)]))


def with_probability(times, uncertain=()):
    values = np.ones(times[REGIME].shape)
    for rank, step in uncertain:
        values[rank, step] = 0.6
    return times.assign(probability=(("rank", "step"), values))


def test_each_frame_says_which_ranks_are_slow_and_how_sure_that_is(tmp_path):
    times = with_probability(planted(4, 10, [([2, 3], 4, 8)]), [(3, 4), (0, 4)])
    run = frames_of(tmp_path, times)
    values = run.frame(4).values
    assert values["regime"].tolist() == [0, 0, 1, 1]
    assert values["regime_probability"].tolist() == [0.6, 1, 1, 0.6]
    assert values["regime_shade"].tolist() == [0, 1, 3, 2]
    assert values["slow_share"].tolist() == [0, 0, 0.4, 0.4]
    assert run.frame(8).values["regime_shade"].tolist() == [1, 1, 1, 1]


def test_legend_names_each_regime_with_its_mean_time(tmp_path):
    meanings = frames_of(tmp_path, planted(4, 10, [([2, 3], 4, 8)], noise=0)).meanings["regime_shade"]
    assert meanings == {
        0: "fast, uncertain",
        1: "fast: mean 1 ms",
        2: "slow, uncertain",
        3: "slow: mean 3 ms",
    }


def test_highlight_is_the_frame_with_most_slow_ranks(tmp_path):
    assert frames_of(tmp_path, planted(4, 10, [([1], 2, 9), ([3], 6, 7)])).highlights == [6]


def test_highlight_is_no_step_without_times(tmp_path):
    times = with_probability(planted(4, 10, [([1], 2, 9), ([3], 6, 7)]))
    times[REGIME][:, 1] = -1
    times["probability"][:, 1] = np.nan  # as `classify` says of unknown times
    assert frames_of(tmp_path, times).highlights == [6]


def test_ranks_and_steps_without_a_regime_are_absent(tmp_path):
    times = planted(4, 10, [([1], 4, 8)]).isel(rank=[0, 1], step=slice(2, 9))
    times[REGIME][0, 0] = -1
    run = frames_of(tmp_path, times)
    for name in ("regime_shade", "regime", "regime_probability"):
        assert np.isnan(run.frame(2).values[name]).tolist() == [True, False, True, True]
        assert np.isnan(run.frame(9).values[name]).all()
    np.testing.assert_allclose(run.frame(9).values["slow_share"], [0, 4 / 7, np.nan, np.nan])


def test_regime_of_the_longest_time_is_that_of_all_ranks(tmp_path):
    times = planted(1, 10, [([0], 4, 8)]).assign_coords(rank=[-1])
    assert frames_of(tmp_path, times).frame(5).values["regime"].tolist() == [1, 1, 1, 1]


def test_run_of_one_regime_has_no_slow_share(tmp_path):
    run = frames_of(tmp_path, planted(4, 10, []))
    assert run.frame(0).values["slow_share"].tolist() == [0] * 4
    assert run.highlights == []


def test_run_with_regimes_is_still_a_run(tmp_path):
    run = frames_of(tmp_path, planted(4, 10, [([1], 2, 9)]))
    assert isinstance(run, AnyRun)
    assert len(list(run.frames())) == len(run) == 10
    assert set(REGIMES) <= set(run.frame(-1).values)


def test_timings_without_regimes_are_refused(tmp_path):
    with pytest.raises(RegimeError, match="no regimes yet"):
        frames_of(tmp_path, planted(4, 10, []).drop_vars(REGIME))


def test_frames_count_in_the_share_as_often_as_they_hold_steps(tmp_path):
    run = perfield.open(mixed_spans.write(tmp_path / "run", {rank: [1, 1, 4, 4] for rank in range(2)}))
    times = planted(2, 4, [([1], 3, 4)]).assign_coords(step=[0, 1, 5, 9])
    values = Regimes(run, classified=times).compute(["slow_share"], np.array([0]))
    assert values["slow_share"].tolist() == [[0, 0.4]]
