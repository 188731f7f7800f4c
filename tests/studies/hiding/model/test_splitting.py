# SPDX-License-Identifier: BSD-3-Clause
"""Algorithm 3 as repaired: which wait moves alpha where, how far, and where it stops."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.studies.hiding.model import HidingError, Splitting

N = 1000


def moved(alpha: float, w_in: float, w_out: float, of: Splitting) -> float:
    return float(of.update(np.array([alpha]), np.array([w_in]), np.array([w_out]), N)[0])


def test_wait_for_input_makes_the_first_part_longer_and_for_output_shorter():
    of = Splitting(eps=1.0, theta=1.0, cap=None)
    assert moved(0.5, 3.0, 0.0, of) == pytest.approx(0.75)  # r = 3
    assert moved(0.5, 0.0, 3.0, of) == pytest.approx(0.25)  # r = 1/3


def test_alpha_stays_where_no_wait_or_both_exceed_eps():
    of = Splitting(eps=1.0, theta=1.0)
    assert moved(0.3, 0.9, 0.9, of) == 0.3
    assert moved(0.3, 5.0, 9.0, of) == 0.3


def test_cap_bounds_one_update():
    # Without a cap a wait of 30 eps takes alpha from 1/2 to 1/31.
    assert moved(0.5, 0.0, 30.0, Splitting(1.0, theta=1.0, cap=None)) == pytest.approx(1 / 31)
    assert moved(0.5, 0.0, 30.0, Splitting(1.0, theta=1.0, cap=2.0)) == pytest.approx(1 / 3)
    assert moved(0.5, 30.0, 0.0, Splitting(1.0, theta=1.0, cap=2.0)) == pytest.approx(2 / 3)


def test_theta_is_the_share_of_the_way():
    assert moved(0.5, 3.0, 0.0, Splitting(1.0, theta=0.1, cap=None)) == pytest.approx(0.525)


@pytest.mark.parametrize(("waits", "end"), [((0.0, 1e6), 0.02), ((1e6, 0.0), 0.98)])
def test_alpha_comes_back_from_its_ends(waits, end):
    of = Splitting(eps=1.0, theta=1.0, cap=None)
    assert moved(0.5, *waits, of) == pytest.approx(end)
    assert abs(moved(end, *waits[::-1], Splitting(1.0, theta=1.0)) - 0.5) < abs(end - 0.5)


def test_one_element_stays_in_each_part_of_few():
    assert Splitting(1.0).ends(10) == (0.1, 0.9)
    assert Splitting(1.0).ends(10_000) == (0.02, 0.98)
    assert Splitting(1.0).ends(1) == (0.5, 0.5)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_alpha_that_starts_at_an_end_is_refused(alpha):
    with pytest.raises(HidingError, match=rf"alpha starts at {alpha:g}.*above 0 and below 1"):
        Splitting(1.0, start=alpha)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"eps": 0.0}, "eps = 0 s divides waits"),
        ({"eps": 1.0, "theta": 0.0}, "theta = 0 is not a share"),
        ({"eps": 1.0, "theta": 1.5}, "theta = 1.5 is not a share"),
        ({"eps": 1.0, "cap": 1.0}, "a cap of 1 lets nothing move"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(given, text):
    with pytest.raises(HidingError, match=text):
        Splitting(**given)


def test_update_leaves_its_input_unchanged():
    alpha, w_in, w_out = np.array([0.5]), np.array([3.0]), np.array([0.0])
    Splitting(1.0).update(alpha, w_in, w_out, N)
    assert (alpha[0], w_in[0], w_out[0]) == (0.5, 3.0, 0.0)
