# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of groups of values."""

from __future__ import annotations

import warnings

import numpy as np

from perfield.analysis.statistics import STATISTICS, statistics

NOT = np.nan


def test_statistics_equal_those_of_numpy_for_each_group():
    values = np.random.default_rng(7).random((3, 4, 50))
    values[values < 0.2] = NOT
    begin = np.array([0, 1, 17, 40])
    found = statistics(values, begin)
    for group, part in enumerate(np.split(values, begin[1:], axis=-1)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a group of one absent value
            mean, most = np.nanmean(part, axis=-1), np.nanmax(part, axis=-1)
            expected = [np.nanmin(part, axis=-1), mean, np.nanstd(part, axis=-1), most, most / mean]
        np.testing.assert_allclose(found[..., group, :], np.stack(expected, axis=-1), rtol=1e-12)


def test_ranges_with_gaps_between_them_leave_out_what_lies_there():
    found = statistics(np.array([1.0, 50, 3, 5, 70]), np.array([0, 2]), np.array([1, 4]))
    assert found.tolist() == [[1, 1, 0, 1, 1], [3, 4, 1, 5, 1.25]]


def test_standard_deviation_of_large_values_is_exact():
    assert statistics(1e9 + np.arange(1000) % 2, np.array([0]))[0, 2] == 0.5


def test_imbalance_needs_a_positive_mean():
    found = statistics(np.array([0.0, 0, -4, 2]), np.array([0, 2]))
    assert np.isnan(found[:, STATISTICS.index("imbalance")]).all()
    assert found[:, STATISTICS.index("max")].tolist() == [0, 2]
