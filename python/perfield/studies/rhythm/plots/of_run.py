# SPDX-License-Identifier: BSD-3-Clause
"""What plots of rhythm take from a run: its phases and its steps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfield.plots.style import PlotError, Steps, frames_of
from perfield.studies.rhythm.model import RhythmError
from perfield.studies.rhythm.of_run import phases_of_run
from perfield.studies.rhythm.plots.page import page
from perfield.studies.rhythm.plots.shown import MOST_TIMES
from perfield.text import counted

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from perfield.derived.run import Run

MOMENTS_PER_STEP, LEAST_MOMENTS = 4, 400
MOST_PHASES = 1 << 23
"""Most phases of all ranks at all moments; the plots hold a dozen copies of them."""
FEWEST_MOMENTS = 32  # where there are many ranks


def measured(run: Run, steps: Steps = None) -> tuple[xr.Dataset, xr.Dataset]:
    """Phases of a run's ranks, with its communication topology where messages are known; and its steps.

    steps : as `perfield.plots` says; phases are those from the first of them to the last. Raises PlotError if
    the run has no rhythm: one rank, or fewer than two steps. Beyond MOST_PHASES, ranks without a step are
    left out, and there are fewer moments.
    """
    positions = frames_of(run, steps)
    indexes = run.step_indexes[positions]
    moments = int(np.clip(MOMENTS_PER_STEP * len(indexes), LEAST_MOMENTS, MOST_TIMES))
    ranks = None
    if run.n_ranks * moments > MOST_PHASES:
        ranks = np.flatnonzero(run.steps_closed > 0)
        moments = int(np.clip(MOST_PHASES // max(len(ranks), 1), FEWEST_MOMENTS, moments))
        if len(ranks) * moments > MOST_PHASES:
            raise PlotError(
                f"{counted(len(ranks), 'rank')} are too many for plots of rhythm, expected at most "
                f"{MOST_PHASES // FEWEST_MOMENTS:,}; `perfield lab rhythm RUN` has their numbers."
            )
    try:
        phases = phases_of_run(run, ranks, slice(int(indexes[0]), int(indexes[-1])), moments)
    except RhythmError as error:
        raise PlotError(str(error)) from error
    return phases, run.steps.isel(step=positions)


def of_run(
    run: Run,
    steps: Steps = None,
    figure: Figure | None = None,
    words: str = "",
    order: np.ndarray | str | None = None,
) -> Figure:
    """Draws the page of a run: its steps (a), then what its phases say (b to i).

    words : above all, by default the run's name. order : of the ranks, as for `Shown.arranged`. V(t) is
    that of tanh(P x), the potential of `perfield.measured_model`. Raises PlotError as
    `measured`.
    """
    phases, of_steps = measured(run, steps)
    pull = (lambda x: np.tanh(run.n_ranks * x)) if "receiver" in phases else None
    n = counted(of_steps.sizes["step"], "step" if (of_steps["span"] == 1).all() else "frame")
    words = f"{words or Path(run.path).resolve().name}, {n}"
    return page(phases, of_steps, potential=pull, order=order, words=words, figure=figure)
