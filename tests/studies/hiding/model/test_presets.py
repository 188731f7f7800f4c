# SPDX-License-Identifier: BSD-3-Clause
"""The presets: the reference's table of shares and gains, and controls that must gain nothing."""

from __future__ import annotations

import pytest

from perfield.studies.hiding.model import (
    DYNAMIC,
    FIXED,
    TEST,
    Congestion,
    Drawn,
    HidingError,
    Latency,
    Program,
    Splitting,
    gain,
    hidden_share,
    simulate,
)
from perfield.studies.hiding.model.presets import PRESETS, preset

N = 2048
# Of the reference's discrete-event prototype, whose latencies are known only in part: hidden shares of fixed,
# dynamic and test, and the gain of dynamic on the fastest half, in percent.
REFERENCE = {
    "often-congested": ((0.39, 0.75, 0.77), 6.2),
    "seldom-congested": ((0.43, 0.84, 0.86), 6.1),
    "shorter-output": ((0.66, 0.77, 0.77), 5.3),
    "theta-30": ((0.39, 0.74, 0.77), 5.7),
}
LOSING = ("theta-30-no-cap", "theta-100-no-cap")
CONTROLS = ("all-hidden", "none-hideable", "no-latency")


@pytest.fixture(scope="module")
def results():
    """Times of all presets."""
    return {name: of.run(N, seed=0) for name, of in PRESETS.items()}


def gains(found, share):
    series = found["time_s"].max("rank")
    fixed, *others = (series.sel(splitting=one).values for one in (FIXED, DYNAMIC, TEST))
    return [gain(fixed, other, share) for other in others]


def shares(found):
    return [hidden_share(found.sel(splitting=one)) for one in (FIXED, DYNAMIC, TEST)]


@pytest.mark.parametrize("name", REFERENCE)
def test_hidden_share_rises_from_fixed_to_dynamic_to_test(results, name):
    fixed, dynamic, test = shares(results[name])
    assert fixed < dynamic < test
    assert [fixed, dynamic, test] == pytest.approx(REFERENCE[name][0], abs=0.05)


@pytest.mark.parametrize("name", REFERENCE)
def test_fast_half_gains_3_to_10_percent(results, name):
    dynamic, test = gains(results[name], 0.5)
    assert dynamic == pytest.approx(REFERENCE[name][1], abs=2.0)
    assert 3 < dynamic < 10.5 and 3 < test < 10.5  # the reference gets 10.2 for test
    assert 0 < gains(results[name], 1.0)[0] < dynamic


@pytest.mark.parametrize("name", LOSING)
def test_update_without_a_cap_loses_at_large_theta(results, name):
    found = results[name]
    assert gains(found, 0.5)[0] < -0.5 and gains(found, 1.0)[0] < -0.5
    assert shares(found)[1] < 0.7


@pytest.mark.parametrize("name", CONTROLS)
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_controls_gain_nothing(results, name, share):
    assert gains(results[name], share) == pytest.approx([0, 0], abs=2)


@pytest.mark.parametrize(("owner", "loses"), [("upper", True), ("both", False)])
def test_dynamic_alpha_loses_where_a_rank_only_receives_input(owner, loses):
    # Nothing moves its alpha back. Measured on two ranks of the solver: -15 %, studies/hiding/README.md.
    latency = Latency(40e-6, 0.1)
    congested = Drawn(latency, latency, Congestion(0.05, 0.3, factor=10, sigma=0.3))
    pair = Program(congested, 0.18e-3, Splitting(9e-6, theta=0.1), 5e-6, (2, 1, 1), owner=owner)
    found = simulate(pair, 1500, methods=[FIXED, DYNAMIC])
    fixed, dynamic = found["time_s"].max("rank").values
    assert (gain(fixed, dynamic, 0.5) < -8) == loses
    assert (found["alpha"].sel(splitting=DYNAMIC, rank=0).mean() > 0.9) == loses


def test_every_preset_is_evaluated():
    assert {*REFERENCE, *LOSING, *CONTROLS} == set(PRESETS)


def test_error_of_an_unknown_preset_names_the_known_ones():
    with pytest.raises(HidingError, match="'figure' is unknown; choose one of often-congested, "):
        preset("figure")
