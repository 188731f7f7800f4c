# SPDX-License-Identifier: BSD-3-Clause
"""The fields of counters: what the kernel, or another source of events, counted inside each region."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield import _bridge
from perfield.run.fields import region_fields
from perfield.run.inside_sums import inside_sums
from perfield.run.quantities import Quantities
from perfield.run.regions import RegionTable


class Counters:
    """The quantities of regions that are fields by themselves. Of those whose fields would be called alike
    only the first is there.

    names, fields : of each its name, and (suffix of the field's name, factor to its unit). has : (n_counters,
    n_ranks) bool. suffixes : those of all fields that each region of the run has of them.
    """

    def __init__(self, quantities: Quantities):
        self._place = np.full(len(quantities.all) + 1, -1)  # the last: of those that nothing defines
        self.names: list[str] = []
        self.fields: list[tuple[str, float]] = []
        self.is_state: list[bool] = []
        has = []
        of_regions = [(q.name, n) for n, q in enumerate(quantities.all) if q.scope == "region" and q.kind < 0]
        for name, number in sorted(of_regions):
            quantity = quantities.all[number]
            suffix = _bridge.quantity_suffix(name, quantity.stored)
            if suffix not in (taken for taken, _ in self.fields):
                self._place[number] = len(self.names)
                self.names.append(name)
                self.fields.append((suffix, quantity.factor))
                has.append(quantity.has)
                self.is_state.append(quantity.over_steps != "sum")
        self.has = np.array(has)
        self.suffixes = [suffix for suffix, _ in self.fields]
        if {"instructions", "cycles"} <= set(self.names):
            self.suffixes.append(_bridge.per_cycle_suffix)

    def kinds(self, places: np.ndarray) -> np.ndarray:
        """Places in `names` of quantities, given their places in the run's; -1 where it is no counter."""
        return self._place[places]


def add_counters(
    values: dict[str, np.ndarray],
    block_values: dict[str, dict[tuple[int, int], float]],
    regions: RegionTable,
    counters: Counters,
    ranks: np.ndarray,
    rows: np.ndarray,
    places: np.ndarray,
) -> None:
    """Adds the fields of all counters of all regions, to those of the ranks and to those of their blocks.

    ranks, rows, places : the rank of each row of the step entries' table `quantities`, these rows, and the
    places of their quantities in the run's. A region that was entered has a value of each counter of its
    rank.
    """
    if not counters.names:
        return
    kinds = counters.kinds(places)
    factors = np.array([factor for _, factor in counters.fields])
    n_ranks = counters.has.shape[1]
    is_state = np.array(counters.is_state)
    sums, of_blocks = inside_sums(block_values, regions, n_ranks, ranks, rows, kinds, factors)
    if is_state.any():  # of which nobody told is absent
        once = np.array(rows)
        once["value"] = 1
        seen = inside_sums(block_values, regions, n_ranks, ranks, once, kinds, np.ones(len(factors)))[0] > 0
        sums = np.where(is_state[:, None, None] & ~seen, np.nan, sums)
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
