# SPDX-License-Identifier: BSD-3-Clause
"""The model: its coupling, its parameters, and what it refuses or remarks."""

from __future__ import annotations

import json

import numpy as np
import pytest

from perfield.studies.oscillators.model import Model, ModelError, Noise, RandomDelay, Stages, Stop, oscillate
from perfield.studies.oscillators.model.model import (
    coupling_strength,
    distance_factor,
    natural_frequency,
    protocol_factor,
)
from perfield.studies.oscillators.model.potentials import PerEdge, Sine, Tanh
from perfield.studies.oscillators.model.topologies import by_send
from perfield.studies.rhythm.model.topology import topology

CHAIN = by_send(4, (1, -1))


def test_coupling_is_divided_as_the_normalisation_says():
    weighted = topology(3, [0, 1, 1], [1, 0, 2], [1.0, 2.0, 3.0])
    expected = {"ranks": [2, 4, 6], "degree": [6, 6, 9], "none": [6, 12, 18]}
    for normalisation, strength in expected.items():
        model = Model(weighted, Sine(), coupling=6.0, normalisation=normalisation)
        assert model.edge_strength == pytest.approx(strength)
    with pytest.raises(ModelError, match="'mean' is unknown; expected one of ranks, degree, none"):
        Model(weighted, Sine(), normalisation="mean")


def test_strength_and_frequency_are_known_at_any_time():
    model = Model(CHAIN, Sine(), Stages([0, 5], [1.0, 2.0]), Stages([0, 5], [4.0, 8.0]))
    assert model.frequency_at(6.0).tolist() == [2, 2, 2, 2]
    assert model.edge_strength_at(6.0) == pytest.approx(np.full(6, 2.0))
    assert model.edge_strength == pytest.approx(np.ones(6))


def test_coupling_follows_from_protocol_distances_and_times():
    assert natural_frequency(0.75, 0.25) == pytest.approx(2 * np.pi)
    assert protocol_factor(rendezvous=True, bidirectional=True) == 2
    assert protocol_factor(rendezvous=True, bidirectional=False) == 1
    assert protocol_factor(rendezvous=False, bidirectional=True) == 1
    assert distance_factor([1, -1, -2], one_waitall=True) == 2
    assert distance_factor([1, -1, -2], one_waitall=False) == 4
    assert coupling_strength(2, 4, 0.3, 0.1) == pytest.approx(20)  # v_p = beta kappa / (t_comp + t_comm)


def test_times_that_make_no_step_are_refused():
    with pytest.raises(ModelError, match="make no step"):
        natural_frequency(0.0, 0.0)
    with pytest.raises(ModelError, match="make no step"):
        coupling_strength(1, 1, -1.0, 2.0)
    with pytest.raises(ModelError, match="at least one partner"):
        distance_factor([], one_waitall=True)
    with pytest.raises(ModelError, match="give no coupling"):
        coupling_strength(0, 1, 1.0, 0.0)


def test_isolated_oscillators_are_allowed_and_named():
    model = Model(topology(5, [1], [0]), Sine(), np.arange(5.0))
    found = oscillate(model, np.zeros(5), np.array([0.0, 2.0]))
    assert "no edge begins or ends at ranks 2, 3 and 4 (of 5)" in found.attrs["remarks"]
    assert found.phase.values[2:, -1] == pytest.approx([4, 6, 8])
    assert "remarks" not in oscillate(Model(CHAIN, Sine()), np.zeros(4), np.array([0.0, 1.0])).attrs


def test_parameters_of_a_wrong_shape_or_value_are_refused():
    with pytest.raises(
        ModelError, match=r"frequency has the shape \(3,\); give one number, or one for each of 4"
    ):
        Model(CHAIN, Sine(), np.ones(3))
    with pytest.raises(ModelError, match=r"weight has the shape \(4,\).* each of 6 edges"):
        Model(CHAIN, Sine(), weight=Stages([0], np.ones((1, 4))))
    with pytest.raises(ModelError, match="coupling has a value that is not a finite number"):
        Model(CHAIN, Sine(), coupling=np.nan)
    with pytest.raises(ModelError, match="choice for 2 edges, but the topology has 6"):
        Model(CHAIN, PerEdge((Sine(),), np.zeros(2, int)))


def test_a_result_keeps_all_parameters_as_json():
    model = Model(
        CHAIN,
        Tanh(3.0),
        np.arange(4.0) + 1,
        Stages([0, 2], [1.0, 2.0]),
        noise=Noise("white", 0.1),
        delay=RandomDelay(0.1, 0.2),
        stops=(Stop(np.int64(2), 0.5, 1),),
    )
    found = oscillate(model, np.zeros(4), np.array([0.0, 0.3]), seed=7)
    kept = json.loads(found.attrs["parameters"])
    assert found.attrs["seed"] == 7
    assert kept["potential"] == {"name": "tanh", "steepness": 3.0}
    assert kept["frequency"] == [1, 2, 3, 4]
    assert kept["coupling"] == {"starts": [0, 2], "values": [1, 2]}
    assert kept["noise"] == {"kind": "white", "size": 0.1, "hold": 0.1, "until": None, "correlation": 1.0}
    assert kept["delay"] == {"least": 0.1, "most": 0.2, "hold": 0.1}
    assert kept["stops"] == [{"oscillator": 2, "start": 0.5, "steps": 1}]
    assert kept["rtol"] == 1e-8
