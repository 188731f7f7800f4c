# SPDX-License-Identifier: BSD-3-Clause
"""Sums of the fastest steps, and what another method saves."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.studies.regimes.model import RegimeError, timings
from perfield.studies.regimes.model.cumulative import (
    combined,
    cumulative_sums,
    fastest,
    improvement,
    known_times,
)


def classified(values, regimes):
    return timings(values).assign(regime=(("rank", "step"), np.array([regimes], np.int8)))


def test_sums_take_the_fastest_steps_first_and_leave_out_unknown_ones():
    assert cumulative_sums(np.array([3.0, np.nan, 1.0, 2.0])).tolist() == [1.0, 3.0, 6.0]


def test_improvement_is_positive_where_the_other_is_faster():
    assert improvement(np.array([2.0, 4.0]), np.array([3.0, 1.0])) == pytest.approx([50.0, 100 / 3])


def test_improvement_ends_with_the_shorter_of_both():
    assert len(improvement(np.ones(5), np.ones(3))) == len(improvement(np.ones(3), np.ones(5))) == 3


def test_times_of_one_regime_are_those_classified_so():
    times = classified([1.0, 9.0, np.nan, 2.0], [0, 1, -1, 0])
    assert known_times(times, 0).tolist() == [1.0, 2.0]
    assert known_times(times).tolist() == [1.0, 9.0, 2.0]


def test_regime_of_timings_without_regimes_is_refused():
    with pytest.raises(RegimeError, match="not classified"):
        known_times(timings([1.0]), 0)


def test_fastest_repeats_are_evaluated_by_as_many_steps_as_the_shortest_knows():
    repeats = [timings([2.0, 2.0, 2.0]), timings([1.0, 1.0, 1.0, 50.0]), timings([3.0, 3.0, 3.0])]
    assert fastest(repeats, 2) == [1, 0]


def test_repeat_without_a_time_is_refused():
    with pytest.raises(RegimeError, match="no known time"):
        fastest([timings([1.0]), timings([np.nan])])


def test_combined_repeats_keep_their_regimes_and_are_numbered_anew():
    both = combined([classified([1.0, 2.0], [0, 1]), classified([3.0], [1])])
    assert both["time_s"].values.tolist() == [[1.0, 2.0, 3.0]]
    assert both["regime"].values.tolist() == [[0, 1, 1]]
    assert both["step"].values.tolist() == [0, 1, 2]
