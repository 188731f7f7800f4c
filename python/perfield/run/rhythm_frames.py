# SPDX-License-Identifier: BSD-3-Clause
"""A run whose frames carry the rhythm of its ranks as fields, for pictures."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.rhythm import RhythmError, order_parameter, phase_gradient, phases
from perfield.analysis.rhythm.dataset import TURN
from perfield.derived.rhythm import closed_steps, communication
from perfield.run.added_fields import AddedFields

if TYPE_CHECKING:
    import xarray as xr

    from perfield.run.run_directory import RunDirectory

PHASE, GRADIENT, ORDER = "phase_steps", "phase_gradient_steps", "order_parameter"
RHYTHM = (PHASE, GRADIENT, ORDER)


class RhythmFrames(AddedFields):
    """The run, with three more fields in each frame; everything else is the run's own.

    phase_steps : how many steps the rank is ahead of the mean of its group. phase_gradient_steps : how far it
    is from those it receives from, on average, in steps (eq. 10); absent where no messages are known.
    order_parameter : R of the group, the same for all its ranks (eq. 8). All hold at one moment: when the
    middle rank of the group is in the middle of the frame's step. NaN for ranks without a phase then.
    """

    def __init__(self, run: RunDirectory):
        """Reads when each step began and ended. Raises RhythmError if no group has phases."""
        super().__init__(run, {name: np.full((len(run), run.n_ranks), np.nan) for name in RHYTHM})
        steps = closed_steps(run)
        errors, groups = [], run.groups.values()
        for ranks in groups:
            try:
                self._add(steps.isel(rank=ranks))
            except RhythmError as error:
                errors.append(error)
        if errors and len(errors) == len(groups):
            raise errors[0]
        if np.isnan(self._values[GRADIENT]).all():
            self._values = {name: v for name, v in self._values.items() if name != GRADIENT}

    def _add(self, steps: xr.Dataset) -> None:
        """Takes in a group's ranks."""
        middles = (steps["begin_s"] + steps["end_s"]) / 2
        middles = middles.reindex(step=self._run.step_indexes).values  # NaN where all entries are damaged
        frames = np.flatnonzero(np.isfinite(middles).any(axis=1))
        times, place = np.unique(np.nanmedian(middles[frames], axis=1), return_inverse=True)
        found = phases(steps, times)
        phase, ranks = found["phase"], found["oscillator"].values
        here = np.ix_(frames, ranks)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of moments without any phase
            ahead = (phase.values - np.nanmean(phase.values, axis=0)) / TURN
        self._values[PHASE][here] = ahead.T[place]
        r = np.where(np.isfinite(ahead), order_parameter(phase).values, np.nan)
        self._values[ORDER][here] = r.T[place]
        edges = communication(self._run, ranks)
        if edges is not None:
            gradient = phase_gradient(phase, edges, mean=True).values / TURN
            self._values[GRADIENT][here] = gradient.T[place]
