# SPDX-License-Identifier: BSD-3-Clause
"""A run whose frames carry the sampled CPU time of the functions that matter as fields, for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfield import _bridge
from perfield.derived.samples import OUTSIDE, Samples, sampled
from perfield.fields.functions import PREFIX, UNIT
from perfield.run.changed_frames import ChangedFrames

if TYPE_CHECKING:
    from perfield.run.frame import Frame
    from perfield.run.run_directory import RunDirectory

MOST_FUNCTIONS = 20  # with fields of their own; the rest share one
BY_IMBALANCE = 5  # of them, chosen since ranks differ most in them
OTHER = "other functions"


class SampledFrames(ChangedFrames):
    """The run, with a field `sampled_<function>_time_s` for each function that matters in each frame;
    everything else is the run's own.

    A rank has 0 where it was not found in the function, and NaN where it took no samples at all. Fields are
    in s of CPU time in user mode, of all threads. A run without samples gets no fields.
    """

    def __init__(self, run: RunDirectory):
        super().__init__(run)
        found = sampled(run)
        chosen = functions_that_matter(found, run.n_ranks)
        self._tables = tables_of(found, chosen, run.n_ranks)

    def changed(self, number: int, frame: Frame) -> Frame:
        """The frame with the fields of functions."""
        return replace(frame, values=frame.values | self._tables.of(number % max(1, len(self._run))))


class Tables:
    """Times by frame, function and rank, sparse: most functions are seen in few frames.

    names : of the fields.
    """

    def __init__(self, names: Sequence[str], rows: np.ndarray, n_ranks: int, sampled: np.ndarray):
        """rows : structured (samples.TABLE) by frame, `function` numbering the names. sampled : (n_ranks,)
        bool, ranks that took samples."""
        self.names = names
        self._rows = rows
        self._n_ranks = n_ranks
        self._absent = ~sampled

    def of(self, position: int) -> dict[str, np.ndarray]:
        """(n_ranks,) s by name of the field, in the frame at a position."""
        begin, end = np.searchsorted(self._rows["frame"], [position, position + 1])
        rows = self._rows[begin:end]
        values = np.zeros((len(self.names), self._n_ranks))
        np.add.at(values, (rows["function"], rows["rank"]), rows["time_s"])
        values[:, self._absent] = np.nan
        return dict(zip(self.names, values))


def functions_that_matter(found: Samples, n_ranks: int) -> np.ndarray:
    """The functions (index in found.functions) with most time in all steps, and those in which ranks differ
    most: at most MOST_FUNCTIONS, that with most time first."""
    rows = found.table[found.table["frame"] != OUTSIDE]
    of_ranks = np.zeros((len(found.functions), n_ranks))
    np.add.at(of_ranks, (rows["function"], rows["rank"]), rows["time_s"])
    total, saved = of_ranks.sum(axis=1), of_ranks.max(axis=1, initial=0.0) - of_ranks.mean(axis=1)
    by_time = np.argsort(-total, kind="stable")[: MOST_FUNCTIONS - BY_IMBALANCE]
    rest = np.setdiff1d(np.arange(len(total)), by_time)
    unequal = rest[np.argsort(-saved[rest], kind="stable")[:BY_IMBALANCE]]
    chosen = np.concatenate([by_time, unequal])
    chosen = chosen[total[chosen] > 0]
    return chosen[np.argsort(-total[chosen], kind="stable")]


def tables_of(found: Samples, chosen: np.ndarray, n_ranks: int) -> Tables:
    """The times of these functions, and of all others together."""
    names: list[str] = []
    for number in chosen.tolist():
        stem = _bridge.region_stem(found.functions[number].name)
        name, again = f"{PREFIX}{stem}{UNIT}", 2
        while name in names:
            name, again = f"{PREFIX}{stem}_{again}{UNIT}", again + 1
        names.append(name)
    rows = found.table[found.table["frame"] != OUTSIDE].copy()
    place = np.full(len(found.functions), len(names), np.int64)
    place[chosen] = np.arange(len(names))
    rows["function"] = place[rows["function"]]
    if (rows["function"] == len(names)).any():
        names.append(f"{PREFIX}{_bridge.region_stem(OTHER)}{UNIT}")
    sampled = np.isin(np.arange(n_ranks), found.table["rank"])
    return Tables(names, rows, n_ranks, sampled)
