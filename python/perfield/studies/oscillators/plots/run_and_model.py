# SPDX-License-Identifier: BSD-3-Clause
"""A run beside what a model of it predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.plots.style import PlotError, Steps
from perfield.studies.oscillators.model import ModelError, oscillate
from perfield.studies.oscillators.of_run import measured_model
from perfield.studies.rhythm.model import spread
from perfield.studies.rhythm.plots.of_run import measured
from perfield.studies.rhythm.plots.page import side_by_side

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from perfield.derived.run import Run
    from perfield.studies.oscillators.model import Model


def predicted(phases: xr.Dataset, model: Model) -> xr.Dataset:
    """What a model makes of measured phases on their clock, from the moment on at which they had spread most
    in a twentieth of the time: the end of a delay, if there was one.

    Raises PlotError if no moment has the phases of all ranks.
    """
    known = np.isfinite(phases["phase"].values).all(axis=0)
    if known.sum() < 2:
        raise PlotError("at no moment all ranks have a phase, so the model has no start; choose other steps.")
    apart = np.where(known, spread(phases["phase"]).values, np.nan)
    back = max(1, len(apart) // 20)
    rise = apart[back:] - apart[:-back]
    begin = back + int(np.nanargmax(rise)) if np.isfinite(rise).any() else int(np.flatnonzero(known)[0])
    begin = min(begin, int(np.flatnonzero(known)[-2]))
    start = phases["phase"].isel(time=begin).values
    return oscillate(model, start, phases["time"].values[begin:])


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
