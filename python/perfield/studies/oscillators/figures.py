# SPDX-License-Identifier: BSD-3-Clause
"""What `perfield plot` draws of the model of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perfield.derived.run import Run
    from perfield.plots.style import Steps


def rhythm_and_model(run: Run, steps: Steps, figure: Figure) -> None:
    """The rhythm of the run beside what a model of its messages predicts."""
    from perfield.studies.oscillators.plots import run_and_model

    run_and_model(run, steps, figure)
