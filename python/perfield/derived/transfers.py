# SPDX-License-Identifier: BSD-3-Clause
"""What messages and collective operations of a run take once nobody is late, in sums, as a table and by rank
and step. It reads in blocks of steps, so memory stays bounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.waits.transfers import (
    WAYS,
    Baselines,
    TransferSums,
    find_transfers,
    slow_ns,
    ways_of,
)
from perfield.derived.by_steps import table_of
from perfield.derived.event_blocks import CROSSED, Blocks, blocks_of, places_in, window_of
from perfield.fields.table import CALL_NAMES
from perfield.run.arrivals import read_arrivals
from perfield.run.collectives import SIZE_WORDS
from perfield.topology import placement_of

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

    from perfield.run.run_directory import RunDirectory, Steps

NUMBERS = {
    "count": int,
    **dict.fromkeys(("baseline_s", "median_s", "p95_s", "gb_per_s", "time_s", "slow_s"), float),
}
COLUMNS = ("of", "way", "size", *NUMBERS)


class Ways:
    """Which way messages between ranks of a run go, and how uncertain the clocks of both ends are."""

    def __init__(self, run: RunDirectory):
        self._errors_ns = run.clock_errors_ns
        self._clock = run.stamps.nodes
        placement = placement_of(run)
        self._node, self._hops = placement.node_id, placement.switches.hops

    def between(self, rank: np.ndarray, partner: np.ndarray) -> np.ndarray:
        """Index in WAYS; between nodes where switches are not known."""
        node, other = self._node[rank], self._node[partner]
        way = np.where((node == other) & (node >= 0), 0, 1)
        apart = np.flatnonzero((way > 0) & (node >= 0) & (other >= 0))
        if len(apart):
            way[apart[self._hops(node[apart], other[apart]) > 1]] = WAYS.index("between switches")
        return way

    def uncertainty_ns(self, rank: np.ndarray, partner: np.ndarray) -> np.ndarray:
        """By how much the clocks of both ranks may disagree; inf where that is not known."""
        errors = self._errors_ns[rank] + self._errors_ns[partner]
        return np.where(self._clock[rank] == self._clock[partner], 0.0, errors)


@dataclass(frozen=True)
class TransfersOfSteps:
    """Transfers (TRANSFER) in some frames. at : index into their positions, of each. way : which are alike.
    uncertainty_ns : of the clocks of both ranks."""

    transfers: np.ndarray
    at: np.ndarray
    way: np.ndarray
    uncertainty_ns: np.ndarray

    @property
    def sums(self) -> TransferSums:
        """The same as a histogram."""
        return TransferSums.of(self.transfers, self.way, self.uncertainty_ns)

    def slow_s(self, baselines: Baselines, shape: tuple[int, int]) -> np.ndarray:
        """(n_positions, n_ranks) s beyond the baselines; NaN where none of a rank's calls has one."""
        slow = slow_ns(self.transfers, self.way, self.uncertainty_ns, baselines)
        known = np.isfinite(slow)
        values, has_any = np.zeros(shape), np.zeros(shape, dtype=bool)
        place = self.at[known], self.transfers["rank"][known]
        np.add.at(values, place, slow[known] * 1e-9)
        has_any[place] = True
        return np.where(has_any, values, np.nan)


def transfers_of(
    run: RunDirectory, ways: Ways, events: np.ndarray, positions: np.ndarray
) -> TransfersOfSteps:
    """The transfers among some events that are of the frames at some positions, which ascend."""
    found = find_transfers(events)
    at, kept = places_in(found["step"], run.step_indexes, positions)
    found = found[kept]
    ends = found["rank"], found["partner"]
    return TransfersOfSteps(found, at, ways_of(found, ways.between(*ends)), ways.uncertainty_ns(*ends))


def transfer_sums(run: RunDirectory, positions: np.ndarray) -> TransferSums:
    """The transfers of the frames at some positions, which ascend, as a histogram."""
    sums = TransferSums.nothing()
    if not run.has_arrivals.any():
        return sums
    ways = Ways(run)
    for block in blocks_of(run).of(positions):
        events = read_arrivals(run, window_of(run, block, CROSSED))
        sums += transfers_of(run, ways, events, block).sums
    return sums


def baselines_of(run: RunDirectory, plan: Blocks, ways: Ways) -> Baselines:
    """What transfers take at best, in some frames, evenly spread, with as many events as are read at once."""
    most = max(1, plan.size // (1 + 2 * CROSSED))
    sample = np.unique(np.linspace(0, len(run) - 1, min(most, len(run))).astype(np.int64))
    events = read_arrivals(run, window_of(run, sample, CROSSED))
    return transfers_of(run, ways, events, sample).sums.baselines


def rows_of_sums(sums: TransferSums) -> list[dict]:
    """The table of `transfers` as rows."""
    *most, largest = SIZE_WORDS
    return sums.rows(CALL_NAMES, [*(f"to {word}" for word in most), largest])


def transfers(run: RunDirectory, steps: Steps = None) -> pd.DataFrame | dd.DataFrame:
    """What messages and collective operations themselves take once nobody is late, by way and size.

    Columns: of ("messages", or a collective call), way ("within a node", "between nodes" or "between
    switches"; or the number of ranks), size ("to 511 B": from 64 B on, as `message_sizes` divides them),
    count (only those that are seen whole, where the receiver was waiting already), baseline_s (the fastest
    tenth took no longer), median_s, p95_s, gb_per_s (at the baseline), time_s (of all calls that are known,
    also those that complete several messages), slow_s (of that, beyond the baselines). NaN where fewer than
    20 such transfers are known, or the clocks of both ends are too uncertain. steps and result : as for
    `messages`; all steps are one chunk, which is read block by block. Raises KeyError if the run has no such
    step.
    """
    return table_of(run, steps, _rows, lambda: [np.arange(len(run))], run=run.snapshot())


def _rows(positions: np.ndarray, run: RunDirectory) -> pd.DataFrame:
    import pandas as pd

    rows = rows_of_sums(transfer_sums(run, np.unique(positions)))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(NUMBERS)
