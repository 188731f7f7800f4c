# SPDX-License-Identifier: BSD-3-Clause
"""On which call paths regions were entered: solve inside pEqn, and what each path cost.

docs/stream.md has the entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfield.rows import added_up
from perfield.run.tables import entry_of

if TYPE_CHECKING:
    from perfield.fields.quantities import Quantity
    from perfield.fields.regions import RegionTable
    from perfield.run.streams import Rows, Streams

INSIDE = " < "  # between a region and that around it
OTHER_PATHS = "other paths"
NO_PATH = -1
# A row for each frame, rank and path. step : index into the positions that were asked for. path : index in
# Paths.all. Times are of all threads together, but for longest_s, the sum over the frame's entries of the
# longest thread's.
ROWS = np.dtype(
    [
        *(("step", "i8"), ("rank", "i4"), ("path", "i4"), ("count", "i8"), ("time_s", "f8")),
        *(("longest_s", "f8"), ("self_time_s", "f8"), ("mpi_time_s", "f8"), ("file_time_s", "f8")),
    ]
)
_DEFINED = np.dtype([("path", "<u4"), ("outer", "<u4"), ("region", "<u4"), ("zero", "<u4")])
VALUES = ("count", "time_s", "longest_s", "self_time_s", "mpi_time_s", "file_time_s")
_MPI, _FILES = 1, 2
_MPI_TIMES = tuple(f"mpi_{kind}_time" for kind in ("p2p", "wait", "collective", "onesided", "io", "other"))


@dataclass(frozen=True)
class Path:
    """A region inside others.

    regions : the outermost first, by the prefixes of their fields. is_other : it stands for all paths of
    its one region that found no room.
    """

    regions: tuple[str, ...]
    is_other: bool = False

    @property
    def region(self) -> str:
        """The innermost one, which was entered."""
        return self.regions[-1]

    def words(self, names: dict[str, str]) -> str:
        """solve < pEqn < main loop. names : what prefixes of fields are called in words."""
        around = [OTHER_PATHS] if self.is_other else []
        words = [names.get(stem, stem) for stem in reversed(self.regions)]
        return INSIDE.join(words + around)


class Paths:
    """All paths of a run, and what the ranks' own numbers of paths and regions mean.

    all : each Path once, those around it before it. Reading steps may add some: of `other paths`, and where
    definitions are lost.
    """

    def __init__(self, streams: Streams, regions: RegionTable, quantities: Sequence[Sequence[Quantity]]):
        """quantities : those that each rank declared."""
        n_ranks = len(quantities)
        self.kinds = _kinds(quantities)
        stem_of_region, _, self._base, self._regions, other = regions.tables(n_ranks)
        self._stems = list(regions.stems)
        self._stem_of_region = np.array([*stem_of_region, -1], np.int64)  # -1, no region, finds the last one
        self._other = int(self._stem_of_region[other])
        self.all: list[Path] = []
        self._numbers: dict[tuple[int, int], int] = {}  # (path around it, stem)
        self._keys, self._globals = self._resolved(*_definitions(streams, n_ranks))

    def words(self, names: dict[str, str]) -> list[str]:
        """Of all paths, see `Path.words`."""
        return [path.words(names) for path in self.all]

    def of(self, rank: np.ndarray, path: np.ndarray) -> np.ndarray:
        """The paths (index in `all`) that ranks' own numbers mean; NO_PATH of unknown ones."""
        keys = _key(rank, path)
        at = np.searchsorted(self._keys, keys)
        at[at == len(self._keys)] = 0
        if not len(self._keys):
            return np.full(len(keys), NO_PATH)
        return np.where(self._keys[at] == keys, self._globals[at], NO_PATH)

    def outside(self, rank: np.ndarray, region: np.ndarray) -> np.ndarray:
        """The path of a rank's region outside of all others; NO_PATH of unknown regions."""
        return self._inside(np.full(len(rank), NO_PATH), self._stem(rank, region))

    def others(self, rank: np.ndarray, region: np.ndarray) -> np.ndarray:
        """What stands for other paths of a rank's region."""
        return self._inside(np.full(len(rank), _IS_OTHER), self._stem(rank, region))

    def _stem(self, rank: np.ndarray, region: np.ndarray) -> np.ndarray:
        """Numbers of the ranks' regions among `_stems`, -1 for unknown ones."""
        begin, end = self._base[rank], self._base[rank + 1]
        at = begin + region
        known = (region >= 0) & (at < end)
        at[~known] = 0
        if not len(self._regions):
            return np.full(len(rank), self._other)
        return np.where(known, self._stem_of_region[self._regions[at]], self._other)

    def _inside(self, outer: np.ndarray, stem: np.ndarray) -> np.ndarray:
        """The path of each stem inside a path; it is added if it is new."""
        pairs, which = np.unique(np.stack([outer, stem]), axis=1, return_inverse=True)
        numbers = [self._number(*pair) for pair in pairs.T.tolist()]
        return np.array(numbers, np.int64)[which.ravel()] if numbers else np.zeros(0, np.int64)

    def _number(self, outer: int, stem: int) -> int:
        if stem < 0:
            return NO_PATH
        number = self._numbers.setdefault((outer, stem), len(self.all))
        if number == len(self.all):
            around = self.all[outer].regions if outer >= 0 else ()
            self.all.append(Path((*around, self._stems[stem]), is_other=outer == _IS_OTHER))
        return number

    def _resolved(self, rank: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Keys of ranks' own numbers, sorted, and the paths that they mean. Level by level: a rank defines
        the path around a path first."""
        order = np.argsort(_key(rank, rows["path"]), kind="stable")
        rank, rows = rank[order], rows[order]
        keys, outer_keys = _key(rank, rows["path"]), _key(rank, rows["outer"])
        stem = self._stem(rank, rows["region"].astype(np.int64))
        found = np.where(rows["outer"] == 0, NO_PATH, _UNKNOWN)
        paths = np.full(len(rows), _UNKNOWN)
        waiting = np.arange(len(rows))
        outer_at = np.minimum(np.searchsorted(keys, outer_keys), max(len(keys) - 1, 0))
        has_outer = keys[outer_at] == outer_keys if len(keys) else np.zeros(0, bool)
        while len(waiting):
            nested = waiting[has_outer[waiting] & (rows["outer"][waiting] > 0)]
            found[nested] = paths[outer_at[nested]]
            ready = found[waiting] != _UNKNOWN
            if not ready.any():
                break  # damaged: what is around them is lost
            now = waiting[ready]
            paths[now] = self._inside(found[now], stem[now])
            waiting = waiting[~ready]
        paths[paths == _UNKNOWN] = NO_PATH
        return keys, paths


def _key(rank: np.ndarray, number: np.ndarray) -> np.ndarray:
    return rank.astype(np.int64) << 32 | number.astype(np.int64)


def _definitions(streams: Streams, n_ranks: int) -> tuple[np.ndarray, np.ndarray]:
    """Rank and row of each path that ranks defined."""
    bodies = [body[: len(body) // _DEFINED.itemsize * _DEFINED.itemsize] for body in streams.raw("paths")]
    counts = [len(body) // _DEFINED.itemsize for body in bodies]
    rank = np.repeat(streams.places["rank"][streams.of_type("paths")].astype(np.int64), counts)
    rows = np.frombuffer(b"".join(bodies), _DEFINED)
    inside = (rank >= 0) & (rank < n_ranks)
    return rank[inside], rows[inside]


def rows_of_paths(entries: Rows, paths: Paths, rows: np.ndarray, step: np.ndarray) -> np.ndarray:
    """What paths cost in step entries: ROWS, sorted by step, rank and path.

    rows : numbers of step entries. step : (n_rows,), the step of each.
    """
    parts = [np.zeros(0, ROWS)]
    if not paths.all:
        return parts[0]
    for read, steps, ranks in entries.in_steps(rows, step):
        parts.extend(_of_entries(read, paths, steps, ranks))
    found = np.concatenate(parts)
    return added_up(found[found["path"] != NO_PATH], ("step", "rank", "path"), VALUES)


def _kinds(quantities: Sequence[Sequence[Quantity]]) -> np.ndarray:
    """(n_ranks, most ids) what each quantity is: time in MPI, in files, or neither."""
    known = dict.fromkeys(_MPI_TIMES, _MPI) | {"file_time": _FILES}
    most = max((one.id for own in quantities for one in own), default=0) + 1
    table = np.zeros((max(1, len(quantities)), most), np.int8)
    for rank, own in enumerate(quantities):
        for one in own:
            if one.scope == "region":
                table[rank, one.id] = known.get(one.name, 0)
    return table


def _of_entries(
    read: dict[str, np.ndarray], paths: Paths, steps: np.ndarray, ranks: np.ndarray
) -> Iterator[np.ndarray]:
    """Rows of the entries' paths, then those of regions that have all on one path."""
    rows, entry = read["paths"], entry_of(read, "path")
    empty = (rows["count"] == 0) & (rows["inclusive_sum_ns"] == 0) & (rows["self_sum_ns"] == 0)
    empty &= (rows["mpi_ns"] == 0) & (rows["file_ns"] == 0)
    number = np.where(
        rows["path"] > 0,
        paths.of(ranks[entry], rows["path"]),
        NO_PATH,
    )
    unknown = number == NO_PATH  # without room in the table, or the definition is lost
    number[unknown] = paths.others(ranks[entry[unknown]], rows["region"][unknown].astype(np.int64))
    part = np.zeros(len(rows), ROWS)
    part["step"], part["rank"], part["path"] = steps[entry], ranks[entry], number
    part["count"] = rows["count"]
    for name, column in zip(
        VALUES[1:], ("inclusive_sum_ns", "inclusive_max_ns", "self_sum_ns", "mpi_ns", "file_ns")
    ):
        part[name] = rows[column] * 1e-9
    yield part[~empty]

    own, of = read["regions"], entry_of(read, "region")
    keys = _key(of, own["id"])
    divided = np.isin(keys, _key(entry, rows["region"])[~empty])
    alone = dict(zip(_key(entry, rows["region"])[empty].tolist(), number[empty].tolist()))
    path = np.array([alone.get(key, NO_PATH) for key in keys.tolist()], np.int64)
    rest = (path == NO_PATH) & ~divided
    path[rest] = paths.outside(ranks[of[rest]], own["id"][rest].astype(np.int64))
    part = np.zeros(len(own), ROWS)
    part["step"], part["rank"], part["path"], part["count"] = steps[of], ranks[of], path, own["count"]
    for name, column in zip(VALUES[1:], ("inclusive_sum_ns", "inclusive_max_ns", "self_sum_ns")):
        part[name] = own[column] * 1e-9
    for kind, name in ((_MPI, "mpi_time_s"), (_FILES, "file_time_s")):
        part[name] = _in_calls(read, paths.kinds, kind, ranks, keys)
    yield part[~divided]


def _in_calls(
    read: dict[str, np.ndarray], kinds: np.ndarray, kind: int, ranks: np.ndarray, keys: np.ndarray
) -> np.ndarray:
    """Seconds that regions spent in calls of a kind. keys : entry << 32 | region, of each."""
    rows, entry = read["quantities"], entry_of(read, "quantity")
    known = rows["quantity"] < kinds.shape[1]
    rows, entry = rows[known], entry[known]
    chosen = kinds[ranks[entry], rows["quantity"]] == kind
    rows, of = rows[chosen], _key(entry[chosen], rows["region"][chosen])
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], of)
    at[at == len(keys)] = 0
    found = keys[order][at] == of if len(keys) else np.zeros(len(of), bool)
    sums = np.zeros(len(keys))
    np.add.at(sums, order[at[found]], rows["value"][found] * 1e-9)
    return sums


_IS_OTHER, _UNKNOWN = -3, -4  # in place of the path around a path
