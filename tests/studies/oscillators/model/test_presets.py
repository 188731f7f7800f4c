# SPDX-License-Identifier: BSD-3-Clause
"""Presets of the paper's figures, against the numbers of the reference runs."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.studies.oscillators.model import ModelError
from perfield.studies.oscillators.model.presets import PRESETS, figure_8, kuramoto, matlab_units, preset
from perfield.studies.rhythm.model import order_parameter

# R, V(t) (eq. 14) and the greatest phase gradient (eq. 10): SciPy's DOP853 and RK45 at rtol 1e-8
FIGURES = {
    ("figure_5", 20): (0.879033, 10.215133, 3.601278),
    ("figure_5", 50): (0.805956, 14.248384, None),
    ("figure_5", 100): (0.945986, 8.664605, None),
    ("figure_5", 150): (1.0, 0.0, None),
    ("figure_6", 20): (0.899380, 8.604337, None),
    ("figure_6", 50): (0.997195, 1.893182, None),
    ("figure_6", 100): (0.999993, 0.004685, None),
    ("figure_9", 20): (0.887065, None, None),
    ("figure_9", 100): (0.354663, 0.599957, None),
    ("figure_9", 1000): (0.419435, 0.0, 2 * np.pi / 3),
}


@pytest.fixture(scope="module")
def results():
    return {name: (preset(name), preset(name).run()) for name in ("figure_5", "figure_6", "figure_9")}


@pytest.mark.parametrize("case", FIGURES, ids=str)
def test_figures_have_the_numbers_of_the_reference(results, case):
    of, found = results[case[0]]
    now = found.phase.sel(time=case[1])
    apart = now.values[found.sender] - now.values[found.receiver]
    order, energy, gradient = FIGURES[case]
    assert float(order_parameter(found.phase).sel(time=case[1])) == pytest.approx(order, abs=1e-4)
    if energy is not None:
        assert (of.model.potential(apart) ** 2).sum() == pytest.approx(energy, rel=1e-3, abs=1e-6)
    if gradient is not None:
        assert np.bincount(found.receiver, np.abs(apart)).max() == pytest.approx(gradient, abs=1e-4)


def test_order_falls_before_it_rises_in_figure_5(results):
    order = order_parameter(results["figure_5"][1].phase)
    assert float(order[0]) == pytest.approx(0.946077, abs=1e-6)
    assert float(order.min()) == pytest.approx(0.806, abs=1e-3)


def test_figure_9_ends_locked_as_a_zigzag(results):
    phase = results["figure_9"][1].phase
    gaps = np.diff(phase.values[:, -1])
    assert np.abs(gaps) == pytest.approx(np.full(17, 2 * np.pi / 3), abs=1e-6)
    # each pair but the first returns: (2 g, g, 0, g, 0, ...)
    assert (np.sign(gaps[2:]) == -np.sign(gaps[1:-1])).all()
    step = phase[:, -1] - phase[:, -2]
    assert step.values == pytest.approx(np.full(18, 2 * np.pi), abs=1e-8)  # one period per second: no drift


def test_the_wavefront_preset_ends_as_a_wavefront():
    end = preset("wavefront").run().phase[:, -1]
    assert np.diff(end.values) == pytest.approx(np.full(17, 2 / 3), abs=1e-4)
    order = np.sin(18 / 3) / (18 * np.sin(1 / 3))  # of evenly spaced phases
    assert float(order_parameter(end)) == pytest.approx(abs(order), abs=1e-3)


def test_the_mexican_hat_preset_leaves_its_hill():
    end = preset("mexican_hat").run().phase[:, -1]
    assert np.abs(np.diff(end.values)) == pytest.approx(np.full(17, 2 * np.pi / 3), abs=1e-3)


def test_matlab_units_change_the_frequency_only():
    of = matlab_units(preset("figure_5").model)
    assert of.frequency == 1.0
    assert of.edge_strength == pytest.approx(np.full(17, 1 / 18))
    assert figure_8(0.1).model.noise.size == 0.1


def test_presets_have_names_and_say_what_was_chosen():
    for name in PRESETS:
        if name != "kuramoto":
            assert preset(name).title and preset(name).about.endswith(".")
    small = kuramoto(3.0, n=10)
    assert small.run(seed=3).attrs["title"] == "Kuramoto, K = 3"
    with pytest.raises(ModelError, match="'figure_3' is unknown; choose one of figure_5, figure_6"):
        preset("figure_3")
