# SPDX-License-Identifier: BSD-3-Clause
"""The interactive page: what its widgets do, without a browser."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("bokeh", reason="bokeh is not installed")

from bokeh.document import Document

from perfield.studies.oscillators.sliders.experiment import bases, phases_of, settings_of
from perfield.studies.oscillators.sliders.page import Page
from perfield.studies.rhythm.model import order_parameter, spread

FIGURE_5, FIGURE_9 = (
    "Figure 5: resynchronisation, one-directional",
    "Figure 9: desynchronisation, bottlenecked",
)


@pytest.fixture(scope="module")
def known():
    """The paper's models."""
    return bases()


@pytest.fixture
def page(known):
    """A page that shows Figure 5."""
    return Page(known)


def test_lines_are_those_of_oscillate(page, known):
    phase = phases_of(known[FIGURE_5], settings_of(known[FIGURE_5]))["phase"]
    assert page.lines.data["order"] == pytest.approx(order_parameter(phase).values)
    assert page.lines.data["spread"] == pytest.approx(spread(phase).values)
    assert page.cells.data["image"][0].shape == phase.shape


def test_preset_sets_all_sliders(page):
    page.preset.value = FIGURE_9
    assert page.potential.value == "piecewise_sine"
    assert page.of_potential["sigma"].value == pytest.approx(np.pi)
    assert page.of_potential["sigma"].visible and not page.of_potential["steepness"].visible
    assert page.periods.value == pytest.approx(1000)
    assert page.lines.data["order"][-1] == pytest.approx(0.4194, abs=1e-3)  # closed form for sigma = pi


def test_moving_a_slider_computes_anew(page):
    before = page.lines.data["order"]
    page.coupling.value = 3.0
    assert np.abs(page.lines.data["order"] - before).max() > 0.05


def test_moment_turns_the_circle(page):
    first = page.points.data["x"]
    page.moment.value = 100
    assert not np.allclose(page.points.data["x"], first)
    assert all(line.location == pytest.approx(37.5) for line in page.now)


def test_settings_that_make_no_model_are_reported_and_leave_the_picture(page):
    before = page.lines.data["order"]
    page.of_potential["steepness"].value = 0.0
    assert "steepness = 0 makes no potential" in page.state.text
    assert page.lines.data["order"] is before


def test_page_can_be_added_to_a_document(page):
    document = Document()
    page.show(document)
    assert document.get_model_by_name("coupling") is page.coupling
    assert document.title == "perfield: coupled oscillators"
