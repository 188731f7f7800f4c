# SPDX-License-Identifier: BSD-3-Clause
"""What each rank wrote about itself, and how far it came."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from perfield import _bridge
from perfield.run.state import run_state
from perfield.run.streams import Streams

SETUP, TEARDOWN = 1, 2  # kinds of step entries
_STEP, _WINDOW = 0, 3
_NOT_MEASURED = 4  # flag of step entries
_NOTHING: dict = {}


class Ranks:
    """The ranks of the world that was measured, by the entries that are known now.

    entries : the `rank` entry of each, None if it never checked in. ends, sites : by rank, its `end` and its
    `sites` entry. last : (n_ranks,) int64, the index of the last step that each closed, -1 for none.
    measured : row numbers of the entries of measured steps, by index and rank. closed, rank_of_closed : those
    of all steps, by rank and index, and their ranks. of_kind : row numbers of SETUP and TEARDOWN entries.
    logs : row numbers of the entries of logged events. group : (n_ranks,) int64, which ranks step
    together; -1 where that is not known. has_windows : whether windows of the clock take the place of
    steps, as the program closes none and perfield finds none. has_made_windows : and all entries were put
    into windows, as some are of setup, or of steps that were taken back.
    """

    def __init__(self, streams: Streams, info: Mapping[str, Any]):
        """info : what run.json holds."""
        self._streams = streams
        configuration = info.get("configuration", {})
        self.entries: list[dict | None] = [None] * _size_of_world(streams)
        for rank, body in self.json("rank"):
            self.entries[rank] = body
        self.ends, self.sites = dict(self.json("end")), dict(self.json("sites"))
        for rank, body in self.json("place"):
            if self.entries[rank] is not None:
                self.entries[rank] = {**self.entries[rank], **body}

        places, steps = streams.places, self.rows("step")
        kinds = places["kind"][steps]
        self.of_kind = {kind: _once(streams, steps[kinds == kind]) for kind in (SETUP, TEARDOWN)}
        closed, windows = steps[kinds == _STEP], _once(streams, steps[kinds == _WINDOW])
        self._take_back(closed, windows)
        closed = self._since_restart(closed)
        parts = self._parts_of_steps(closed)
        self.logs = self._since_restart(self.rows("events"))
        self.has_windows = self.has_made_windows = False
        if not len(closed):
            closed = self._windows(windows, info.get("start_ns", 0))
        self._first = self._restarted  # index of each rank's first step
        if not configuration.get("step_seconds", 0):  # windows have the same index on all ranks
            self._count_anew(np.concatenate((closed, parts, self.logs, self.of_kind[TEARDOWN])))
            self._first = np.zeros_like(self._restarted)
        self.last = np.full(len(self), -1, dtype=np.int64)
        np.maximum.at(self.last, places["rank"][closed], places["index"][closed].astype(np.int64))
        is_measured = places["flags"][closed] & _NOT_MEASURED == 0
        self.measured = _once(streams, np.concatenate((closed[is_measured], parts)))
        self.closed = _newest(streams, closed)
        self.rank_of_closed = places["rank"][self.closed]

        self.newest_ns = self._newest_realtime()
        names = list(self.groups)
        self.group = np.array([names.index(_group(r)) if r else -1 for r in self.entries], dtype=np.int64)
        self._has_ended = np.isin(np.arange(len(self)), list(self.ends))
        self.steps_by_clock = self.has_windows or bool(configuration.get("step_seconds", 0))

    def __len__(self) -> int:
        return len(self.entries)

    def counts_only(self) -> Ranks:
        """How far the ranks came, without their entries, for another process."""
        taken = copy.copy(self)
        taken.entries, taken.ends, taken.sites, taken.newest_ns = [None] * len(self), {}, {}, {}
        nothing = self.measured[:0]
        taken.measured = taken.closed = taken.rank_of_closed = nothing
        taken.of_kind, taken._streams = dict.fromkeys(self.of_kind, nothing), None
        return taken

    def rows(self, name: str) -> np.ndarray:
        """Row numbers of the entries of a type, without those of impossible ranks."""
        rows = self._streams.of_type(name)
        ranks = self._streams.places["rank"][rows]
        return rows[(ranks >= 0) & (ranks < len(self.entries))]

    def json(self, name: str) -> list[tuple[int, dict]]:
        """Rank and body of the entries of a type likewise."""
        return [(rank, body) for rank, body in self._streams.json(name) if 0 <= rank < len(self)]

    @property
    def steps_closed(self) -> np.ndarray:
        """(n_ranks,) int, how many steps each rank closed so far, measured or not."""
        return np.maximum(self.last + 1 - self._first, 0)

    @property
    def state(self) -> str:
        """Of the run, see `perfield.run.state`. Asks for processes of this host anew."""
        return run_state(self.entries, self.ends, self.newest_ns)

    @property
    def groups(self) -> dict[str, list[int]]:
        """As `RunDirectory.groups`."""
        found: dict[str, list[int]] = {}
        for rank, entry in enumerate(self.entries):
            if entry is not None:
                found.setdefault(_group(entry), []).append(rank)
        return found

    @property
    def sources(self) -> list[frozenset[str]]:
        """The sources of each rank, as known so far; ranks with the same ones share a set."""
        known: dict[tuple, frozenset[str]] = {}
        sources = []
        for rank, entry in enumerate(self.entries):
            bodies = (entry or _NOTHING, self.ends.get(rank, _NOTHING))
            names = tuple(name for body in bodies for name in body.get("sources") or ())
            sources.append(known.setdefault(names, frozenset(names)))
        return sources

    @property
    def realtime_ns(self) -> tuple[int, int]:
        """CLOCK_REALTIME when the first rank checked in and when the last one ended or closed a step; 0 where
        that is not known."""
        begins = [entry.get("realtime_ns", 0) for entry in self.entries if entry]
        ends = [*(end.get("realtime_ns", 0) for end in self.ends.values()), *self.newest_ns.values()]
        return min(begins, default=0), max(ends, default=0)

    def _take_back(self, closed: np.ndarray, windows: np.ndarray) -> None:
        """Makes steps part of setup that perfield had found in another loop (`find_steps`): those of a rank
        below the index of its newest setup entry. windows : those that precede the steps."""
        places, setup = self._streams.places, self.of_kind[SETUP]
        self._restarted = np.zeros(len(self), dtype=np.int64)
        np.maximum.at(self._restarted, places["rank"][setup], places["index"][setup].astype(np.int64))
        before = closed[places["index"][closed] < self._restarted[places["rank"][closed]]]
        newest = np.full(len(self), -1, dtype=np.int64)  # a rank's rows are in the order of its entries
        np.maximum.at(newest, places["rank"][setup], setup)
        behind = self.of_kind[TEARDOWN]
        is_before = behind < newest[places["rank"][behind]]
        self.of_kind[TEARDOWN] = behind[~is_before]
        if len(before) or len(windows) or is_before.any():
            rows = np.concatenate((setup, _once(self._streams, before), windows, behind[is_before]))
            order = np.lexsort((places["sequence"][rows], places["rank"][rows]))
            self.of_kind[SETUP] = rows[order]

    def _parts_of_steps(self, closed: np.ndarray) -> np.ndarray:
        """Takes the parts of steps that stayed open for long from the entries of the end: of those of a rank,
        the ones before its last step."""
        places, behind = self._streams.places, self.of_kind[TEARDOWN]
        last = np.full(len(self), -1, dtype=np.int64)
        np.maximum.at(last, places["rank"][closed], places["index"][closed].astype(np.int64))
        is_part = places["index"][behind].astype(np.int64) <= last[places["rank"][behind]]
        self.of_kind[TEARDOWN] = behind[~is_part]
        return behind[is_part]

    def _windows(self, windows: np.ndarray, start_ns: int) -> np.ndarray:
        """The entries of windows of the clock, if these are enough to take the place of steps. If others are
        of setup, or of steps that were taken back, all are put into windows.

        windows : those that ranks closed. start_ns : CLOCK_REALTIME when the run began.
        """
        places = self._streams.places
        rows = np.concatenate((self.of_kind[SETUP], self.of_kind[TEARDOWN]))
        rows = rows[np.lexsort((rows, places["rank"][rows]))]
        rank = places["rank"][rows]
        is_first = np.ones(len(rows), dtype=bool)
        has_made_windows = len(rows) > len(windows)
        if has_made_windows:
            last, n = self._windows_of(rows, start_ns)
            is_first[1:] = (rank[1:] != rank[:-1]) | (last[1:] != last[:-1])
        if np.bincount(rank[is_first], minlength=1).max() < _bridge.FEWEST_WINDOWS:
            return rows[:0]
        self.has_windows, self.has_made_windows = True, has_made_windows
        self.of_kind = dict.fromkeys(self.of_kind, rows[:0])
        if has_made_windows:
            places["index"][rows], places["span"][rows] = last, np.where(is_first, n, 0)
            self._restarted[:] = 0
        return rows

    def _windows_of(self, rows: np.ndarray, start_ns: int) -> tuple[np.ndarray, np.ndarray]:
        """The last window of each entry, and how many it lasts."""
        realtime_ns, length_ns = np.zeros((2, len(rows)), dtype=np.int64)
        order = np.argsort(rows)
        for here, tables in self._streams.steps(rows):
            at, fixed = order[np.searchsorted(rows[order], here)], tables["steps"]
            realtime_ns[at] = fixed["realtime_ns"]
            length_ns[at] = fixed["end_ns"] - np.minimum(fixed["begin_ns"], fixed["end_ns"])
        return _bridge.windows_of_entries(realtime_ns, np.maximum(length_ns, 0), start_ns)

    def _since_restart(self, rows: np.ndarray) -> np.ndarray:
        """Those of some entries that are not of steps that were taken back."""
        places = self._streams.places
        return rows[places["index"][rows] >= self._restarted[places["rank"][rows]]]

    def _count_anew(self, rows: np.ndarray) -> None:
        """Counts the steps of entries from 0 where others were taken back, as ranks may have closed different
        numbers of those."""
        if self._restarted.any():
            places = self._streams.places
            first = self._restarted[places["rank"][rows]].astype(np.uint64)
            places["index"][rows] -= np.minimum(first, places["index"][rows])

    def closed_in_all(self) -> np.ndarray:
        """(n_ranks,) how many steps each rank closed, -1 if a rank of its group did not end well. Steps by
        the clock end when a rank ends, so their number does not matter."""
        closed = np.full(len(self.entries), -1, dtype=np.int64)
        for rank, end in self.ends.items():
            if end.get("reason") != "abort" and not self.steps_by_clock:
                closed[rank] = max(end.get("steps", 0) - self._restarted[rank], 0)
        unknown = np.unique(self.group[closed < 0])
        closed[np.isin(self.group, unknown)] = -1
        return closed

    def closed_by_all(self, running: bool) -> int:
        """The index of the last step that each rank closed for which a frame may wait: none that has ended,
        or never will come."""
        silent = self.group < 0
        if running or (self.last[silent] >= 0).any():
            silent[:] = False
        return int(self.last[~self._has_ended & ~silent].min(initial=1 << 62))

    def are_awaited(self, index: int, ranks: np.ndarray, of_steps: bool, running: bool) -> bool:
        """Whether some rank of these ranks' groups has neither closed the step nor a later one, nor ended.

        of_steps : whether these ranks' entries are of steps, and not of the setup or the end.
        """
        behind = self.last <= index
        behind[ranks] = of_steps & (self.last[ranks] < index)  # it has some of the steps
        waited_for = np.isin(self.group, self.group[ranks])
        if running:
            waited_for |= self.group < 0  # ranks that have not checked in may yet
        return bool((behind & waited_for & ~self._has_ended).any())

    def mesh_versions(self, rank: int, indexes: np.ndarray) -> np.ndarray:
        """Mesh version of a rank at each step index, or in the nearest earlier step (0: none)."""
        of_closed = self.rank_of_closed
        begin, end = of_closed.searchsorted(np.array([rank, rank + 1], of_closed.dtype))  # no copy of all
        if begin == end:
            return np.zeros(len(indexes), dtype=np.int64)
        places = self._streams.places[self.closed[begin:end]]
        at = np.searchsorted(places["index"], indexes, side="right") - 1
        return places["mesh_version"][np.maximum(at, 0)].astype(np.int64)

    def last_stamps(self) -> np.ndarray:
        """(n_ranks,) ns, the last stamp of each rank; 0 if it has none."""
        last = np.zeros(len(self.entries), dtype=np.int64)
        rows = np.concatenate((self.of_kind[SETUP], self._last_steps(), self.of_kind[TEARDOWN]))
        for here, tables in self._streams.steps(rows):
            ends = np.minimum(tables["steps"]["end_ns"], 1 << 62).astype(np.int64)
            np.maximum.at(last, self._streams.places["rank"][here], ends)
        return last

    def _last_steps(self) -> np.ndarray:
        """Row of the last step entry of each rank that has one."""
        ranks = self.rank_of_closed
        return self.closed[np.append(ranks[1:] != ranks[:-1], True)[: len(ranks)]]

    def _newest_realtime(self) -> dict[int, int]:
        """CLOCK_REALTIME of the newest step or setup entry of each rank that has not ended."""
        ranks = self._streams.places["rank"]
        rows = np.concatenate((self.of_kind[SETUP], self._last_steps()))
        newest: dict[int, int] = {}
        for here, tables in self._streams.steps(rows[~np.isin(ranks[rows], list(self.ends))]):
            for rank, time_ns in zip(ranks[here].tolist(), tables["steps"]["realtime_ns"].tolist()):
                newest[rank] = max(time_ns, newest.get(rank, 0))
        return newest


def _group(entry: dict) -> str:
    return entry.get("group") or entry.get("program", "")


def _size_of_world(streams: Streams) -> int:
    """The size that most `rank` entries state; without any, what the ranks of the entries ask for.

    One damaged number must not make room for millions of ranks.
    """
    by_rank = {rank: body.get("size", 0) for rank, body in streams.json("rank")}
    most = _bridge.largest_world(len(by_rank))
    stated = Counter(by_rank.values())
    sizes = [size for size in stated if 0 < size <= most]
    if sizes:
        return min(sizes, key=lambda size: (-stated[size], size))
    ranks = streams.places["rank"]
    return int(ranks[ranks < _bridge.MOST_UNSTATED].max(initial=-1)) + 1


def _once(streams: Streams, rows: np.ndarray) -> np.ndarray:
    """Rows sorted by (index, rank), without those that were written twice (on NFS, after an error)."""
    places = streams.places
    columns = [places[name][rows] for name in ("sequence", "rank", "index")]
    order = np.lexsort(columns)  # the newer duplicate comes last
    last = np.ones(len(rows), dtype=bool)
    last[:-1] = np.logical_or.reduce([(column[order][1:] != column[order][:-1]) for column in columns])
    return rows[order[last]]


def _newest(streams: Streams, rows: np.ndarray) -> np.ndarray:
    """Rows sorted by (rank, index); of those alike only the newest stays."""
    rank, index = streams.places["rank"][rows], streams.places["index"][rows]
    order = np.lexsort((index, rank))  # the newest comes last
    rank, index = rank[order], index[order]
    last = np.ones(len(rows), dtype=bool)
    last[:-1] = (rank[1:] != rank[:-1]) | (index[1:] != index[:-1])
    return rows[order[last]]
