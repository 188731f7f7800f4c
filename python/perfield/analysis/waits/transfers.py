# SPDX-License-Identifier: BSD-3-Clause
"""What messages and collective operations themselves take, once nobody is late: how fast like ones were at
best, and what others took beyond that. `bridge/waits/transfers.cpp` measures each call. Like ones are those
of the same run: a benchmark would measure the network of other nodes, on another day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfield import _bridge

TRANSFER: np.dtype = _bridge.WAIT_TRANSFER
WAYS = ("within a node", "between nodes", "between switches")
BASELINE = 0.1  # the share of like transfers that are as fast as the baseline
LEAST = 20  # transfers of one size, for a baseline
SURE = 0.25  # clocks may be so uncertain, as a share of a baseline
FAR = 2.0  # times as large as the largest message, or as small as the smallest one, with a baseline
_COLLECTIVE = 2  # kind of an event
_PER_OCTAVE, _FIRST = 4, 23  # distinct sizes, and the number of those below 64 B
_PER_BIN = 3 * _PER_OCTAVE  # the next of the eight bins holds messages of eight times as many bytes
_TIMES = 32  # per octave: times within 2.2 % count as one

CELL = np.dtype(
    [
        *(("way", "i8"), ("size", "i4"), ("time", "i4"), ("n", "i4"), ("count", "i8")),
        *((name, "f8") for name in ("bytes", "time_ns", "uncertainty_ns")),
    ]
)


def find_transfers(events: NDArray) -> NDArray:
    """How long calls lasted once nobody was late any more: TRANSFER, a row for each call.

    events : EVENT. Of calls that complete messages, all of these must be matched; of collective operations,
    all members known. `transfers.hpp` says what the columns are, and what is left out.
    Raises ValueError for arrays of other dtypes.
    """
    return _bridge.transfers(events)


def ways_of(transfers: NDArray, between: ArrayLike) -> NDArray[np.int64]:
    """(n_transfers,) which of them are alike: messages by their way, operations by call and number of ranks.

    between : (n_transfers,) index in WAYS of the way between both ranks.
    """
    operations = (transfers["call"].astype(np.int64) + 1) << 32 | transfers["n"]
    return np.where(transfers["kind"] == _COLLECTIVE, operations, np.asarray(between, dtype=np.int64))


def is_operation(way: ArrayLike) -> NDArray[np.bool_]:
    """Whether transfers of that way (`ways_of`) are collective operations."""
    return np.asarray(way) >= 1 << 32


def call_and_ranks(way: int) -> tuple[int, int]:
    """Call and number of ranks of operations of that way."""
    return (way >> 32) - 1, way & 0xFFFFFFFF


@dataclass(frozen=True)
class Baselines:
    """What transfers take at best: the time of the fastest tenth, by way and size.

    knots : way -> bytes and ns, both (n_sizes,), bytes ascending. Between sizes a line is drawn.
    """

    knots: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]]

    def expected_ns(self, way: ArrayLike, n: ArrayLike, size: ArrayLike) -> NDArray[np.float64]:
        """What some transfers take at their baseline, NaN where none is known.

        way : of each, from `ways_of`. n : its messages; a call that completes several may take as long as all
        of them one after another, on the slowest way. size : bytes of them together.
        """
        way, n, size = np.asarray(way), np.asarray(n, dtype=float), np.asarray(size, dtype=float)
        expected = np.full(way.shape, np.nan)
        operations = is_operation(way)
        each = np.where(operations, 1.0, np.maximum(n, 1.0))
        mean = size / each
        for of_way in np.unique(way).tolist():
            here = way == of_way
            expected[here] = self._of_one(of_way, mean[here]) * each[here]
        several = ~operations & (each > 1)
        for of_way in self.knots if several.any() else ():
            if not is_operation(of_way):
                slower = self._of_one(of_way, mean[several]) * each[several]
                expected[several] = np.fmax(expected[several], slower)
        return expected

    def _of_one(self, way: int, size: NDArray[np.float64]) -> NDArray[np.float64]:
        if way not in self.knots:
            return np.full(size.shape, np.nan)
        sizes, times = self.knots[way]
        found = np.interp(size, sizes, times)
        beyond = size > sizes[-1]
        found[beyond] *= size[beyond] / sizes[-1]
        least = 64  # bytes; all smaller messages are alike
        found[(size + least) * FAR < sizes[0] + least] = np.nan
        found[size + least > (sizes[-1] + least) * FAR] = np.nan
        return found


@dataclass(frozen=True)
class TransferSums:
    """Transfers of some steps as a histogram; those of chunks of steps add up.

    alone : structured (CELL), transfers seen whole and alone, by way, size and time; n is 1.
    calls : structured (CELL), calls by way, number of messages, mean size and time. A cell holds sums.
    """

    alone: NDArray
    calls: NDArray

    @classmethod
    def nothing(cls) -> TransferSums:
        """Of no steps."""
        return cls(np.zeros(0, CELL), np.zeros(0, CELL))

    @classmethod
    def of(cls, transfers: NDArray, way: ArrayLike, uncertainty_ns: ArrayLike) -> TransferSums:
        """Of transfers (TRANSFER). way : from `ways_of`. uncertainty_ns : of the clocks of both ranks; where
        it is not finite, nothing is known."""
        way, uncertainty = np.asarray(way), np.asarray(uncertainty_ns, dtype=float)
        known = np.isfinite(uncertainty)
        transfers, way, uncertainty = transfers[known], way[known], uncertainty[known]
        n = np.where(is_operation(way), 1, np.maximum(transfers["n"], 1))
        alone = transfers["is_alone"] > 0
        one = np.ones(int(alone.sum()), np.int64)
        of_one = way[alone], one, transfers["last_bytes"][alone], transfers["time_ns"][alone]
        of_calls = way, n, transfers["bytes"], transfers["time_ns"]
        return cls(_cells(*of_one, uncertainty[alone]), _cells(*of_calls, uncertainty))

    def __add__(self, other: TransferSums) -> TransferSums:
        return TransferSums(
            _joined(np.concatenate([self.alone, other.alone])),
            _joined(np.concatenate([self.calls, other.calls])),
        )

    @cached_property
    def baselines(self) -> Baselines:
        """What transfers take at best, for each size with LEAST of them and clocks that are SURE."""
        knots: dict[int, tuple[list[float], list[float]]] = {}
        for cells in _split(self.alone, "way", "size"):
            count = cells["count"].sum()
            at_best = _percentile(cells, BASELINE)
            if count >= LEAST and cells["uncertainty_ns"].sum() / count <= SURE * at_best:
                sizes, times = knots.setdefault(int(cells["way"][0]), ([], []))
                sizes.append(float(cells["bytes"].sum() / count))
                times.append(at_best)
        return Baselines({way: (np.array(sizes), np.array(times)) for way, (sizes, times) in knots.items()})

    @property
    def slow_s(self) -> float:
        """s of all calls beyond their baselines, and beyond what clocks are uncertain."""
        return float(self._parts()[1].sum())

    @property
    def at_baseline_s(self) -> float:
        """s of all calls that their baselines explain."""
        return float(self._parts()[0].sum())

    def _parts(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(2, n_cells) s of `calls`: within the baselines, and beyond; 0 where none are known."""
        cells = self.calls
        count = np.maximum(cells["count"], 1)
        expected = self.baselines.expected_ns(cells["way"], cells["n"], cells["bytes"] / count)
        slow = np.nan_to_num(_beyond(cells["time_ns"], expected * count, cells["uncertainty_ns"]))
        return np.where(np.isfinite(expected), cells["time_ns"] - slow, 0.0) * 1e-9, slow * 1e-9

    def rows(self, call_names: Sequence[str], size_words: Sequence[str]) -> list[dict]:
        """A table by way and size, messages first.

        call_names : by number. size_words : of the eight bins of docs/stream.md. A row has of ("messages", or
        a call), way (of WAYS, or the number of ranks), size, count (transfers seen whole),
        baseline_s (the fastest tenth took no longer), median_s, p95_s, gb_per_s (at the baselines), time_s
        (of all calls of this way and mean size), slow_s (beyond their baselines). None where nothing is
        known.
        """
        _, slow_s = self._parts()
        of_calls = _bins(self.calls)
        keys = np.column_stack([self.calls["way"], of_calls])
        rows = []
        for way, size in np.unique(keys, axis=0).tolist() if len(keys) else ():
            here = (self.calls["way"] == way) & (of_calls == size)
            cells = self.alone[(self.alone["way"] == way) & (_bins(self.alone) == size)]
            count = int(cells["count"].sum())
            each = np.maximum(cells["count"], 1)
            expected = self.baselines.expected_ns(cells["way"], cells["n"], cells["bytes"] / each) * each
            known = bool(np.isfinite(expected).any()) and count >= LEAST
            call, ranks = call_and_ranks(way)
            moved, took = np.nansum(np.where(np.isfinite(expected), cells["bytes"], 0)), np.nansum(expected)
            rows.append(
                {
                    "of": call_names[call] if is_operation(way) else "messages",
                    "way": f"{ranks:,} ranks" if is_operation(way) else WAYS[way],
                    "size": size_words[size],
                    "count": count,
                    "baseline_s": _percentile(cells, BASELINE) * 1e-9 if known else None,
                    "median_s": _percentile(cells, 0.5) * 1e-9 if count else None,
                    "p95_s": _percentile(cells, 0.95) * 1e-9 if count else None,
                    "gb_per_s": float(moved / took) if known and took > 0 and moved > 0 else None,
                    "time_s": float(self.calls["time_ns"][here].sum() * 1e-9),
                    "slow_s": float(slow_s[here].sum()) if known else None,
                }
            )
        return rows


