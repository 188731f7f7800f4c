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
