# SPDX-License-Identifier: BSD-3-Clause
"""A run whose frames carry wait states and their causes as fields, for pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.waits.states import UNCERTAIN
from perfield.fields.waits import CAUSED, OF_KIND, ON_PATH
from perfield.run.changed_frames import ChangedFrames
from perfield.run.critical_path import path_of_steps
from perfield.run.waits import WaitsOfSteps, blocks_of, waits_of_steps

if TYPE_CHECKING:
    from perfield.run.frame import Frame
    from perfield.run.run import RunDirectory

_WAITING = "waiting_time_s"


class WaitFrames(ChangedFrames):
    """The run, with the fields of `perfield.fields.waits` in each frame; everything else is the run's own.

    A frame is computed when it is asked for, together with those around it, which are kept. NaN where a rank
    keeps no stamps, or waited and nothing of that is explained. A run without any stamps gets no fields.
    """

    def __init__(self, run: RunDirectory):
        super().__init__(run)
        self._known = run.tells_arrivals.any()
        self._plan = blocks_of(run)
        self._blocks = list(self._plan.of(np.arange(len(run)))) if self._known else []
        self._begins = np.array([block[0] for block in self._blocks], dtype=np.int64)
        self._block = -1
        self._values: dict[str, np.ndarray] = {}
        self._explained_s = 0.0

    def changed(self, number: int, frame: Frame) -> Frame:
        """The frame with the fields of waiting."""
        if not self._known:
            return frame
        number %= len(self._run)
        block = int(np.searchsorted(self._begins, number, side="right")) - 1
        self._read(block)
        row = number - int(self._begins[block])
        return replace(frame, values=frame.values | {name: v[row] for name, v in self._values.items()})

    def explained(self) -> float:
        """Which share of the time in MPI calls that may wait is explained, exactly or by a bound; 1 if there
        is no such time. Reads all frames; those of the last block are kept."""
        explained_s = waited_s = 0.0
        for block, positions in enumerate(self._blocks):
            self._read(block)
            waited_s += float(np.nansum(self._run.columns.read(self._run.places(positions), [_WAITING])))
            explained_s += self._explained_s
        return min(1.0, explained_s / waited_s) if waited_s > 0 else 1.0

    def _read(self, block: int) -> None:
        if block == self._block:
            return
        positions = self._blocks[block]
        found = waits_of_steps(self._run, positions, self._plan.followed)
        self._values = wait_fields(self._run, positions, found)
        covered = found.covered
        self._explained_s = float((covered["exact_ns"] + covered["bounded_ns"]).sum()) * 1e-9
        self._block = block


def wait_fields(run: RunDirectory, positions: np.ndarray, found: WaitsOfSteps) -> dict[str, np.ndarray]:
    """The fields of waiting in the frames at some positions, which ascend: (n_positions, n_ranks) by name.

    found : why ranks waited in these frames.
    """
    shape = len(positions), run.n_ranks
    waited = run.columns.read(run.places(positions), [_WAITING])[:, 0]
    explained = np.zeros(shape)
    covered = found.covered
    np.add.at(explained, (found.at_covered, covered["rank"]), covered["exact_ns"] + covered["bounded_ns"])
    absent = ~run.tells_arrivals | ~np.isfinite(waited) | ((waited > 0) & (explained == 0))
    values = {name: np.zeros(shape) for name in dict.fromkeys(OF_KIND)}
    sure = found.states["exactness"] != UNCERTAIN
    for kind, name in enumerate(OF_KIND):
        here = sure & (found.states["kind"] == kind)
        states = found.states[here]
        np.add.at(values[name], (found.at_state[here], states["rank"]), states["time_ns"] * 1e-9)
    for table in values.values():
        table[absent] = np.nan
    values[CAUSED] = _caused(found, absent)
    values[ON_PATH] = path_of_steps(run, positions)
    return values


def _caused(found: WaitsOfSteps, absent: np.ndarray) -> np.ndarray:
    """A rank's costs are known as far as any rank's waiting is explained in the step."""
    caused_s = found.caused_s.copy()
    caused_s[absent.all(axis=1)] = np.nan
    return caused_s