def slow_ns(
    transfers: NDArray, way: ArrayLike, uncertainty_ns: ArrayLike, baselines: Baselines
) -> NDArray[np.float64]:
    """(n_transfers,) ns that each took beyond its baseline, and beyond what clocks are uncertain; NaN where
    no baseline is known. Arguments as for `TransferSums.of`."""
    expected = baselines.expected_ns(way, transfers["n"], transfers["bytes"])
    return _beyond(transfers["time_ns"], expected, np.asarray(uncertainty_ns, dtype=float))


def _beyond(time: NDArray, expected: NDArray, uncertainty: NDArray) -> NDArray[np.float64]:
    return np.maximum(time - expected - uncertainty, 0.0)


def _cells(way: NDArray, n: NDArray, size: NDArray, time_ns: NDArray, uncertainty_ns: NDArray) -> NDArray:
    """Transfers as CELL: way, n, bytes together, time and uncertainty of each."""
    cells = np.zeros(len(way), CELL)
    mean = size / np.maximum(n, 1)
    cells["way"], cells["n"], cells["count"], cells["bytes"] = way, n, 1, size
    cells["size"] = np.floor(_PER_OCTAVE * np.log2(np.maximum(mean, 63.0)))
    cells["time"] = np.floor(_TIMES * np.log2(np.maximum(time_ns, 1.0)))
    cells["time_ns"], cells["uncertainty_ns"] = time_ns, uncertainty_ns
    return _joined(cells)


