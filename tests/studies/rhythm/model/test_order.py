# SPDX-License-Identifier: BSD-3-Clause
"""Order parameter, mean phase and their rate, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.planted_phases import TURN, phases_of

from perfield.studies.rhythm.model import (
    RhythmError,
    mean_phase,
    order_parameter,
    order_parameter_rate,
    spread,
)


def test_evenly_spaced_ranks_have_no_order():
    assert float(order_parameter(phases_of(np.arange(18) / 18))) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("gap", [0.01, 0.1, 1 / 3])
def test_order_of_a_wavefront_is_that_of_a_geometric_sum(gap):
    # closed form: |sin(P x / 2) / (P sin(x / 2))| with x the gap in rad
    expected = abs(np.sin(18 * np.pi * gap) / (18 * np.sin(np.pi * gap)))
    assert float(order_parameter(phases_of(gap * np.arange(18)))) == pytest.approx(expected, abs=1e-14)


def test_ranks_one_step_apart_look_synchronous_to_r_but_not_to_the_spread():
    apart = phases_of(np.arange(18.0))
    assert float(order_parameter(apart)) == pytest.approx(1, abs=1e-12)
    assert float(spread(apart)) == pytest.approx(17)


def test_mean_phase_is_the_angle_of_the_mean_vector():
    found = mean_phase(phases_of([[0.2, 1.9], [0.3, 3.1], [0.25, 2.0]]))
    assert found.values / TURN == pytest.approx([0.25, 0.0], abs=1e-12)


def test_ranks_without_a_phase_do_not_count():
    found = order_parameter(phases_of([[0.1, np.nan], [0.35, np.nan], [np.nan, np.nan]]))
    assert found.values[0] == pytest.approx(np.sqrt(0.5))
    assert np.isnan(found.values[1])


def test_rate_of_two_drifting_ranks_is_a_sine():
    # closed form: R = |cos(x / 2)| for two ranks x apart; x = 0.2 t
    times = np.linspace(1, 12, 1101)
    found = order_parameter_rate(phases_of(np.stack([0 * times, 0.2 * times / TURN]), times))
    assert found.values[1:-1] == pytest.approx(-0.1 * np.sin(0.1 * times[1:-1]), abs=1e-6)
    assert found.attrs["units"] == "1/s"


def test_rate_is_unknown_of_one_instant_and_beside_unknown_ones():
    assert np.isnan(order_parameter_rate(phases_of([[0.1], [0.2]])).values).all()
    periods = np.zeros((2, 7))
    periods[:, 3] = np.nan
    known = np.isfinite(order_parameter_rate(phases_of(periods)).values)
    assert known.tolist() == [True, True, False, True, False, True, True]


def test_one_instant_gives_one_number_and_keeps_its_time():
    series = phases_of([[0.0, 0.1], [0.5, 0.1]], np.array([3.0, 4.0]))
    found = order_parameter(series.isel(time=1))
    assert found.shape == ()
    assert float(found) == pytest.approx(1)
    assert float(found.time) == 4


def test_dimensions_may_be_in_any_order():
    series = phases_of(np.random.default_rng(1).random((5, 9)))
    assert order_parameter(series.transpose("time", "oscillator")).equals(order_parameter(series))


def test_other_dimensions_are_refused_by_name():
    with pytest.raises(RhythmError, match=r"dimensions \(rank, time\); expected \(oscillator, time\)"):
        order_parameter(phases_of(np.zeros((2, 2))).rename(oscillator="rank"))


def test_no_rank_and_no_instant_are_refused():
    with pytest.raises(RhythmError, match="0 oscillators at 1 instants; expected at least one of each"):
        order_parameter(phases_of([]))
    with pytest.raises(RhythmError, match="2 oscillators at 0 instants"):
        spread(phases_of(np.zeros((2, 0))))


def test_one_rank_is_in_order_with_itself():
    assert float(order_parameter(phases_of([0.3]))) == pytest.approx(1)
    assert float(spread(phases_of([0.3]))) == 0
