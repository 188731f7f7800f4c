# SPDX-License-Identifier: BSD-3-Clause
"""Band depth of distributions, and functional box plots."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from perfield.studies.regimes.model import RegimeError, timings
from perfield.studies.regimes.model.depth import band_depth, distributions, functional_box


def counted_depth(curves):
    """Depth by counting all pairs of curves, point by point."""
    pairs = list(combinations(range(len(curves)), 2))
    inside = [
        (np.minimum(curves[a], curves[b]) <= curves) & (curves <= np.maximum(curves[a], curves[b]))
        for a, b in pairs
    ]
    return np.mean(inside, axis=(0, 2))


@pytest.mark.parametrize("levels", [3, 1000])
def test_depth_agrees_with_a_count_of_all_pairs_also_among_ties(levels):
    curves = np.random.default_rng(levels).integers(0, levels, (12, 30)).astype(float)
    assert band_depth(curves) == pytest.approx(counted_depth(curves), abs=1e-12)


def test_one_curve_alone_is_the_median():
    assert functional_box(np.array([[0.0, 1.0]])).median == 0


def test_curve_in_the_middle_is_the_median_and_one_far_away_an_outlier():
    curves = np.linspace(-1, 1, 9)[:, None] + np.linspace(0, 5, 20)
    curves = np.vstack([curves, curves[4] + 30])
    box = functional_box(curves)
    assert box.median in (4, 5) and box.outliers.tolist() == [9]
    assert box.most == pytest.approx(curves[8]) and (box.lower <= box.upper).all()


def test_outlier_must_leave_the_middle_by_a_least_distance():
    curves = np.vstack([np.zeros((9, 5)), np.full((1, 5), 0.005)])
    assert functional_box(curves).outliers.tolist() == [9]
    assert functional_box(curves, least=0.01).outliers.tolist() == []


def test_no_curve_at_all_is_refused():
    with pytest.raises(RegimeError, match="no rank has a known time"):
        functional_box(np.empty((0, 5)))


def test_distribution_is_the_share_of_steps_not_longer_than_that():
    times = timings([[1.0, 2.0, 3.0, np.nan], [np.nan] * 4], rank=[7, 8])
    curves, ranks = distributions(times, np.array([0.5, 1.0, 2.5, 3.0]))
    assert ranks.tolist() == [7]
    assert curves[0] == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_distribution_in_a_regime_leaves_out_ranks_that_never_were_in_it():
    regime = np.array([[0, 1], [0, 0]], np.int8)
    times = timings([[1.0, 5.0], [1.0, 2.0]]).assign(regime=(("rank", "step"), regime))
    curves, ranks = distributions(times, np.array([1.0, 5.0]), regime=1)
    assert ranks.tolist() == [0] and curves.tolist() == [[0.0, 1.0]]
