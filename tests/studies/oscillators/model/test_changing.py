# SPDX-License-Identifier: BSD-3-Clause
"""Parameters that change with the stages of a program, and ranks that stop."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.studies.oscillators.model import Model, ModelError, Stages, Stop, oscillate
from perfield.studies.oscillators.model.potentials import Sine, Tanh
from perfield.studies.oscillators.model.topologies import by_send

PAIR = by_send(2, (1, -1))


def test_stages_hold_until_the_next_one_starts():
    stages = Stages([1.0, 3.0], [10.0, 20.0])
    assert [stages(time) for time in (0.0, 1.0, 2.9, 3.0, 99.0)] == [10, 10, 10, 20, 20]
    assert stages.changes(0.0, 3.0).tolist() == [1.0]


def test_stages_with_a_period_repeat():
    stages = Stages([0.0, 0.8], [1.0, 5.0], period=1.0)
    assert [stages(time) for time in (0.0, 0.7, 0.9, 12.5, 12.85)] == [1, 1, 5, 1, 5]
    assert stages.changes(0.0, 2.0) == pytest.approx([0.8, 1.0, 1.8])


def test_each_stage_of_the_program_has_its_own_frequency_coupling_and_weights():
    times = np.array([0.0, 1.0, 2.0, 3.0])
    frequency = Stages([0.0, 1.0, 2.0], [[1.0, 1.0], [2.0, 0.0], [3.0, 3.0]])
    found = oscillate(Model(PAIR, Sine(), frequency, coupling=0.0), np.zeros(2), times).phase.values
    assert found == pytest.approx(np.array([[0, 1, 3, 6], [0, 1, 1, 4]]), abs=1e-9)
    # sin coupling of both: tan(x / 2) falls as exp(-2 c t) while they are coupled, and does not change else
    fallen = np.tan(1.0) * np.exp(-2 * np.array([0.0, 0.0, 1.0, 1.0]))
    for changes in ({"coupling": Stages([0, 1, 2], [0, 2, 0])}, {"weight": Stages([0, 1, 2], [0, 1, 0])}):
        model = Model(PAIR, Sine(), **{"coupling": 2.0, **changes})
        phase = oscillate(model, np.array([0.0, 2.0]), times).phase
        assert (phase[1] - phase[0]).values == pytest.approx(2 * np.arctan(fallen), abs=1e-7)


def test_a_function_of_time_changes_the_frequency_smoothly():
    model = Model(PAIR, Sine(), lambda time: 1.0 + np.cos(time), coupling=0.0)
    times = np.linspace(0, 5, 11)
    found = oscillate(model, np.zeros(2), times).phase.values
    assert found[0] == pytest.approx(times + np.sin(times), abs=1e-7)


def test_a_rank_that_stops_for_three_steps_is_three_steps_late():
    chain = Model(by_send(4, (1,)), Tanh(), coupling=1e-12, stops=(Stop(2, 1.5, 3),))
    found = oscillate(chain, np.zeros(4), np.array([0.0, 1.5, 3.0, 4.5, 10.0])).phase.values / (2 * np.pi)
    assert found[0] == pytest.approx([0, 1.5, 3.0, 4.5, 10.0])
    assert found[2] == pytest.approx([0, 1.5, 1.5, 1.5, 7.0])


def test_a_stop_reaches_its_followers_only():
    chain = Model(by_send(5, (1,)), Tanh(5.0), coupling=10.0, stops=(Stop(2, 2.0, 1),))
    late = oscillate(chain, np.zeros(5), np.array([0.0, 60.0])).phase.values[:, -1] / (2 * np.pi) - 60
    assert late[:2] == pytest.approx([0, 0], abs=1e-7)
    # whoever follows is late with the stopped rank, which its own sender pulls back to 0 in the end
    halfway = oscillate(chain, np.zeros(5), np.array([0.0, 3.2])).phase.values[:, -1] / (2 * np.pi) - 3.2
    assert (halfway[2:] < -0.1).all()


def test_stages_and_stops_that_make_no_sense_are_refused():
    with pytest.raises(ModelError, match="2 starts but values of shape"):
        Stages([0.0, 1.0], [1.0])
    with pytest.raises(ModelError, match="finite and ascending"):
        Stages([1.0, 0.0], [1.0, 2.0])
    with pytest.raises(ModelError, match="outside their period"):
        Stages([0.0, 2.0], [1.0, 2.0], period=1.0)
    with pytest.raises(ModelError, match="a number of steps above 0"):
        Stop(0, 1.0, 0)
    with pytest.raises(ModelError, match="its frequency is 0, so its steps have no length"):
        oscillate(Model(PAIR, Sine(), 0.0, stops=(Stop(1, 1.0, 1),)), np.zeros(2), np.array([0.0, 2.0]))
    with pytest.raises(ModelError, match="oscillator 7 is to stop, but there are only 0 to 1"):
        Model(PAIR, Sine(), stops=(Stop(7, 1.0, 1),))
