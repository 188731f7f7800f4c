# SPDX-License-Identifier: BSD-3-Clause
"""What plots of rhythm take from a run: its phases, its steps, and what a model of it predicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis import rhythm
from perfield.analysis.oscillators import ModelError, oscillate
from perfield.analysis.oscillators.potentials import Tanh
from perfield.analysis.rhythm import RhythmError
from perfield.derived.oscillators import measured_model
from perfield.derived.rhythm import phases_of_run
from perfield.plots.rhythm.page import page, side_by_side
from perfield.plots.rhythm.shown import MOST_TIMES
from perfield.plots.style import PlotError, Steps, frames_of
from perfield.text import counted

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from perfield.analysis.oscillators import Model
    from perfield.derived.run import Run

MOMENTS_PER_STEP, LEAST_MOMENTS = 4, 400
MOST_PHASES = 1 << 23
"""Phases of all ranks at all moments, of which the plots hold a dozen copies."""
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
                f"{MOST_PHASES // FEWEST_MOMENTS:,}; `perfield rhythm RUN` has their numbers."
            )
    try:
        phases = phases_of_run(run, ranks, slice(int(indexes[0]), int(indexes[-1])), moments)
    except RhythmError as error:
        raise PlotError(str(error)) from error
    return phases, run.steps.isel(step=positions)


def predicted(phases: xr.Dataset, model: Model) -> xr.Dataset:
    """What a model makes of measured phases on their clock, from the moment on at which they had spread most
    in a twentieth of the time: the end of a delay, if there was one.

    Raises PlotError if no moment has the phases of all ranks.
    """
    known = np.isfinite(phases["phase"].values).all(axis=0)
    if known.sum() < 2:
        raise PlotError("at no moment all ranks have a phase, so the model has no start; choose other steps.")
    apart = np.where(known, rhythm.spread(phases["phase"]).values, np.nan)
    back = max(1, len(apart) // 20)
    rise = apart[back:] - apart[:-back]
    begin = back + int(np.nanargmax(rise)) if np.isfinite(rise).any() else int(np.flatnonzero(known)[0])
    begin = min(begin, int(np.flatnonzero(known)[-2]))
    start = phases["phase"].isel(time=begin).values
    return oscillate(model, start, phases["time"].values[begin:])


def of_run(
    run: Run,
    steps: Steps = None,
    figure: Figure | None = None,
    words: str = "",
    order: np.ndarray | str | None = None,
) -> Figure:
    """Draws the page of a run: its steps (a), then what its phases say (b to i).

    words : above all, by default the run's name. order : of the ranks, as for `Shown.arranged`. V(t) is
    that of tanh(P x), the potential of `perfield.derived.oscillators.measured_model`. Raises PlotError as
    `measured`.
    """
    phases, of_steps = measured(run, steps)
    pull = Tanh(float(run.n_ranks)) if "receiver" in phases else None
    n = counted(of_steps.sizes["step"], "step" if (of_steps["span"] == 1).all() else "frame")
    words = f"{words or Path(run.path).resolve().name}, {n}"
    return page(phases, of_steps, potential=pull, order=order, words=words, figure=figure)


def run_and_model(run: Run, steps: Steps = None, figure: Figure | None = None) -> Figure:
    """Draws a run and its model side by side: topology, frequencies and coupling are those of the run.

    The model starts from phases that were measured, as `predicted` says. Raises PlotError as `measured`,
    and if the run's messages or times make no model.
    """
    phases, of_steps = measured(run, steps)
    try:
        model, taken = measured_model(run, steps)
    except ModelError as error:
        raise PlotError(str(error)) from error
    found = predicted(phases, model)
    span = float(phases["time"][0]), float(phases["time"][-1])
    words = ("measured", "model from its measured start")
    begin = float(found["time"][0])
    middle = begin + 0.25 * (span[1] - begin)
    return side_by_side(
        phases,
        found,
        steps=of_steps,
        potential=model.potential,
        at=(middle, middle),
        span=span,
        words=words,
        notes=taken.sentences,
        figure=figure,
    )
