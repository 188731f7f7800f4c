# SPDX-License-Identifier: BSD-3-Clause
"""The fields of counters: what the kernel, or another source of events, counted inside each region."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from perfield import _bridge
from perfield.run.fields import region_fields
from perfield.run.inside_sums import inside_sums
from perfield.run.regions import RegionTable

_FIRST = _bridge.first_counter  # number of `what` of a rank's first counter


class Counters:
    """The counters of a run: `names` of all, and which of them each rank means by a number. Of counters whose
    fields would be called alike only the first is there.

    fields : for each name the (suffix of the field's name, factor to its unit). suffixes : those of all
    fields that each region of the run has of them.
    """

    def __init__(self, of_ranks: Sequence[Iterable[str]] = ()):
        """of_ranks : the names of each rank's counters by number, in the order of the ranks."""
        lists = [list(names) for names in of_ranks]
        self.names: list[str] = []
        self.fields: list[tuple[str, float]] = []
        for name in sorted({name for names in lists for name in names}):
            suffix, factor = _bridge.counter_field(name)[:2]
            if suffix not in (taken for taken, _ in self.fields):
                self.names.append(name)
                self.fields.append((suffix, factor))
        self.suffixes = [suffix for suffix, _ in self.fields]
        if {"instructions", "cycles"} <= set(self.names):
            self.suffixes.append(_bridge.per_cycle_suffix)
        place = {name: at for at, name in enumerate(self.names)}
        longest = max(map(len, lists), default=0)
        self._place = np.full((len(lists), longest), -1, dtype=np.int64)
        self.has = np.zeros((len(self.names), len(lists)), dtype=bool)
        for rank, names in enumerate(lists):
            for number, name in enumerate(names):
                if name in place:
                    self._place[rank, number] = place[name]
                    self.has[place[name], rank] = True

    def places(self, ranks: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Places in `names` of these ranks' counters, -1 where there is no such counter."""
        known = (numbers >= 0) & (numbers < self._place.shape[1])
        return np.where(known, self._place[ranks, np.where(known, numbers, 0)], -1)


def add_counters(
    values: dict[str, np.ndarray],
    block_values: dict[str, dict[tuple[int, int], float]],
    regions: RegionTable,
    counters: Counters,
    ranks: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Adds the fields of all counters of all regions, to those of the ranks and to those of their blocks.

    ranks, rows : the rank of each row of the step entries' table `inside`, and these rows. A region that was
    entered has a value of each counter of its rank.
    """
    if not counters.names:
        return
    kinds = counters.places(ranks, rows["what"].astype(np.int64) - _FIRST)
    factors = np.array([factor for _, factor in counters.fields])
    n_ranks = counters.has.shape[1]
    sums, of_blocks = inside_sums(block_values, regions, n_ranks, ranks, rows, kinds, factors)
    for number, stem in enumerate(regions.stems):
        entered = np.isfinite(values[region_fields(stem)[0]])
        columns = np.where(entered & counters.has, sums[:, number], np.nan)
        for name, column in _named(stem, counters, columns):
            values.setdefault(name, column)
    for stem, (rank, block), found in of_blocks:
        columns = np.where(counters.has[:, rank], found, np.nan)
        for name, value in _named(stem, counters, columns):
            block_values.setdefault(name, {})[rank, block] = float(value)


def _named(stem: str, counters: Counters, columns: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """(name of the field, values) of a region, from those of each counter."""
    names = [stem + suffix for suffix in counters.suffixes]
    yield from zip(names, columns)
    if len(names) > len(columns):
        instructions, cycles = (columns[counters.names.index(name)] for name in ("instructions", "cycles"))
        with np.errstate(divide="ignore", invalid="ignore"):
            yield names[-1], np.where(cycles > 0, instructions / cycles, np.nan)
