# SPDX-License-Identifier: BSD-3-Clause
"""The rhythm of ranks: who is ahead of whom, and how well a group marches in step."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from perfield.derived.providers import Provider
from perfield.fields.table import Field

if TYPE_CHECKING:
    import xarray as xr

PHASE, GRADIENT, ORDER = "phase_steps", "phase_gradient_steps", "order_parameter"
RHYTHM = (PHASE, GRADIENT, ORDER)
_MEANINGS = {  # with what is better, title and colours
    PHASE: (
        "steps that the rank is ahead of the mean of its group",
        *("", "steps ahead of the mean rank", "around 0"),
    ),
    GRADIENT: (
        "steps between the rank and those that it receives from, on average (eq. 10)",
        *("lower", "steps to the ranks that it receives from", "amount"),
    ),
    ORDER: (
        "R of the rank's group, the same for all its ranks (eq. 8); 1: all are in step",
        *("higher", "R, 1 if all ranks are at the same point of a step", "share"),
    ),
}
NOISE = 0.1  # steps ahead below which differences are noise


class Rhythm(Provider):
    """Reads when each step began and ended. All fields hold at one moment: when the middle rank of the group
    is in the middle of the frame's step. NaN for ranks without a phase then."""

    whole = True
    drawn = RHYTHM
    gives = tuple(
        Field(
            name,
            "1",
            meaning,
            direction=better,
            over_steps="none",
            in_runs="some group closed two or more steps",
            absent="the rank has no phase then" + ", or no messages are known" * (name == GRADIENT),
            title=title,
            colours=colours,
            least_end=NOISE if name == PHASE else 0.0,
        )
        for name, (meaning, better, title, colours) in _MEANINGS.items()
    )

    def fields(self) -> Iterable[Field]:
        """None of a run without steps."""
        return self.gives if len(self.run) and not self.run.is_whole else ()

    def compute(self, names: Sequence[str], positions: np.ndarray) -> Mapping[str, np.ndarray]:
        """Raises RhythmError if no group has phases."""
        return {name: self._values[name][positions] for name in names}

    @cached_property
    def _values(self) -> dict[str, np.ndarray]:
        """(n_frames, n_ranks) by name."""
        from perfield.studies.rhythm.model import RhythmError
        from perfield.studies.rhythm.of_run import closed_steps  # importing xarray is slow

        values = {name: np.full((len(self.run), self.run.n_ranks), np.nan) for name in RHYTHM}
        steps = closed_steps(self.run)
        errors, groups = [], self.run.groups.values()
        for ranks in groups:
            try:
                self._add(values, steps.isel(rank=ranks))
            except RhythmError as error:
                errors.append(error)
        if errors and len(errors) == len(groups):
            raise errors[0]
        return values

    def _add(self, values: dict[str, np.ndarray], steps: xr.Dataset) -> None:
        """Takes in a group's ranks."""
        from perfield.studies.rhythm.model import order_parameter, phase_gradient, phases
        from perfield.studies.rhythm.model.dataset import TURN
        from perfield.studies.rhythm.of_run import communication

        middles = (steps["begin_s"] + steps["end_s"]) / 2
        middles = middles.reindex(step=self.run.step_indexes).values  # NaN where all entries are damaged
        frames = np.flatnonzero(np.isfinite(middles).any(axis=1))
        times, place = np.unique(np.nanmedian(middles[frames], axis=1), return_inverse=True)
        found = phases(steps, times)
        phase, ranks = found["phase"], found["oscillator"].values
        here = np.ix_(frames, ranks)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of moments without any phase
            ahead = (phase.values - np.nanmean(phase.values, axis=0)) / TURN
        values[PHASE][here] = ahead.T[place]
        r = np.where(np.isfinite(ahead), order_parameter(phase).values, np.nan)
        values[ORDER][here] = r.T[place]
        edges = communication(self.run, ranks)
        if edges is not None:
            gradient = phase_gradient(phase, edges, mean=True).values / TURN
            values[GRADIENT][here] = gradient.T[place]


PROVIDER = Rhythm
