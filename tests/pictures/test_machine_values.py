# SPDX-License-Identifier: BSD-3-Clause
"""Values of groups of ranks."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.pictures.machine_values import RankGroups


@pytest.mark.parametrize("absent", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_values_of_groups_equal_those_of_each_group_alone(seed, absent):
    random = np.random.default_rng(seed)
    values = random.random(40)
    values[random.random(40) < absent] = np.nan
    group, place = random.integers(0, 25, 60), random.integers(0, 40, 60)
    check(group, place, values)


@pytest.mark.parametrize("absent", [0.0, 0.3])
def test_nested_groups_of_neighbours_have_the_values_of_their_own_ranks(absent):
    random = np.random.default_rng(3)
    values = random.random(40)
    values[random.random(40) < absent] = np.nan
    ranges = [(0, 20), (0, 10), (10, 20), (3, 4), (20, 39), (20, 21), (30, 39), (31, 33)]
    group = np.repeat(np.arange(len(ranges)), [end - begin for begin, end in ranges])
    place = np.concatenate([np.arange(*ends) for ends in ranges])
    check(group, place, values)
    check(group, place + 1, values)  # up to the last value
    check(group[::-1], place[::-1], values)


def check(group: np.ndarray, place: np.ndarray, values: np.ndarray) -> None:
    """Compares all statistics of 27 groups with those of each group's values."""
    groups = RankGroups(group, place, 27)
    mean, largest = groups.mean_and_largest(values)
    others = groups.others(values)
    for number in range(27):
        mine = values[place[group == number]]
        mine = mine[np.isfinite(mine)]
        found = [mean, largest, *others.values()]
        expected = [np.nan] * 5
        if len(mine):
            most = mine.max()
            expected = [mine.mean(), most, mine.min(), mine.std(), most / mine.mean()]
        np.testing.assert_allclose([column[number] for column in found], expected, rtol=1e-6, atol=1e-7)
        assert groups.n_ranks[number] == np.count_nonzero(group == number)
    assert list(others) == ["_rank_min", "_rank_std", "_rank_imbalance"]


def test_no_ranks_give_no_values():
    nothing = np.zeros(0, np.int64)
    mean, largest = RankGroups(nothing, nothing, 2).mean_and_largest(np.zeros(0))
    assert np.isnan([mean, largest]).all()
    assert np.isnan(RankGroups(nothing, nothing, 2).others(np.zeros(0))["_rank_std"]).all()
