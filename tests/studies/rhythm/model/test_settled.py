# SPDX-License-Identifier: BSD-3-Clause
"""Since when ranks are in their last state, and warnings when R falls."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.planted_phases import TURN, phases_of

from perfield.studies.oscillators.model import Model, oscillate
from perfield.studies.oscillators.model.potentials import PiecewiseSine, Tanh
from perfield.studies.oscillators.model.topologies import by_send
from perfield.studies.rhythm.model import (
    RhythmError,
    early_warnings,
    losses_of_rhythm,
    order_parameter,
    settled,
    settling_time,
    state,
)

TIMES = np.linspace(0, 100, 1001)


def run_of(periods, noise=0.0, seed=0):
    """Phases of ranks that do a step per second, ahead by `periods` (oscillator, time)."""
    jitter = np.random.default_rng(seed).normal(0, noise, periods.shape)
    return phases_of(TIMES + periods + jitter, TIMES)


def growing(slope, begin, end):
    """A wavefront of 12 ranks whose slope grows from 0 to `slope` between two times."""
    return np.arange(12)[:, None] * slope * np.clip((TIMES - begin) / (end - begin), 0, 1)


@pytest.mark.parametrize("seed", range(10))
def test_wavefront_that_stops_growing_has_settled_then(seed):
    found = settled(state(run_of(growing(-0.2, 20, 60), noise=0.005, seed=seed)))
    assert found.state == "wavefront"
    # its spread of 2.2 steps is within 0.1 of the last one from 20 s + 40 s * (1 - 0.1 / 2.2) on
    assert found.time == pytest.approx(58.2, abs=1.0)
    assert found.words.startswith(
        f"Since {found.time:.3g} s, 12 ranks are a wavefront: each is 0.2 step behind the"
    )


def test_wavefront_that_keeps_growing_has_not_settled():
    found = settled(state(run_of(growing(0.4, 20, 100))))
    assert np.isnan(found.time)
    assert found.words.startswith("The ranks have not settled. At the end, 12 ranks are a wavefront")


def test_change_in_the_last_tenth_is_no_settling():
    periods = np.zeros((12, 1001))
    periods[:6, :920] = -1
    found = settled(state(run_of(periods)))
    assert np.isnan(found.time)
    assert found.words.startswith("The ranks have not settled. At the end, 12 ranks are synchronised")


def test_state_that_comes_and_goes_is_reported_with_its_share_of_the_time():
    periods = np.zeros((12, 1001))
    periods[:6, np.arange(1001) % 10 == 5] = 0.5  # two clusters in a tenth of the time, again and again
    found = settled(state(run_of(periods)))
    assert np.isnan(found.time)
    assert found.words.endswith("They were so for 90 % of the time.")


def test_spread_at_the_end_is_that_of_most_of_the_end_and_not_of_its_last_instant():
    periods = np.zeros((12, 1001))
    periods[6:] = 0.15
    periods[:, 995:] = 0.0  # all in step for a last moment
    assert "the furthest two are 0.15 step apart" in settled(state(run_of(periods))).words


def test_typical_and_largest_spread_since_settling_are_both_named():
    periods = np.zeros((12, 1001))
    periods[6:] = 0.015
    periods[11, 100:120] = 0.25  # a short excursion, which settled ranks may have
    said = settled(state(run_of(periods))).words
    assert said.startswith("From the start, 12 ranks are synchronised")
    assert "typically 0.015 step, at most 0.25 step apart" in said
    periods[11, 960:970] = 0.15  # and one in the last tenth
    periods[:6, np.flatnonzero(np.arange(900) % 10 == 5)] = 0.5
    said = settled(state(run_of(periods))).words
    assert "not settled" in said and "typically 0.015 step, at most 0.15 step apart" in said


def test_ranks_in_step_throughout_have_settled_from_the_start():
    found = settled(state(run_of(np.zeros((12, 1001)), noise=0.01)))
    assert (found.time, found.state) == (0, "synchronised")
    assert found.words.startswith("From the start, 12 ranks are synchronised")


def test_short_disturbances_do_not_delay_settling():
    periods = np.zeros((12, 1001))
    periods[0, :300] = -1
    periods[5, 600:620] = -0.5
    assert settled(state(run_of(periods))).time == pytest.approx(30)


def test_states_of_one_instant_are_refused():
    with pytest.raises(RhythmError, match="states are those of one instant; expected what `state` returns"):
        settled(state(phases_of(np.zeros(4))))


def test_instants_with_few_known_ranks_do_not_count():
    periods = np.zeros((12, 1001))
    periods[:, 900:] = np.nan
    found = settled(state(run_of(periods)))
    assert (found.time, found.state) == (0, "synchronised")
    unknown = settled(state(run_of(np.full((12, 1001), np.nan))))
    assert np.isnan(unknown.time)
    assert unknown.words == "The state is unknown: too few ranks have a phase."


@pytest.mark.parametrize(
    ("pull", "strength", "name"),
    [(Tanh(18.0), 1 / 18, "synchronised"), (PiecewiseSine(np.pi), 1 / 18, "clusters")],
    ids=["tanh", "piecewise"],
)
def test_models_of_the_paper_settle_into_step_and_into_a_zigzag(pull, strength, name):
    model = Model(by_send(18, (1,)), pull, coupling=strength, normalisation="none")
    initial = np.append(1.5 * np.pi, np.zeros(17))
    data = oscillate(model, initial, np.linspace(0, 1000, 501))
    found = settled(state(data.phase, data))
    assert found.state == name
    if name == "synchronised":  # R >= 0.99 at 109.5 periods; the spread is below a fifth of a step before
        assert settling_time(data.phase) == pytest.approx(109.5, abs=0.5)
        assert 80 < found.time < 115


def test_model_that_starts_as_a_wavefront_stays_one():
    # Closed form: gaps of 2 sigma / 3 and R = |sin(P sigma / 3) / (P sin(sigma / 3))|, for sigma = 1 rad.
    model = Model(by_send(18, (1,)), PiecewiseSine(1.0), coupling=1.0)
    data = oscillate(model, 0.349 * np.arange(18), np.linspace(0, 1000, 201))
    states = state(data.phase, data)
    assert settled(states).state == "wavefront"
    assert float(states.slope[-1]) * TURN == pytest.approx(2 / 3, abs=1e-6)
    expected = abs(np.sin(6) / (18 * np.sin(1 / 3)))
    assert float(order_parameter(data.phase)[-1]) == pytest.approx(expected, abs=1e-6)


def test_fall_of_r_names_its_time_and_the_rank_that_fell_behind():
    periods = np.zeros((12, 1001))
    periods[7] = -0.4 * np.clip((TIMES - 40) / 4, 0, 1)
    found = early_warnings(run_of(periods))
    assert found.sizes["warning"] == 1
    assert 40 <= float(found.begin[0]) < 41.5
    assert 43 < float(found.end[0]) <= 44.2
    assert int(found["rank"][0]) == 7
    assert float(found.moved[0]) == pytest.approx(-0.4, abs=0.12)
    assert float(found.before[0]) > 0.99
    assert float(found.after[0]) == pytest.approx(abs(11 + np.exp(-0.4j * TURN)) / 12, abs=0.01)


def test_fall_of_ranks_that_are_steps_apart_is_no_loss_of_rhythm():
    periods = np.zeros((12, 1001))
    periods[7:10] = -0.5 * np.clip((TIMES - 40) / 4, 0, 1)
    assert losses_of_rhythm(run_of(periods)).sizes["warning"] == 1
    periods[:4] -= 1  # which R does not see
    assert early_warnings(run_of(periods)).sizes["warning"] == 1
    assert losses_of_rhythm(run_of(periods)).sizes["warning"] == 0


def test_warning_comes_before_ranks_that_drift_apart_lose_step():
    grow = np.exp((TIMES - 100) / 10)  # e-fold in ten steps
    phase = run_of(np.linspace(-2, 2, 12)[:, None] * grow)
    names = state(phase).state.values
    lost = float(phase.time[np.flatnonzero(names != "synchronised")[0]])
    assert lost - 10 < float(early_warnings(phase).begin[0]) < lost


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
def test_ranks_in_step_give_no_warning(noise):
    phase = run_of(np.zeros((12, 1001)), noise=noise, seed=3)
    assert early_warnings(phase).sizes["warning"] == 0


def test_ranks_that_begin_and_end_one_after_the_other_hide_no_state_and_give_no_warning():
    periods = -1.02 * np.arange(12)[:, None] + np.zeros(1001)  # a wavefront from the first step to the last
    for rank in range(12):
        periods[rank, : 10 * rank] = np.nan
        periods[rank, 1001 - 10 * (11 - rank) :] = np.nan
    phase = run_of(periods)
    found = settled(state(phase))
    assert found.state == "wavefront"
    assert found.time < 12
    assert "12 ranks are a wavefront: each is 1 step behind the one before it" in found.words
    assert early_warnings(phase).sizes["warning"] == 0


def test_unknown_ranks_do_not_disturb_warnings():
    periods = np.zeros((12, 1001))
    periods[7] = -0.4 * np.clip((TIMES - 40) / 4, 0, 1)
    periods[3, 200:] = np.nan
    found = early_warnings(run_of(periods))
    assert found["rank"].values.tolist() == [7]
    assert early_warnings(run_of(np.full((12, 1001), np.nan))).sizes["warning"] == 0
