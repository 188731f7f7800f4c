# SPDX-License-Identifier: BSD-3-Clause
"""How far each rank is behind the foremost one, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfield.plots.source import Source
from perfield.plots.style import Steps, about_run, frames_of, head, new_axes
from perfield.studies.rhythm.plots.of_run import measured
from perfield.studies.rhythm.plots.panels import lag
from perfield.studies.rhythm.plots.shown import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perfield.derived.run import Run


def phase_lag(run: Run, steps: Steps = None, axes: Axes | None = None, source: Source | None = None) -> Axes:
    """Draws by how many steps each rank is behind the foremost one: a row for each rank, over time.

    steps, axes : as `perfield.plots` says. source is not asked: phases come from begin and end of steps.
    Raises PlotError if the run has no rhythm: one rank, or fewer than two steps.
    """
    phases, _ = measured(run, steps)
    axes = new_axes(axes)
    lag(axes, Shown(phases))
    head(axes, "Periods that each rank is behind the foremost one", about_run(run, frames_of(run, steps)))
    return axes