def _bins(cells: NDArray) -> NDArray[np.int64]:
    """Which of the eight bins the sizes of cells are in."""
    return np.clip((cells["size"] - _FIRST + _PER_BIN - 1) // _PER_BIN, 0, 7)


def _joined(cells: NDArray) -> NDArray:
    """Cells of the same place as one, by way, size, time and n."""
    if not len(cells):
        return cells
    _, place = np.unique(cells["way"], return_inverse=True)
    for name in ("size", "time", "n"):
        place = place * (int(cells[name].max()) + 1) + cells[name]
    _, first, place = np.unique(place, return_index=True, return_inverse=True)
    found = cells[first]
    for name in ("count", "bytes", "time_ns", "uncertainty_ns"):
        found[name] = np.bincount(place, cells[name])
    return found


def _split(cells: NDArray, *names: str) -> list[NDArray]:
    """Cells that follow one another with the same values of these columns."""
    changes = np.zeros(max(0, len(cells) - 1), dtype=bool)
    for name in names:
        changes |= cells[name][1:] != cells[name][:-1]
    return np.split(cells, np.flatnonzero(changes) + 1) if len(cells) else []


def _percentile(cells: NDArray, share: float) -> float:
    """The ns that so many of all transfers took at most; the mean of the cell that holds it."""
    order = np.argsort(cells["time"], kind="stable")
    count = cells["count"][order]
    at = order[np.searchsorted(np.cumsum(count), share * count.sum())]
    return float(cells["time_ns"][at] / cells["count"][at])
