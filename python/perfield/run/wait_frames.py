# SPDX-License-Identifier: BSD-3-Clause
"""A run whose frames carry wait states and their causes as fields, for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.waits.states import EXACT, UNCERTAIN
from perfield.analysis.waits.transfers import Baselines
from perfield.derived.by_region import without_waiting
from perfield.derived.critical_path import path_of_steps
from perfield.derived.event_blocks import blocks_of
from perfield.derived.transfers import Ways, baselines_of, transfers_of
from perfield.derived.waits import WaitsOfSteps, caused_by_region, waits_of_steps
from perfield.fields.waits import CAUSED, CAUSED_IN, OF_KIND, ON_PATH, SLOW_TRANSFER, TRANSFER
from perfield.run.changed_frames import ChangedFrames

if TYPE_CHECKING:
    from perfield.run.frame import Frame
    from perfield.run.run_directory import RunDirectory

MOST_REGIONS = 8  # with fields of their own
SAMPLED_FRAMES = 64  # in which these regions are looked for
_WAITING = "waiting_time_s"


class WaitFrames(ChangedFrames):
    """The run, with the fields of `perfield.fields.waits` in each frame; everything else is the run's own.

    A frame is computed when it is asked for, together with those around it, which are kept. NaN where a rank
    keeps no stamps, or waited and nothing of that is explained. A run without any stamps gets no fields.
    regions : prefixes of the fields of regions that must be told, beside those in which ranks differ most.
    """

    def __init__(self, run: RunDirectory, regions: Sequence[str] = ()):
        super().__init__(run)
        self._known = run.tells_arrivals.any()
        self._plan = blocks_of(run)
        self._blocks = list(self._plan.of(np.arange(len(run)))) if self._known else []
        self._begins = np.array([block[0] for block in self._blocks], dtype=np.int64)
        self._block = -1
        self._values: dict[str, np.ndarray] = {}
        self._explained_s = 0.0
        self._regions = _regions(run, regions) if self._known else []
        self._ways = Ways(run)
        self._baselines: Baselines | None = None

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
            waited_s += float(np.nansum(self._run.values([_WAITING], positions)))
            explained_s += self._explained_s
        return min(1.0, explained_s / waited_s) if waited_s > 0 else 1.0

    def _read(self, block: int) -> None:
        if block == self._block:
            return
        positions = self._blocks[block]
        found = waits_of_steps(self._run, positions, self._plan.followed)
        self._values = wait_fields(self._run, positions, found)
        self._values |= self._of_regions(found)
        transfers = transfers_of(self._run, self._ways, found.events, positions)
        if self._baselines is None:
            is_all = len(self._blocks) == 1
            self._baselines = (
                transfers.sums.baselines if is_all else baselines_of(self._run, self._plan, self._ways)
            )
        self._values[SLOW_TRANSFER] = transfers.slow_s(self._baselines, (len(positions), self._run.n_ranks))
        covered = found.covered
        self._explained_s = float((covered["exact_ns"] + covered["bounded_ns"]).sum()) * 1e-9
        self._block = block

    def _of_regions(self, found: WaitsOfSteps) -> dict[str, np.ndarray]:
        shape = len(found.positions), self._run.n_ranks
        values = {region: np.zeros(shape) for region in self._regions}
        numbers = [self._run.columns.stems.index(region) for region in values]
        for here, caused_s in caused_by_region(self._run, found) if values else ():
            for number, table in zip(numbers, values.values()):
                table[here] = caused_s[:, number]
        unknown = np.isnan(self._values[CAUSED])
        return {
            CAUSED_IN.replace("<region>", region): np.where(unknown, np.nan, table)
            for region, table in values.items()
        }


def _regions(run: RunDirectory, wanted: Sequence[str]) -> list[str]:
    """The regions that fields are made of: those wanted that the run has, and those in which ranks differ
    most in some frames, evenly spread."""
    stems = run.columns.stems
    sample = np.unique(np.linspace(0, len(run) - 1, min(len(run), SAMPLED_FRAMES)).astype(np.int64))
    times = without_waiting(run, sample)[:, :-1]
    differs_s = (times.max(axis=2, initial=0.0) - times.mean(axis=2)).sum(axis=0)
    most = [number for number in np.argsort(-differs_s, kind="stable").tolist() if differs_s[number] > 0]
    chosen = [*(name for name in wanted if name in stems), *(stems[number] for number in most[:MOST_REGIONS])]
    return list(dict.fromkeys(chosen))


def wait_fields(run: RunDirectory, positions: np.ndarray, found: WaitsOfSteps) -> dict[str, np.ndarray]:
    """The fields of waiting in the frames at some positions, which ascend: (n_positions, n_ranks) by name.

    found : why ranks waited in these frames.
    """
    shape = len(positions), run.n_ranks
    waited = run.values([_WAITING], positions)[:, 0]
    exact, bounded = np.zeros((2, *shape))
    covered = found.covered
    place = found.at_covered, covered["rank"]
    np.add.at(exact, place, covered["exact_ns"] * 1e-9)
    np.add.at(bounded, place, covered["bounded_ns"])
    unknown = ~run.tells_arrivals | ~np.isfinite(waited)
    absent = unknown | ((waited > 0) & (exact + bounded == 0))
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
    waits = found.states["exactness"] == EXACT
    states = found.states[waits]
    np.subtract.at(exact, (found.at_state[waits], states["rank"]), states["time_ns"] * 1e-9)
    values[TRANSFER] = np.where(unknown | ((waited > 0) & absent), np.nan, np.maximum(exact, 0.0))
    return values


def _caused(found: WaitsOfSteps, absent: np.ndarray) -> np.ndarray:
    """A rank's costs are known as far as any rank's waiting is explained in the step."""
    caused_s = found.caused_s.copy()
    caused_s[absent.all(axis=1)] = np.nan
    return caused_s
