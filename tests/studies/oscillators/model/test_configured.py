# SPDX-License-Identifier: BSD-3-Clause
"""Models from tables, tables from models, and what is wrong with tables."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.studies.oscillators.model import Model, ModelError, Noise, RandomDelay, Stages, Stop, oscillate
from perfield.studies.oscillators.model.configured import (
    Experiment,
    experiment,
    merged,
    tables_of,
    tables_of_result,
    with_preset,
)
from perfield.studies.oscillators.model.initial import disordered, perturbed
from perfield.studies.oscillators.model.potentials import Custom, Fourier, PerEdge, Sine, Tanh
from perfield.studies.oscillators.model.presets import PRESETS
from perfield.studies.oscillators.model.topologies import by_receive, chain, mesh, random_graph

SMALL = {
    "topology": {"kind": "chain", "ranks": 4},
    "potential": {"name": "tanh", "steepness": 5},
    "initial": {"kind": "perturbed"},
    "times": {"end_s": 2.0, "count": 5},
}


def small(**changes):
    return merged(SMALL, changes)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_survive_as_tables(name):
    of = PRESETS[name]()
    tables = tables_of(Experiment(of.model, of.initial, of.times, title=of.title))
    found = experiment(tables)
    assert found.model.parameters() == of.model.parameters()
    for edge in ("receiver", "sender", "weight"):
        np.testing.assert_array_equal(getattr(found.model.topology, edge), getattr(of.model.topology, edge))
    np.testing.assert_array_equal(found.initial, of.initial)
    np.testing.assert_array_equal(found.times, of.times)
    assert tables == with_preset({"preset": name.replace("_", "-")})


def test_short_tables_stand_for_named_topologies_and_starts():
    found = tables_of(Experiment(Model(chain(9, bidirectional=True), Tanh()), perturbed(9), np.arange(3.0)))
    assert found["topology"] == {"kind": "chain", "ranks": 9, "bidirectional": True}
    assert found["initial"] == {"kind": "perturbed", "value": 1.5 * np.pi, "first": 1}
    assert found["times"] == {"start_s": 0.0, "end_s": 2.0, "count": 3}


N = 6
MODELS = {
    "stages": {
        "frequency": Stages([0.0, 0.5], [6.0, 5.0], period=1.0),
        "coupling": Stages([0.0, 0.7], [2.0, 0.5]),
        "stops": (Stop(2, 0.3, 0.5),),
    },
    "random delays": {"delay": RandomDelay(0.0, 0.05), "compensate": True, "normalisation": "degree"},
    "delays of edges": {"delay": 0.01 * np.arange(2 * N)},
    "noise": {"noise": Noise("ornstein_uhlenbeck", 0.1, hold=0.2, until=0.8), "weight": np.arange(2.0 * N)},
    "frequencies": {"frequency": 2 * np.pi * np.linspace(0.9, 1.1, N), "normalisation": "none"},
}


@pytest.mark.parametrize("which", MODELS)
def test_a_result_can_be_repeated(which):
    model = Model(by_receive(N, (1, -1), periodic=True), Fourier(0.4, 0.1, 3), **MODELS[which])
    first = oscillate(model, disordered(N, seed=4), np.array([0.0, 0.1, 0.7, 1.2]), seed=11, rtol=1e-7)
    again = experiment(tables_of_result(first)).run()
    np.testing.assert_array_equal(again.phase.values, first.phase.values)
    assert again.attrs["parameters"] == first.attrs["parameters"] and again.seed == 11


def test_a_result_with_weights_and_a_potential_per_edge_can_be_repeated():
    of = random_graph(8, 0.4, seed=1)
    of = of.weighted(1.0 + 0.1 * np.arange(of.n_edges))
    model = Model(of, PerEdge((Tanh(3.0), Sine()), np.arange(of.n_edges) % 2))
    first = oscillate(model, disordered(8), np.linspace(0, 1, 3))
    np.testing.assert_array_equal(experiment(tables_of_result(first)).run().phase.values, first.phase.values)


def test_functions_cannot_be_kept():
    for more in ({"potential": Custom(np.sin)}, {"frequency": np.cos}):
        model = Model(chain(3), **{"potential": Sine(), **more})
        with pytest.raises(ModelError, match=r"is the function .*, which no file can hold"):
            tables_of_result(oscillate(model, np.zeros(3), np.array([0.0, 0.1])))


def test_program_and_coupling_follow_the_formulas():
    # omega = 2 pi / (t_comp + t_comm), v_p = beta kappa / (t_comp + t_comm) (eq. 2)
    found = experiment(small(program={"t_comp": 0.4, "t_comm": 0.1}, coupling={"beta": 2, "kappa": 3})).model
    assert found.frequency == pytest.approx(4 * np.pi)
    assert found.coupling == pytest.approx(12.0)


def test_each_rank_may_have_its_own_time():
    found = experiment(small(program={"t_comp": [0.5, 1.0, 2.0, 4.0]})).model
    np.testing.assert_allclose(found.frequency, 2 * np.pi / np.array([0.5, 1, 2, 4]))


def test_width_spreads_frequencies_symmetrically():
    found = experiment(small(program={"frequency": 5.0, "width": 0.5})).model.frequency
    # Quantiles of a Lorentz distribution: at 3/8 and 1/8 from the middle, tan(pi / 8) and tan(3 pi / 8).
    np.testing.assert_allclose(found - 5, 0.5 * np.tan(np.pi * np.array([-3, -1, 1, 3]) / 8))


def test_a_mesh_has_its_shape():
    found = experiment(
        {**SMALL, "topology": {"kind": "mesh", "shape": [2, 3], "periodic": [False, True]}}
    ).model.topology
    np.testing.assert_array_equal(found.receiver, mesh((2, 3), periodic=(False, True)).receiver)


def test_a_new_kind_drops_the_keys_of_the_old_one():
    over = {"topology": {"kind": "all_to_all"}, "potential": {"name": "sine"}}
    found = merged(small(topology={"kind": "chain", "ranks": 4, "distance": 2}), over)
    assert found["topology"] == {"kind": "all_to_all", "ranks": 4}
    assert found["potential"] == {"name": "sine"}


def test_a_key_drops_those_that_it_excludes():
    found = merged(
        with_preset({"preset": "figure-5"}), {"coupling": {"beta": 2}, "times": {"values": [0, 1]}}
    )
    assert found["coupling"] == {"normalisation": "ranks", "beta": 2}
    assert found["times"] == {"values": [0, 1]}


def test_a_changed_preset_says_so():
    assert with_preset({"preset": "figure_9", "seed": 3})["title"].endswith("bottlenecked")
    changed = with_preset({"preset": "figure_9", "potential": {"sigma": 1.0}})
    assert changed["title"].endswith("bottlenecked, changed") and changed["potential"]["sigma"] == 1.0


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"topolgy": {}}, "'topolgy' is unknown; did you mean topology?"),
        ({"potential": {"steepnes": 3}}, "'potential.steepnes' is unknown; did you mean steepness?"),
        ({"potential": {"name": "tanhh"}}, "potential.name = 'tanhh' is unknown; did you mean tanh?"),
        (
            {"potential": {"name": "xyz"}},
            "'xyz' is unknown; expected one of sine, tanh, piecewise_sine, fourier",
        ),
        ({"potential": {"name": "sine", "sigma": 1.0}}, "the potential 'sine' has no parameter 'sigma'"),
        ({"potential": {"name": "piecewise_sine", "sigma": -1.0}}, "sigma = -1 makes no potential"),
        ({"topology": {"kind": "chian"}}, "topology.kind = 'chian' is unknown; did you mean chain?"),
        ({"topology": {"kind": "by_send"}}, "topology.offsets is missing, which the kind 'by_send' needs"),
        ({"topology": {"shape": [2, 2]}}, "topology.shape means nothing to the kind 'chain', which takes"),
        ({"topology": {"ranks": 1}}, "a topology needs 2 ranks or more to couple, but n = 1"),
        ({"topology": {"ranks": 4.0}}, "topology.ranks = 4.0 does not fit; expected a whole number."),
        ({"initial": {"kind": "delayed"}}, "initial.periods is missing, which the kind 'delayed' needs"),
        ({"initial": {"kind": "phases", "values": [1.0]}}, "initial phases have the shape (1,)"),
        ({"noise": {"kind": "witte"}}, "noise.kind = 'witte' is unknown; did you mean white?"),
        ({"delay": {"time_s": 0.1, "most": 0.2}}, "delay.time_s and delay.most exclude one another"),
        ({"delay": {"time_s": -0.1}}, "delay = -0.1 s would let a rank see the future"),
        ({"delay": {"most": 0.2}}, "delay.least is missing"),
        ({"stops": [{"rank": 1}]}, "a stop lacks 'start_s'; give it."),
        ({"times": {"end_s": -1.0}}, "times from 0 to -1 s in 5 instants make no axis"),
        ({"coupling": {"v_p": {"starts": [0.0]}}}, "stages have the keys starts; give starts and values"),
        ({"coupling": {"normalisation": "rank"}}, "normalisation = 'rank' is unknown; expected one of ranks"),
        (
            {"program": {"frequency": "fast"}},
            "program.frequency = 'fast' does not fit; expected a number, a list",
        ),
        ({"stops": [3]}, "'stops' is a list of tables; write [[stops]] and its keys below."),
        ({"solver": 3}, "'solver' is a table; write [solver] and its keys below"),
        ({"preset": "figure-55"}, "preset = 'figure-55' is unknown; did you mean figure_5"),
    ],
)
def test_wrong_tables_are_reported_with_a_remedy(changes, sentence):
    with pytest.raises(ModelError) as raised:
        experiment(merged(SMALL, changes)).run()
    assert sentence in str(raised.value)


def test_all_mistakes_are_reported_at_once():
    with pytest.raises(ModelError) as raised:
        experiment(
            {
                "topology": {"kind": "chain", "rank": 3},
                "coupilng": {},
                "potential": {"name": "tanhh"},
                "times": {"end_s": "late"},
            }
        )
    out = str(raised.value).splitlines()
    assert len(out) == 5  # two unknown names, an unknown potential, a wrong type, a missing table
    assert any("'tanhh' is unknown" in line for line in out)
