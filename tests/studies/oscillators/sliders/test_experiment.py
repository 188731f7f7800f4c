# SPDX-License-Identifier: BSD-3-Clause
"""What the sliders of the interactive page make of a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("bokeh", reason="bokeh is not installed")

import perfield
from perfield.studies.oscillators.model import ModelError
from perfield.studies.oscillators.model.presets import PRESETS
from perfield.studies.oscillators.sliders.experiment import bases, experiment, phases_of, settings_of
from twins import twin

FIGURE_5 = "Figure 5: resynchronisation, one-directional"


@pytest.fixture
def base():
    """The model of Figure 5."""
    return bases()[FIGURE_5]


@pytest.mark.parametrize("title", [make().title for make in PRESETS.values()])
def test_untouched_sliders_leave_a_preset_as_it_is(title):
    base = bases()[title]
    model, start, times = experiment(base, settings_of(base))
    assert model.topology is base.model.topology
    assert model.potential == base.model.potential
    assert model.coupling == base.model.coupling and model.normalisation == base.model.normalisation
    assert np.array_equal(model.frequency_at(0), base.model.frequency_at(0))
    assert (model.noise is None) == (base.model.noise is None)
    assert np.array_equal(start, base.start)
    assert times[-1] == pytest.approx(base.periods * base.period)


def test_sliders_change_what_they_name(base):
    said = replace(
        settings_of(base),
        topology="ring",
        n=30,
        both=True,
        distance=2,
        potential="piecewise_sine",
        parameters={"sigma": 1.0},
        coupling=2.0,
        normalisation="degree",
        delay=0.1,
        noise="white",
        size=0.3,
        start="delayed",
        which=4,
        late=2.0,
    )
    model, start, _ = experiment(base, said)
    assert model.topology.n == 30 and set(model.topology.degree) == {2}
    assert model.topology.matrix[0, 2] == model.topology.matrix[0, 28] == 1
    assert model.potential.sigma == 1.0
    assert model.coupling == 2.0 * base.model.coupling and model.normalisation == "degree"
    assert model.delay == pytest.approx(0.1 * base.period)
    assert (model.noise.kind, model.noise.size) == ("white", 0.3)
    assert start[4] == pytest.approx(-4 * np.pi) and np.count_nonzero(start) == 1


def test_detuning_spreads_frequencies_by_its_share(base):
    model, _, _ = experiment(base, replace(settings_of(base), detuning=0.1, seed=3))
    ratio = model.frequency_at(0) / base.model.frequency_at(0)
    assert np.abs(ratio - 1).max() <= 0.1 and np.ptp(ratio) > 0.05


def test_half_the_coupling_takes_twice_as_long(base):
    from perfield.studies.rhythm.model import settling_time

    long = replace(settings_of(base), periods=300.0)
    once = settling_time(phases_of(base, long)["phase"])
    half = settling_time(phases_of(base, replace(long, coupling=0.5))["phase"])
    assert half / once == pytest.approx(2.0, rel=0.02)


def test_run_comes_first_with_its_topology_and_frequencies(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=8))
    found = bases(run)
    title, base = next(iter(found.items()))
    assert title == "run run" and FIGURE_5 in found
    assert base.model.topology.n == 4 and base.model.topology.n_edges > 0
    assert len(np.unique(base.model.frequency_at(0))) == 4  # ranks of the twin compute differently
    names = [line.split(" = ")[0] for line in base.about.split("\n")]  # a line for each parameter
    assert names[-6:] == ["t_comp", "t_comm", "omega", "beta", "kappa", "v_p"]
    assert base.start.max() == 0 and len(base.start) == 4


def test_run_without_messages_is_refused_in_a_sentence(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=4, change_step=twin.without_calls)
    with pytest.raises(ModelError, match="message"):
        bases(perfield.open(path))


def test_frequencies_around_zero_have_the_period_of_their_median_size():
    base = bases()["Kuramoto, K = 3"]
    assert base.period == pytest.approx(2 * np.pi, rel=0.01)  # half of a Lorentz distribution lies within 1
    assert base.periods == pytest.approx(40 / (2 * np.pi), rel=0.01)
