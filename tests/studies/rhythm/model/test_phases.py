# SPDX-License-Identifier: BSD-3-Clause
"""Phases of a run's ranks, from stamps in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from perfield.studies.rhythm.model import RhythmError, order_parameter, phases

TURN = 2 * np.pi


def steps_of(begin, end, **more):
    """A Dataset of steps with the given stamps (step, rank). more : step (the indexes), span, or
    clock_uncertainty_s."""
    dims = ("step", "rank")
    begin, end = np.asarray(begin, float), np.asarray(end, float)
    made = xr.Dataset(
        {"begin_s": (dims, begin), "end_s": (dims, end)},
        {"step": more.pop("step", np.arange(len(begin))), "rank": np.arange(begin.shape[1])},
    )
    names = {"span": "step", "clock_uncertainty_s": "rank"}
    return made.assign({name: (names[name], value) for name, value in more.items()})


def turns(steps, times):
    """Steps completed by each rank at `times`."""
    return phases(steps, np.array(times)).phase.values / TURN


def test_rank_half_a_step_late_is_half_a_turn_behind():
    end = np.array([[1.0, 1.5], [2.0, 2.5], [3.0, 3.5]])
    found = phases(steps_of(end - 1, end), np.array([1.0, 1.5, 2.25]))
    assert found.phase.values / TURN == pytest.approx(np.array([[1, 1.5, 2.25], [0.5, 1, 1.75]]))
    assert order_parameter(found.phase).values == pytest.approx(0, abs=1e-12)


def test_phase_does_not_change_between_two_steps():
    steps = steps_of([[0], [2]], [[1], [3]])
    assert turns(steps, [0.5, 1, 1.25, 1.75, 2, 2.5]) == pytest.approx(np.array([[0.5, 1, 1, 1, 1, 1.5]]))


def test_phase_is_unknown_where_a_step_is_missing():
    steps = steps_of([[0], [1], [np.nan], [3]], [[1], [2], [np.nan], [4]])
    expected = np.array([[1.5, 2, np.nan, np.nan, 3, 4]])
    assert turns(steps, [1.5, 2, 2.1, 2.9, 3, 4]) == pytest.approx(expected, nan_ok=True)


def test_missing_index_is_a_missing_step():
    steps = steps_of([[0], [1], [3]], [[1], [2], [4]], step=[0, 1, 3])
    assert turns(steps, [1.5, 2.5, 3.5]) == pytest.approx(np.array([[1.5, np.nan, 3.5]]), nan_ok=True)


def test_rank_has_no_phase_before_its_first_step_and_after_its_last():
    nan = np.nan
    steps = steps_of([[0, nan], [1, 1], [nan, 2]], [[1, nan], [2, 2], [nan, 3]])
    expected = np.array([[0.5, 1.5, nan], [nan, 1.5, 2.5]])
    assert turns(steps, [0.5, 1.5, 2.5]) == pytest.approx(expected, nan_ok=True)


def test_entry_of_several_steps_grows_evenly_over_all_of_them():
    steps = steps_of([[0], [10]], [[10], [14]], step=[9, 13], span=[10, 4])
    assert turns(steps, [5, 10, 12]) == pytest.approx(np.array([[5, 10, 12]]))


def test_step_that_ends_before_it_begins_is_missing():
    steps = steps_of([[0], [9], [2]], [[1], [1.5], [3]])
    assert turns(steps, [0.5, 1.5, 2.5]) == pytest.approx(np.array([[0.5, np.nan, 2.5]]), nan_ok=True)


def test_times_cover_all_ranks_unless_given():
    found = phases(steps_of([[0, 5], [1, 6]], [[1, 6], [2, 9]]), samples=10)
    assert found.time.values == pytest.approx(np.arange(10))
    assert len(phases(steps_of([[0], [1]], [[1], [2]])).time) == 2


def test_period_is_the_median_time_between_ends():
    steps = steps_of([[0], [1], [2], [9]], [[1], [2], [3], [10]])
    assert phases(steps).period_s.values == pytest.approx([1])


def test_uncertain_clock_makes_an_uncertain_phase():
    steps = steps_of([[0, 0], [2, 2]], [[2, 2], [4, 4]], clock_uncertainty_s=[0.1, np.nan])
    assert phases(steps).phase_uncertainty.values == pytest.approx([0.05 * TURN, np.nan], nan_ok=True)


@pytest.mark.parametrize(
    ("begin", "said"), [([[0.0]], "one step"), ([[np.nan], [np.nan]], "no step with known times")]
)
def test_less_than_two_steps_are_refused_with_a_remedy(begin, said):
    with pytest.raises(RhythmError, match=f"there is {said}.*measure more steps"):
        phases(steps_of(begin, np.add(begin, 1)))


def test_steps_without_length_are_refused():
    with pytest.raises(RhythmError, match=r"begin and end at 5\.0 s; take another run"):
        phases(steps_of([[5], [5]], [[5], [5]]))


def test_times_that_do_not_ascend_are_refused():
    with pytest.raises(RhythmError, match="do not ascend"):
        phases(steps_of([[0], [1]], [[1], [2]]), np.array([1.0, 0.5]))


@pytest.mark.filterwarnings("error")
def test_a_clock_that_jumps_back_leaves_the_phase_uncertain():
    end = np.array([[9.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    found = phases(steps_of(end - 0.5, end, clock_uncertainty_s=[0.1, 0.1]))
    assert np.isnan(found.phase_uncertainty.values[0]) and np.isfinite(found.phase_uncertainty.values[1])
