# SPDX-License-Identifier: BSD-3-Clause
"""A run directory as frames."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfield.run.counter_values import Counters
from perfield.run.directory import read_info, run_id_of, staged, why_empty
from perfield.run.errors import RunError
from perfield.run.fields import SENDING_CALLS
from perfield.run.frame import Frame, build_frame
from perfield.run.mesh import Block, FieldArray
from perfield.run.quantities import Quantities
from perfield.run.quantities import definitions as definitions_of
from perfield.run.regions import Region, RegionTable
from perfield.run.sources import Sources
from perfield.run.state import run_state
from perfield.run.stored_meshes import StoredMeshes
from perfield.run.streams import Streams, whole

if TYPE_CHECKING:
    import xarray as xr

_STEP, _SETUP, _TEARDOWN = 0, 1, 2
_NOT_MEASURED = 4
_MOST_RANKS = 1 << 24  # a rank beyond it is a number gone wrong


class Run:
    """One execution of a program under perfield, read from its run directory.

    It shows what was written when it was opened or last refreshed. Frames are counted from 0; a run that
    measures one step in ten has a frame for each of those. A run that ended without closing a step has one
    frame of all that it measured (kind "whole"). Reading a frame reads its own entries only.
    """

    def __init__(self, path: str | PathLike[str]):
        self.path = Path(path)
        self.info = read_info(self.path)
        run_id = run_id_of(self.info, self.path)
        self._streams = Streams(self.path / "stream", self.path / "analysis", run_id)
        self._meshes = StoredMeshes(Streams(self.path / "mesh", self.path / "analysis", run_id))
        self._regions = RegionTable()
        self._digest()
        if not any(self.ranks):
            raise RunError(why_empty(self.path, self.info, self._streams))

    def refresh(self) -> None:
        """Reads what was written since; frames may be added, and partial ones completed."""
        self._meshes.refresh()
        if self._streams.refresh():
            self._digest()
        else:
            self.state = run_state(self.ranks, self.ends, self._newest_ns)

    @property
    def n_ranks(self) -> int:
        """Number of ranks of the world that was measured."""
        return len(self.ranks)

    @property
    def regions(self) -> list[Region]:
        """All regions that any rank defined so far, joined by name, block and call site."""
        return list(self._regions.regions)

    @property
    def counters(self) -> Counters:
        """The counters that ranks of the run had for its regions."""
        return self._quantities.counters

    @property
    def damage(self) -> list[str]:
        """Sentences on all that is damaged, lost, still staged, of another run, or from a newer perfield."""
        running = self.state == "running"
        waiting = staged(self.path)
        return [waiting] * bool(waiting) + self._streams.damage(running) + self._meshes.damage(running)

    @property
    def groups(self) -> dict[str, list[int]]:
        """Ranks that step together, by the name of their group (by default the program's).

        A frame holds the steps of one index; those of different groups need not have been at the same time.
        """
        found: dict[str, list[int]] = {}
        for rank, entry in enumerate(self.ranks):
            if entry is not None:
                found.setdefault(_group(entry), []).append(rank)
        return found

    @property
    def steps_closed(self) -> np.ndarray:
        """(n_ranks,) int, how many steps each rank closed so far, measured or not."""
        return self._last_index + 1

    def __len__(self) -> int:
        return len(self._frame_index) or int(self._is_whole)

    def frame(self, number: int) -> Frame:
        """The frame at a position (from 0; negative: from the end).

        Raises IndexError if the run has no such frame.
        """
        if not -len(self) <= number < len(self):
            raise IndexError(f"frame {number} was asked for, but {self.path} has {len(self)} frames")
        if self._is_whole:
            return self._build("whole", 0, np.concatenate([self._kind_rows[k] for k in (_SETUP, _TEARDOWN)]))
        index = self._frame_index[number]
        begin, end = np.searchsorted(self._step_index, [index, index + 1])
        return self._build("step", int(index), self._step_rows[begin:end])

    def frames(self) -> Iterator[Frame]:
        """All frames in turn; one at a time is in memory."""
        for number in range(len(self)):
            yield self.frame(number)

    @property
    def setup(self) -> Frame:
        """What came before the first step (index -1)."""
        return self._build("setup", -1, self._kind_rows[_SETUP])

    @property
    def teardown(self) -> Frame:
        """What came after the last step (its index is the first one behind the steps)."""
        behind = int(self._frame_index[-1]) + 1 if len(self._frame_index) else 0
        return self._build("teardown", behind, self._kind_rows[_TEARDOWN])

    def dataset(self) -> xr.Dataset:
        """All frames as an xarray Dataset with dimensions step, rank and region; see perfield.run.dataset."""
        from perfield.run.dataset import dataset  # xarray takes its time to load

        return dataset(self)

    def mesh(self, rank: int, version: int) -> list[Block]:
        """The blocks of a rank's piece in one version of its mesh, by number; empty if it described none."""
        return self._meshes.mesh(rank, version)

    def fields(self, rank: int, index: int) -> dict[tuple[int, str], FieldArray]:
        """The simulation's own fields of a rank by (block, name), as newest stored at or before a step.

        index : Frame.index. Fields that belong to an earlier version of the rank's mesh are left out.
        """
        return self._meshes.fields(rank, index, self._mesh_versions)

    # --- from entries to tables ------------------------------------------------------------------

    def _digest(self) -> None:
        """Derives everything from the entries that are known now."""
        streams = self._streams
        entries = {int(place["rank"]): body for place, body in streams.json("rank") if _is_rank(place)}
        steps = streams.of_type("step")
        steps = steps[_is_rank(streams.places[steps])]
        size = max((whole(body.get("size")) for body in entries.values()), default=0)
        highest = max([*entries, int(streams.places["rank"][steps].max(initial=-1))])
        size = int(max(size if size <= _MOST_RANKS else 0, highest + 1))
        self.ends = {int(place["rank"]): body for place, body in streams.json("end") if _is_rank(place)}
        self.sites = {int(place["rank"]): body for place, body in streams.json("sites") if _is_rank(place)}
        self.ranks: list[dict | None] = [entries.get(rank) for rank in range(size)]
        for place, body in streams.json("place"):
            if _is_rank(place) and place["rank"] < size and self.ranks[place["rank"]] is not None:
                self.ranks[place["rank"]] = {**self.ranks[place["rank"]], **body}

        places = streams.places[steps]
        self._kind_rows = {
            kind: _newest(streams, steps[places["kind"] == kind]) for kind in (_SETUP, _TEARDOWN)
        }
        closed = steps[places["kind"] == _STEP]
        self._last_index = np.full(size, -1, dtype=np.int64)
        closed_places = streams.places[closed]
        np.maximum.at(self._last_index, closed_places["rank"], closed_places["index"].astype(np.int64))
        measured = closed[closed_places["flags"] & _NOT_MEASURED == 0]
        self._step_rows = _newest(streams, measured)
        self._step_index = streams.places["index"][self._step_rows].astype(np.int64)
        self._frame_index = np.unique(self._step_index)
        self._every_step = _newest(streams, closed, rank_first=True)

        self._newest_ns = self._newest_realtime()
        self.state = run_state(self.ranks, self.ends, self._newest_ns)
        damaged = bool(streams.damage(running=True))
        definitions = [
            (int(place["rank"]), body) for place, body in streams.json("region") if _is_rank(place)
        ]
        definitions = [(rank, body) for rank, body in definitions if rank < size]
        self._regions.update(definitions, size, streams.other_regions() or damaged)
        self._calls = [
            SENDING_CALLS[number] for number in sorted(streams.message_calls()) if number in SENDING_CALLS
        ]
        self._quantities = Quantities(
            definitions_of(
                [(int(place["rank"]), body) for place, body in streams.json("quantity") if _is_rank(place)],
                size,
            )
        )
        names = list(self.groups)
        self._group = np.array([names.index(_group(r)) if r else -1 for r in self.ranks], dtype=np.int64)
        self._has_ended = np.isin(np.arange(size), list(self.ends))
        self._sources = Sources([self._sources_of(rank) for rank in range(size)])

    def _sources_of(self, rank: int) -> set[str]:
        bodies = (self.ranks[rank] or {}, self.ends.get(rank, {}))
        return {name for body in bodies for name in body.get("sources") or ()}

    @property
    def _is_whole(self) -> bool:  # its one frame is all of it
        some = any(len(rows) for rows in self._kind_rows.values())
        return some and self.state != "running" and not (self._last_index >= 0).any()

    def _build(self, kind: str, index: int, rows: np.ndarray) -> Frame:
        streams = self._streams
        parts = [(streams.places["rank"][here], tables) for here, tables in streams.steps(rows)]
        partial = self._is_partial(index, streams.places["rank"][rows])
        place = {"kind": kind, "index": index, "partial": partial}
        facts = (self.n_ranks, self._regions, self._calls, self._sources, self._quantities)
        return build_frame(place, parts, *facts)

    def _is_partial(self, index: int, ranks: np.ndarray) -> bool:
        """Whether a rank of a group that got here has neither this step, nor a later one, nor ended."""
        absent = np.ones(self.n_ranks, dtype=bool)
        absent[ranks] = False
        waited_for = np.isin(self._group, self._group[ranks])
        if self.state == "running":
            waited_for |= self._group < 0  # ranks that have not checked in may yet
        return bool((absent & waited_for & ~self._has_ended & (self._last_index <= index)).any())

    def _mesh_versions(self, rank: int, indexes: np.ndarray) -> np.ndarray:
        """Mesh version of a rank in its steps of these indexes, or in the nearest step before (0: none)."""
        places = self._streams.places[self._every_step]
        begin, end = np.searchsorted(places["rank"], [rank, rank + 1])
        if begin == end:
            return np.zeros(len(indexes), dtype=np.int64)
        at = np.searchsorted(places["index"][begin:end], indexes, side="right") - 1
        return places["mesh_version"][begin + np.maximum(at, 0)].astype(np.int64)

    def _newest_realtime(self) -> dict[int, int]:
        """CLOCK_REALTIME of the newest step entry, or of setup, of each rank that has not ended."""
        places = self._streams.places
        ranks = places["rank"][self._every_step]
        last_of_rank = self._every_step[np.append(ranks[1:] != ranks[:-1], True)[: len(ranks)]]
        rows = np.concatenate((self._kind_rows[_SETUP], last_of_rank))
        newest: dict[int, int] = {}
        for here, tables in self._streams.steps(rows[~np.isin(places["rank"][rows], list(self.ends))]):
            for rank, time_ns in zip(places["rank"][here].tolist(), tables["steps"]["realtime_ns"].tolist()):
                newest[rank] = max(time_ns, newest.get(rank, 0))
        return newest


def _group(entry: dict) -> str:
    return str(entry.get("group") or entry.get("program") or "")


def _is_rank(place: np.ndarray) -> np.ndarray:
    return (place["rank"] >= 0) & (place["rank"] < _MOST_RANKS)


def _newest(streams: Streams, rows: np.ndarray, rank_first: bool = False) -> np.ndarray:
    """Rows sorted by (index, rank), or by (rank, index); of two for the same the newer is kept."""
    places = streams.places[rows]
    keys = ("rank", "index") if rank_first else ("index", "rank")
    order = np.lexsort((np.arange(len(rows)), places[keys[1]], places[keys[0]]))
    rows, places = rows[order], places[order]
    last = np.ones(len(rows), dtype=bool)
    last[:-1] = (places["rank"][1:] != places["rank"][:-1]) | (places["index"][1:] != places["index"][:-1])
    return rows[last]
