# SPDX-License-Identifier: BSD-3-Clause
"""Pairwise phase differences, their histogram and heat map, and the phase circle."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.planted_phases import TURN, phases_of

from perfield.studies.rhythm.model import (
    RhythmError,
    difference_histogram,
    difference_matrix,
    phase_circle,
    phase_differences,
    wrapped,
)

WAVE = phases_of(np.arange(18)[:, None] * 0.5 + np.array([0.0, 7.0]), np.array([2.0, 5.0]))


def test_each_pair_of_ranks_comes_once_and_no_rank_with_itself():
    found = phase_differences(WAVE)
    assert found.sizes == {"pair": 153, "time": 2}
    assert (found.j < found.i).all()
    assert found.values / TURN == pytest.approx(0.5 * np.tile((found.j - found.i).values, (2, 1)).T)


def test_neighbours_are_the_pairs_with_their_offset():
    every = phase_differences(WAVE)
    some = phase_differences(WAVE, offsets=(1, 4))
    assert some.sizes["pair"] == 17 + 14
    for pair in range(31):
        same = every.isel(pair=((every.i == some.i[pair]) & (every.j == some.j[pair])).values)
        assert (same.values == some[pair].values).all()


def test_offsets_beyond_the_ranks_give_no_pairs():
    assert phase_differences(WAVE, offsets=(18,)).sizes["pair"] == 0


def test_offsets_that_are_no_distances_are_refused():
    with pytest.raises(RhythmError, match=r"offsets = \(1, 0\); expected whole numbers above 0"):
        phase_differences(WAVE, offsets=(1, 0))


def test_wrapping_maps_half_a_turn_to_minus_half_a_turn():
    assert wrapped(np.array([np.pi, -np.pi, 3 * np.pi, 0, TURN + 1])) == pytest.approx(
        [-np.pi, -np.pi, -np.pi, 0, 1]
    )


def test_histogram_counts_each_pair():
    found = difference_histogram(WAVE)
    assert int(found.sum()) == 153
    assert float(found.left[0]) == pytest.approx(-8.5 * TURN)
    assert float(found.right[-1]) == pytest.approx(-0.5 * TURN)


def test_histogram_of_chosen_bins_shows_how_often_each_distance_occurs():
    found = difference_histogram(WAVE, bins=17)
    assert found.values.tolist() == list(range(1, 18))  # one pair is 17 ranks apart, 17 are neighbours


def test_histogram_of_synchronous_ranks_is_one_bar_around_zero():
    found = difference_histogram(phases_of(np.zeros(18)))
    assert found.values.tolist() == [153]
    assert float(found.difference) == 0


def test_wrapped_histogram_does_not_see_whole_steps():
    thirds = phases_of(4 / 3 * np.arange(18))
    found = difference_histogram(thirds, wrap=True, bins=3)
    # of the 153 pairs 57, 45 and 51 are 1, 0 and 2 ranks apart, modulo 3: -1/3, 0 and 1/3 of a step
    assert found.values.tolist() == [57, 45, 51]


def test_histogram_and_matrix_take_the_nearest_instant():
    series = phases_of([[0.0, 0.0, 0.0], [0.1, 0.2, 0.3]], np.array([0.0, 1.0, 2.0]))
    assert float(difference_matrix(series, 0.9)[0, 1]) == pytest.approx(0.2 * TURN)
    assert float(difference_matrix(series)[0, 1]) == pytest.approx(0.3 * TURN)
    assert float(difference_histogram(series, 0.2).difference[0]) == pytest.approx(-0.1 * TURN)


def test_unknown_phases_make_no_pairs():
    found = difference_histogram(phases_of([0.0, np.nan, 0.1]))
    assert int(found.sum()) == 1
    assert int(difference_histogram(phases_of([np.nan, np.nan])).sum()) == 0


def test_matrix_has_the_column_ahead_of_the_row():
    found = difference_matrix(WAVE, 2.0)
    assert found.dims == ("oscillator", "other")
    rank = np.arange(18)
    assert found.values / TURN == pytest.approx(0.5 * (rank[None, :] - rank[:, None]))
    assert difference_matrix(WAVE, 2.0, wrap=True).values[0, 1] == pytest.approx(-np.pi)


@pytest.mark.parametrize(
    ("metric", "shape", "text"),
    [
        (
            difference_matrix,
            (2001, 1),
            "the matrix of all pairs would be 4,004,001 numbers, more than 4,0",
        ),
        (
            difference_histogram,
            (2001, 1),
            "a histogram of all pairs would be 2,001,000 numbers, more than 2",
        ),
        (
            phase_differences,
            (200, 3000),
            "timelines of all pairs would be 59,700,000 numbers, more than 40",
        ),
    ],
)
def test_pairs_of_many_ranks_are_refused_and_neighbours_named(metric, shape, text):
    with pytest.raises(RhythmError, match=text) as refused:
        metric(phases_of(np.zeros(shape)))
    assert "; compare neighbours only: phase_differences(phase, offsets=(1,))" in str(refused.value)


def test_neighbours_of_many_ranks_are_compared():
    many = phases_of(0.25 * np.arange(100_000.0))
    assert phase_differences(many, offsets=(1,)).sizes["pair"] == 99_999
    assert int(difference_histogram(many, offsets=(1, 2)).sum()) == 199_997


def test_circle_holds_cosine_and_sine():
    found = phase_circle(phases_of([0.0, 0.25]))
    assert found.sel(axis="x").values == pytest.approx([1, 0], abs=1e-15)
    assert found.sel(axis="y").values == pytest.approx([0, 1])


def test_circle_may_turn_with_the_mean_or_with_a_rank():
    times = np.arange(5.0)
    turning = phases_of(np.array([[0.0], [0.25]]) + 0.3 * times, times)
    mean, rank = phase_circle(turning, "mean"), phase_circle(turning, 1)
    assert mean.sel(axis="x").values == pytest.approx(np.full((2, 5), np.cos(TURN / 8)))
    assert rank.sel(axis="y").values == pytest.approx(np.tile([[-1.0], [0.0]], 5))


def test_frame_of_no_rank_is_refused():
    with pytest.raises(RhythmError, match='frame = 7 is not a rank of these phases; expected None, "mean"'):
        phase_circle(WAVE.isel(oscillator=slice(3)), 7)
