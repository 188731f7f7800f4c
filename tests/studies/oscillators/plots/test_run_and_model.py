# SPDX-License-Identifier: BSD-3-Clause
"""A run beside its model."""

from __future__ import annotations

import numpy as np
import pytest

import perfield
from twins import twin

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

from matplotlib.text import Text

from perfield.plots.style import PlotError
from perfield.studies.oscillators.model import Model
from perfield.studies.oscillators.model.potentials import Tanh
from perfield.studies.oscillators.model.topologies import chain
from perfield.studies.oscillators.plots import predicted, run_and_model
from perfield.studies.rhythm.model import phase_dataset

TURN = 2 * np.pi


def test_model_is_beside_its_run_with_the_sources_of_its_parameters(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=8))
    words = " | ".join(text.get_text() for text in run_and_model(run).findobj(Text))
    assert "measured: 4 ranks" in words and "4 oscillators" in words and "v_p = " in words


def test_model_starts_at_the_end_of_a_delay():
    times = np.linspace(0.0, 40.0, 401)
    late = np.clip(times - 10, 0, 2)  # rank 0 makes no progress for 2 s
    phase = TURN * (times - np.stack([late, np.zeros(401), np.zeros(401)]))
    measured = phase_dataset(phase, times, chain(3), source="run")
    found = predicted(measured, Model(chain(3), Tanh(3.0)))
    assert float(found["time"][0]) == pytest.approx(12.0, abs=0.2)
    assert found["phase"][:, 0].values == pytest.approx(measured["phase"].sel(time=found["time"][0]).values)


def test_run_without_messages_has_no_model(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=4, change_step=twin.without_calls))
    with pytest.raises(PlotError, match="message"):
        run_and_model(run)
