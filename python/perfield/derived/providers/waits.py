# SPDX-License-Identifier: BSD-3-Clause
"""The fields of waiting: for how long ranks waited, what they cost the others, and the critical path."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from perfield.analysis.waits.states import EXACT, UNCERTAIN
from perfield.analysis.waits.transfers import Baselines
from perfield.derived.by_region import without_waiting
from perfield.derived.critical_path import path_of_steps
from perfield.derived.event_blocks import Blocks, blocks_of
from perfield.derived.providers import Provider
from perfield.derived.transfers import Ways, baselines_of, transfers_of
from perfield.derived.waits import WaitsOfSteps, caused_by_region, waits_of_steps
from perfield.fields.table import Field
from perfield.fields.waits import (
    CAUSED,
    OF_KIND,
    ON_PATH,
    SLOW_TRANSFER,
    TRANSFER,
    WAIT_FIELDS,
    region_of,
)
from perfield.run.run_directory import RunDirectory

MOST_REGIONS = 8  # that show where waiting began, where nobody names any
SAMPLED_FRAMES = 64  # in which these regions are looked for
_WAITING = "waiting_time_s"


class Waits(Provider):
    """Computes frames in blocks, as far as they are asked for. NaN where a rank keeps no stamps, or waited
    and nothing of that is explained. A run without any stamps has none of these fields.

    ahead : whether frames beside those that are asked for are computed with them, as they will be next.
    """

    gives = WAIT_FIELDS

    def __init__(self, run: RunDirectory, ahead: bool = True):
        super().__init__(run)
        self._ahead, self._block = ahead, np.zeros(0, np.int64)  # the positions that were read last
        self._values: dict[str, np.ndarray] = {}
        self._explained_s = 0.0
        self._baselines: Baselines | None = None

    def fields(self) -> Iterable[Field]:
        """All of them, or none."""
        return self.gives if self.run.has_arrivals.any() else ()

    def compute(self, names: Sequence[str], positions: np.ndarray) -> Mapping[str, np.ndarray]:
        """Reads the blocks in which the frames lie; the last one is kept."""
        found = {name: np.empty((len(positions), self.run.n_ranks)) for name in names}
        wanted, size = np.unique(positions), self._plan.size
        begins = np.unique(wanted // size * size).tolist()
        blocks = map(self._from, begins) if self._ahead else self._plan.of(wanted)
        for block in blocks:
            self._read(block, names)
            here = np.isin(positions, block)
            for name, values in found.items():
                values[here] = self._values[name][np.searchsorted(block, positions[here])]
        return found

    def _from(self, begin: int) -> np.ndarray:
        """The positions of the block that begins at one."""
        return np.arange(begin, min(begin + self._plan.size, len(self.run)))

    def explained(self, names: Sequence[str]) -> float:
        """Which share of the time in MPI calls that may wait is explained, exactly or by a bound; 1 if there
        is no such time. Reads all frames; the values of these fields in the last block are kept."""
        explained_s = waited_s = 0.0
        for block in self._plan.of(np.arange(len(self.run))):
            self._read(block, names)
            waited_s += float(np.nansum(self.run.values([_WAITING], block)))
            explained_s += self._explained_s
        return min(1.0, explained_s / waited_s) if waited_s > 0 else 1.0

    def uneven_regions(self) -> list[str]:
        """The prefixes of the regions in which ranks differ most in some frames, evenly spread."""
        run = self.run
        sample = np.unique(np.linspace(0, len(run) - 1, min(len(run), SAMPLED_FRAMES)).astype(np.int64))
        times = without_waiting(run, sample)[:, :-1]
        differs_s = (times.max(axis=2, initial=0.0) - times.mean(axis=2)).sum(axis=0)
        order = np.argsort(-differs_s, kind="stable").tolist()
        return [run.columns.stems[number] for number in order if differs_s[number] > 0][:MOST_REGIONS]

    @cached_property
    def _plan(self) -> Blocks:
        return blocks_of(self.run)

    @cached_property
    def _ways(self) -> Ways:
        return Ways(self.run)

    def _read(self, positions: np.ndarray, names: Collection[str]) -> None:
        """Computes fields in a block of frames."""
        if not np.array_equal(positions, self._block):
            self._block, self._values = positions, {}
        missing = set(names) - self._values.keys()
        if ON_PATH in missing:
            self._values[ON_PATH] = path_of_steps(self.run, positions)
        if missing - {ON_PATH}:
            found = waits_of_steps(self.run, positions, self._plan.followed)
            self._values |= _of_states(self.run, found)
            self._values |= self._of_regions(found, [name for name in names if region_of(name)])
            if SLOW_TRANSFER in missing:
                self._values[SLOW_TRANSFER] = self._slow_transfer(found)
            covered = found.covered
            self._explained_s = float((covered["exact_ns"] + covered["bounded_ns"]).sum()) * 1e-9

    def _slow_transfer(self, found: WaitsOfSteps) -> np.ndarray:
        transfers = transfers_of(self.run, self._ways, found.events, found.positions)
        if self._baselines is None:
            is_all = len(found.positions) == len(self.run)
            self._baselines = (
                transfers.sums.baselines if is_all else baselines_of(self.run, self._plan, self._ways)
            )
        return transfers.slow_s(self._baselines, (len(found.positions), self.run.n_ranks))

    def _of_regions(self, found: WaitsOfSteps, names: Sequence[str]) -> dict[str, np.ndarray]:
        shape = len(found.positions), self.run.n_ranks
        values = {name: np.zeros(shape) for name in names}
        numbers = [self.run.columns.stems.index(region_of(name)) for name in names]
        for here, caused_s in caused_by_region(self.run, found) if names else ():
            for number, table in zip(numbers, values.values()):
                table[here] = caused_s[:, number]
        unknown = np.isnan(self._values[CAUSED])
        return {name: np.where(unknown, np.nan, table) for name, table in values.items()}


def _of_states(run: RunDirectory, found: WaitsOfSteps) -> dict[str, np.ndarray]:
    """The fields that wait states give, in the frames that were looked at: (n_positions, n_ranks) by name."""
    shape = len(found.positions), run.n_ranks
    waited = run.values([_WAITING], found.positions)[:, 0]
    exact, bounded = np.zeros((2, *shape))
    covered = found.covered
    place = found.at_covered, covered["rank"]
    np.add.at(exact, place, covered["exact_ns"] * 1e-9)
    np.add.at(bounded, place, covered["bounded_ns"])
    unknown = ~run.has_arrivals | ~np.isfinite(waited)
    absent = unknown | ((waited > 0) & (exact + bounded == 0))
    values = {name: np.zeros(shape) for name in dict.fromkeys(OF_KIND)}
    sure = found.states["exactness"] != UNCERTAIN
    for kind, name in enumerate(OF_KIND):
        here = sure & (found.states["kind"] == kind)
        states = found.states[here]
        np.add.at(values[name], (found.at_state[here], states["rank"]), states["time_ns"] * 1e-9)
    for table in values.values():
        table[absent] = np.nan
    # A rank's costs are known as far as any rank's waiting is explained in the step.
    values[CAUSED] = np.where(absent.all(axis=1, keepdims=True), np.nan, found.caused_s)
    waits = found.states["exactness"] == EXACT
    states = found.states[waits]
    np.subtract.at(exact, (found.at_state[waits], states["rank"]), states["time_ns"] * 1e-9)
    values[TRANSFER] = np.where(unknown | ((waited > 0) & absent), np.nan, np.maximum(exact, 0.0))
    return values


PROVIDER = Waits
