# SPDX-License-Identifier: BSD-3-Clause
"""A run directory as frames: the entries of all ranks, joined by step."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from perfield import _bridge
from perfield.fields.columns import Columns
from perfield.fields.quantities import Quantity, by_rank
from perfield.fields.regions import Region, RegionTable
from perfield.run.alike import Alike
from perfield.run.clocks import Clocks, in_words
from perfield.run.collectives import (
    Communicator,
    collective_rows,
    communicators_of,
    largest_first,
    of_one_frame,
)
from perfield.run.definitions import read_definitions
from perfield.run.directory import expect, folder_of_indexes, read_info, run_id_of, staged, why_empty
from perfield.run.errors import RunError
from perfield.run.frame import Frame, build_frame
from perfield.run.frame_index import FrameIndex, Steps
from perfield.run.mesh import Block, FieldArray
from perfield.run.paths import Paths, rows_of_paths
from perfield.run.ranks import SETUP, TEARDOWN, Ranks
from perfield.run.reading import chosen_span
from perfield.run.stored_meshes import StoredMeshes
from perfield.run.streams import Places, Streams
from perfield.run.tables import call_rows

_ENTRIES_AT_ONCE = 1 << 15
AS_CHOSEN = -1  # in the place of the number of steps that a frame adds up
_HEADER = np.dtype([("label", "i8"), ("time", "f8"), ("span", "u4"), ("begin_s", "f8")])


class RunDirectory:
    """One execution of a program under perfield, read from its run directory: a `perfield.run.AnyRun`.

    It shows what was written when it was opened or last refreshed. Frames are counted from 0; a run that
    measures one step in ten has a frame for each measured step. Where ranks added up different numbers of
    steps (sum_every, record_limit), a frame holds as few steps as all of them can show; `at_span` shows more
    in each. A run that ended without closing a step has one frame of everything (kind "whole"). Reading a
    frame reads only its own entries. An open run pickles by its path.

    It joins the streams (`streams`: all entries), the ranks (`Ranks`), the frames (`FrameIndex`), the meshes
    (`meshes`), the clocks (`stamps`) and the names and values of fields (`columns`, which `refresh`
    replaces). has_arrivals : (n_ranks,) bool, whether a rank has stamps of its messages; those of one
    without MPI do not. is_whole : the run ended without closing a step, and is one frame. has_windows : it
    closes no step, and windows of the clock take their place. steps_by_clock : that, or step_seconds.
    """

    meanings: Mapping[str, Mapping[int, str]] = MappingProxyType({})
    highlights: Sequence[int] = ()

    def __init__(
        self, path: str | PathLike[str], until: Mapping[str, int] | None = None, span: int | None = AS_CHOSEN
    ):
        """until : by name of a stream file, the offset of the last entry to read; None reads all.
        span : as for `at_span`; AS_CHOSEN: as the user chose (`perfield steps --use`), else 1."""
        self.path = Path(path)
        self._is_snapshot = False
        self.sent_from: tuple[type, tuple] | None = None  # in another process: what opens the run there
        self.info, self._wrong_info = read_info(self.path)
        run_id = run_id_of(self.info, self.path)
        indexes = folder_of_indexes(self.path, run_id)
        self._span = chosen_span(indexes) if span == AS_CHOSEN else span
        self.streams = Streams(self.path / "stream", indexes, run_id, until)
        self.meshes = StoredMeshes(Streams(self.path / "mesh", indexes, run_id))
        self._regions = RegionTable()
        self._digest()
        if not any(self.rank_entries):
            raise RunError(why_empty(self.path, self.info, self.streams))

    def __reduce__(self) -> tuple:
        until = self.until if self._is_snapshot else None
        return type(self), (str(self.path.absolute()), until, self._span)

    def refresh(self) -> None:
        """Reads newly written entries; this may add frames and complete partial ones."""
        is_new = self.streams.refresh()
        self.meshes.refresh()  # a step's mesh is written before its entry, so it is there by now
        if is_new:
            self._digest()
        elif (state := self._ranks.state) != self.state:
            self._join(state)

    @property
    def n_ranks(self) -> int:
        """Number of ranks of the world that was measured."""
        return len(self.rank_entries)

    @property
    def ranks_here(self) -> range:
        """The ranks whose pieces of the mesh are at hand: all."""
        return range(self.n_ranks)

    @property
    def known_regions(self) -> list[Region]:
        """All regions that any rank defined so far, joined by name, block and call site."""
        return list(self._regions.regions)

    @property
    def quantities(self) -> list[list[Quantity]]:
        """The quantities that the sources of each rank declared."""
        return [list(of_rank) for of_rank in self._quantities]

    @property
    def damage(self) -> list[str]:
        """One sentence for everything damaged, lost, still staged, of another run, or from a newer
        perfield."""
        running = self.state == "running"
        waiting = staged(self.path)
        found = (
            self._wrong_info
            + self.streams.damage(running)
            + self._definitions.damage
            + self.meshes.damage(running)
        )
        return [waiting] * bool(waiting) + found

    @property
    def groups(self) -> dict[str, list[int]]:
        """Ranks that step together, by the name of their group (by default the program's).

        A frame holds the steps of one index; different groups may have run them at different times.
        """
        return self._ranks.groups

    @property
    def steps_closed(self) -> np.ndarray:
        """(n_ranks,) int, how many steps each rank closed so far, measured or not."""
        return self._ranks.steps_closed

    def __len__(self) -> int:
        return len(self._frames)

    def frame(self, number: int) -> Frame:
        """The frame at a position (from 0; negative: from the end).

        Raises IndexError if the run has no such frame.
        """
        if not -len(self) <= number < len(self):
            raise IndexError(f"frame {number} was asked for, but {self.path} has {len(self)} frames")
        number %= len(self)
        kind = "whole" if self.is_whole else "step"
        return self._build(kind, int(self.step_indexes[number]), self._frames.of(number))

    def frames(self) -> Iterator[Frame]:
        """All frames in turn; one at a time is in memory."""
        for number in range(len(self)):
            yield self.frame(number)

    def positions_of(self, steps: Steps) -> np.ndarray:
        """Positions of the frames with these step indexes, in their order. steps : one index, a list of them,
        or a slice that includes both ends; None: all. Raises KeyError if the run has no such step."""
        return self._frames.positions_of(steps, str(self.path))

    def places(self, frames: slice | Sequence[int] = slice(None), rank: int | None = None) -> Places:
        """Where the step entries of these frames lie. frames : positions, from 0. rank : whose; None for all.

        Raises IndexError if the run has no such frame, RunError if a file with such entries is gone.
        """
        parts = [self._frames.of(number) for number in np.arange(len(self))[frames]]
        if rank is not None:
            ranks = self.streams.places["rank"]
            parts = [part[ranks[part] == rank] for part in parts]
        places = self.streams.places_of(parts)
        for number in np.unique(places.file):
            expect(Path(os.fsdecode(places.paths[number])))
        return places

    def at_span(self, steps: int | None) -> RunDirectory:
        """The same run with longer frames, which add up this many steps, or more where entries hold more.

        steps : frames begin and end at multiples of it; None: the longest frame that the run has now, so that
        all frames are alike. Raises RunError for a number below 1.
        """
        taken = self.snapshot()
        taken._span = steps
        taken._join(taken.state)
        return taken

    @property
    def spans(self) -> np.ndarray:
        """(len(self),) int64, how many steps each frame adds up, as `Frame.span`; reads no entry."""
        return self._frames.spans

    def steps_held(self, positions: np.ndarray) -> np.ndarray:
        """(n_positions,) int64, how many steps of the program some frames hold: `spans`; of steps that
        perfield found, as many as their labels count, since it joins short ones."""
        if not any(body.get("found") for body in self.sites.values()) or self.steps_by_clock or not len(self):
            return self.spans[positions]
        labels = self.frame_headers(np.arange(len(self)))["label"].astype(np.int64)
        known = np.concatenate([[False], (labels[1:] > 0) & (labels[:-1] > 0)])  # not of damaged frames
        return np.where(known, np.diff(labels, prepend=0), 0).clip(self.spans)[positions]

    @property
    def setup(self) -> Frame:
        """Everything before the first step (index -1)."""
        return self._build("setup", -1, self._ranks.of_kind[SETUP])

    @property
    def teardown(self) -> Frame:
        """Everything after the last step (its index is that of the next step)."""
        behind = int(self.step_indexes[-1]) + 1 if len(self) and not self.is_whole else 0
        return self._build("teardown", behind, self._ranks.of_kind[TEARDOWN])

    @property
    def clocks_agree(self) -> str:
        """How well the clocks of the nodes agree, as a sentence; "" for a single node."""
        return in_words(self.stamps, self.last_stamps())

    @property
    def has_samples(self) -> bool:
        """Whether ranks took samples; reads nothing."""
        return bool(len(self.streams.of_type("samples")))

    @property
    def communicators(self) -> list[Communicator]:
        """The communicators that ranks used so far, the largest first."""
        return largest_first(one for one in self._described if one.used)

    @property
    def grids(self) -> list[Communicator]:
        """The Cartesian communicators that ranks made so far (MPI_Cart_create and those made of them), in
        this order."""
        return [one for one in self._described if one.dims]

    @property
    def _described(self) -> list[Communicator]:
        if self._communicators is None:
            rows = self.streams.of_type("communicator")
            names = self.streams.places["index"][rows].tolist()
            described = zip(names, self.streams.json("communicator"))
            self._communicators = communicators_of((name, *of_rank) for name, of_rank in described)
        return self._communicators

    @property
    def realtime_ns(self) -> tuple[int, int] | None:
        """CLOCK_REALTIME when the first rank checked in and when the last one ended; of a running one,
        now; of a killed one, when a rank last closed a step. None where that is not known."""
        begin, end = self._ranks.realtime_ns
        if begin <= 0:
            return None
        return begin, time.time_ns() if self.state == "running" else end

    def mesh(self, rank: int, version: int) -> list[Block]:
        """The blocks of a rank's piece in one version of its mesh, by number; empty if it described none."""
        return self.meshes.mesh(rank, version)

    def fields(self, rank: int, index: int) -> dict[tuple[int, str], FieldArray]:
        """The simulation's own fields of a rank by (block, name): the newest stored at or before a step.

        index : Frame.index. Fields that belong to an earlier version of the rank's mesh are left out.
        """
        return self.meshes.fields(rank, index, self._ranks.mesh_versions)

    # --- for readers of chunks of steps: perfield.run.snapshot and perfield.derived.dataset --------

    @property
    def until(self) -> dict[str, int]:
        """By name of each stream file, the offset of the last entry that is known."""
        return self.streams.until

    @property
    def step_indexes(self) -> np.ndarray:
        """(len(self),) int64, the index of each frame's last step."""
        return self._frames.last

    @property
    def presence(self) -> np.ndarray:
        """(len(self), n_ranks) bool, whether a rank has an entry in each frame, damaged or not."""
        return self._frames.presence(self.n_ranks)

    def presence_of(self, number: int) -> np.ndarray:
        """(n_ranks,) bool, the row of `presence` at a position (from 0)."""
        present = np.zeros(self.n_ranks, dtype=bool)
        present[self.streams.places["rank"][self._frames.of(number)]] = True
        return present

    @property
    def partial(self) -> np.ndarray:
        """(len(self),) bool, whether some rank may still deliver its entry of the frame."""
        return np.array([self.is_partial(number) for number in range(len(self))], dtype=bool)

    def is_partial(self, number: int) -> bool:
        """Whether some rank may still deliver its entry of the frame at a position (from 0)."""
        return self._is_partial(int(self.step_indexes[number]), self._frames.of(number), not self.is_whole)

    @property
    def n_present(self) -> np.ndarray:
        """(len(self),) int64, how many ranks have an entry of each frame, damaged or not."""
        return self._frames.n_present

    @property
    def frame_states(self) -> np.ndarray:
        """As `FrameIndex.states`: for each frame a number that changes if its entries do."""
        return self._frames.states

    @property
    def entries_per_frame(self) -> int:
        """How many entries a frame has, on average, rounded up."""
        return -(-len(self._frames.rows) // len(self)) if len(self) else self.n_ranks

    def mesh_versions(self, position: int) -> np.ndarray:
        """(n_ranks,) int64, the version of each rank's mesh in a frame, 0 for none; reads no entry."""
        rows = self._frames.of(position)
        versions = np.zeros(self.n_ranks, dtype=np.int64)
        versions[self.streams.places["rank"][rows]] = self.streams.places["mesh_version"][rows]
        return versions

    def values(self, names: Sequence[str], positions: slice | Sequence[int] = slice(None)) -> np.ndarray:
        """Values of fields in frames at once: (n_positions, len(names), n_ranks) float64, NaN where absent.

        names : as in `columns.names`; with those of `columns.of_regions("<region>_time_s")` the array is
        (frame, region, rank). positions : of frames. For frames beyond memory there is `Run.steps`.
        Raises KeyError if the run has no such field, IndexError if it has no such frame.
        """
        return self.columns.read(self.places(positions), names)

    def read(
        self, positions: Sequence[int], names: Sequence[str] = (), with_tables: bool = False
    ) -> dict[str, np.ndarray]:
        """All that findings and tables ask of frames; reads each entry once.

        Returns, by name: `values` of fields, (n_positions, len(names), n_ranks), NaN where absent; `uneven`,
        (n_positions,), as in `Frame.uneven`; of each rank with undamaged entries in a frame, sorted,
        `step` (index into positions), `rank` and `fixed` (label, time, span, ...: its entries there as one);
        and, if wanted, rows of `messages`, `received` and `waits`.
        """
        read = self.columns.read_tables(self.places(positions), names, with_tables)
        if self._ranks.has_made_windows:
            rows = [self._frames.of(position) for position in positions]
            self._number_windows(read, rows, self.step_indexes[np.asarray(positions, dtype=np.int64)])
        entries = read.pop("entries")
        step, rank, fixed = entries["step"], entries["rank"].astype(np.int64), entries["fixed"]
        uneven = np.zeros(len(positions), dtype=bool)
        ends = np.searchsorted(step, np.arange(len(positions) + 1))
        for number in range(0 if self.is_whole else len(positions)):
            here = slice(ends[number], ends[number + 1])
            uneven[number] = self._alike.are_uneven(rank[here], fixed[here])
        return {**read, "uneven": uneven, "step": step, "rank": rank, "fixed": fixed}

    def rows(self, positions: Sequence[int], table: str) -> np.ndarray:
        """Rows of a table in frames, structured, `step` being an index into positions, which it is sorted by.

        table : "messages", "received" or "waits"; "calls" (perfield.run.tables.CALL_ROWS), "collectives"
        (perfield.run.collectives.COLLECTIVE_ROWS) or "paths" (perfield.run.paths.ROWS), which are also sorted
        by rank.
        """
        if table == "paths":
            return rows_of_paths(self.streams, self.known_paths, *self._frames.of_all(positions))
        if table in ("calls", "collectives"):
            read = call_rows if table == "calls" else collective_rows
            return read(self.streams, *self._frames.of_all(positions))
        return self.columns.read_tables(self.places(positions), [])[table]

    @property
    def known_paths(self) -> Paths:
        """The call paths on which ranks entered regions so far."""
        if self._paths is None:
            self._paths = Paths(self.streams, self._regions, self._quantities)
        return self._paths

    @property
    def logged_steps(self) -> np.ndarray:
        """The indexes of the steps that some rank logged, ascending."""
        return np.unique(self._log_steps)

    def last_stamps(self) -> np.ndarray:
        """(n_ranks,) ns, the last stamp of each rank; 0 if it has none."""
        return self._ranks.last_stamps()

    @property
    def clock_errors_ns(self) -> np.ndarray:
        """(n_ranks,) float64, the largest error of each rank's stamps on the common clock; inf: unknown."""
        if self._clock_errors_ns is None:
            errors = self.stamps.largest_uncertainty_s(self.last_stamps()) * 1e9
            self._clock_errors_ns = np.where(np.isfinite(errors), errors, np.inf)
        return self._clock_errors_ns

    def entries_by_file(self, positions: Sequence[int]) -> Iterator[tuple[bytes, np.ndarray, np.ndarray]]:
        """Frames' entries, file by file: its path, and by offset the step index of each entry's frame and
        where the entry lies (offset, reference_offset, rank, span)."""
        rows, which = self._frames.of_all(positions)
        last = self.step_indexes[np.asarray(positions, np.int64)][which]
        for path, here in self.streams.by_file(rows):
            yield path, last[here], self.streams.places[rows[here]]

    def logs_by_file(self, positions: Sequence[int]) -> Iterator[tuple[bytes, np.ndarray]]:
        """Where the `events` entries of frames' steps lie, file by file: its path, and ascending offsets."""
        last = self.step_indexes[np.asarray(positions, dtype=np.int64)]
        first = last - self.spans[positions] + 1
        at = np.searchsorted(last, self._log_steps)  # positions ascend
        inside = at < len(last)
        inside[inside] = self._log_steps[inside] >= first[at[inside]]
        rows = self._logs[inside]
        for path, here in self.streams.by_file(rows):
            yield path, self.streams.places["offset"][rows[here]]

    def closings(self, ranks: Sequence[int] | None = None) -> Iterator[tuple[np.ndarray, ...]]:
        """Every closed step that has an entry, also those without a frame (measure_every, skip_steps), in
        chunks: (index, rank, fixed part) of undamaged entries. ranks : None for all."""
        rows = self._ranks.closed
        if ranks is not None:
            rows = rows[np.isin(self.streams.places["rank"][rows], ranks)]
        for begin in range(0, len(rows), _ENTRIES_AT_ONCE):
            for here, tables in self.streams.steps(rows[begin : begin + _ENTRIES_AT_ONCE]):
                whole = tables["whole"].astype(bool)
                places = self.streams.places[here[whole]]
                yield places["index"].astype(np.int64), places["rank"], tables["steps"][whole]

    def frame_headers(self, positions: Sequence[int]) -> np.ndarray:
        """`label`, `time`, `span` and `begin_s` (on the common clock) of frames, structured (n_positions,):
        of the lowest rank's undamaged entries, (0, NaN, 1, NaN) without any."""
        headers = np.full(len(positions), np.array((0, np.nan, 1, np.nan), _HEADER))
        ranks, left = self.streams.places["rank"], np.arange(len(positions))
        parts = [self._frames.of(position) for position in positions]
        while len(left):  # again with the next rank, where entries are damaged
            lowest = [part[ranks[part] == ranks[part].min(initial=1 << 30)] for part in parts]
            read = self.columns.read_tables(self.streams.places_of(lowest), [], with_tables=False)
            self._number_windows(read, lowest, self.step_indexes[np.asarray(positions, dtype=np.int64)[left]])
            entries = read["entries"]
            fixed, at = entries["fixed"], left[entries["step"]]
            for name in ("label", "time", "span"):
                headers[name][at] = fixed[name]
            headers["begin_s"][at] = self.stamps.common_s(entries["rank"], fixed["begin_ns"])
            again = [at for at, part in enumerate(parts) if len(lowest[at]) < len(part)]
            again = np.setdiff1d(again, entries["step"]).astype(np.int64)
            parts = [np.setdiff1d(parts[at], lowest[at]) for at in again]
            left = left[again]
        return headers

    def snapshot(self) -> RunDirectory:
        """A copy of the run that later refreshes do not change; it shares all data read so far."""
        taken = type(self).__new__(type(self))  # copy.copy would open the path again
        vars(taken).update(vars(self))
        taken.streams = copy.copy(self.streams)
        taken._frames = self._frames.among(taken.streams)
        taken._is_snapshot = True
        taken.meshes = self.meshes and self.meshes.snapshot()
        return taken

    def frames_only(self) -> dict[str, Any]:
        """What reading frames takes, for another process: small enough to be sent, see `of_frames_only`."""
        taken = self.snapshot()
        taken.sent_from = self.sent_from or taken.__reduce__()
        taken._clock_errors_ns = self.clock_errors_ns  # of entries that are not sent; likewise:
        taken._communicators = self._described
        taken._paths = self.known_paths
        rows = self._frames.rows
        taken.streams = self.streams.only(np.concatenate([rows, self._logs]), self.entries_per_frame)
        taken._frames = self._frames.first_of(taken.streams)
        taken._logs = np.arange(len(rows), len(rows) + len(self._logs))
        taken.meshes = taken._regions = None
        taken._ranks = self._ranks.counts_only()
        taken.rank_entries, taken.ends, taken.sites, taken._quantities = [None] * self.n_ranks, {}, {}, []
        return vars(taken)

    @classmethod
    def of_frames_only(cls, sent: dict[str, Any]) -> RunDirectory:
        """A run that knows where the frames' entries lie, and nothing else of its files: `places`, `read` and
        all that reads frames work, without opening the run."""
        made = cls.__new__(cls)
        vars(made).update(sent)
        return made

    # --- from entries to tables ------------------------------------------------------------------

    def _digest(self) -> None:
        """Derives all tables from the entries known now."""
        streams, configuration = self.streams, self.info.get("configuration", {})
        ranks = self._ranks = Ranks(streams, self.info)
        self.rank_entries, self.ends, self.sites = ranks.entries, ranks.ends, ranks.sites
        self._join(ranks.state)

        self._clock_errors_ns: np.ndarray | None = None  # until somebody asks
        self._communicators: list[Communicator] | None = None  # likewise
        self._paths: Paths | None = None  # likewise
        with_arrivals = streams.places["rank"][streams.of_type("communicator")]
        self.has_arrivals = np.isin(np.arange(len(ranks)), with_arrivals)
        self._logs = ranks.logs[np.argsort(streams.places["index"][ranks.logs], kind="stable")]
        self._log_steps = streams.places["index"][self._logs].astype(np.int64)

        damaged = bool(streams.damage(running=True))
        self._definitions = read_definitions(streams, len(ranks), self.state == "running")
        self._regions.update(self._definitions.regions, len(ranks), streams.other_regions() or damaged)
        self.stamps = Clocks(self.rank_entries, ranks.json("clock"))
        adds_up = configuration.get("measure_every", 1) == 1
        self._alike = Alike(ranks.group, ranks.closed_in_all(), adds_up)
        self._quantities = by_rank(self._definitions.quantities, len(ranks))
        self.columns = Columns(
            ranks.sources, self._quantities, streams.message_calls(), self._regions, streams.several_threads()
        )

    def _join(self, state: str) -> None:
        """Joins entries to frames; those of a run that runs may be partial."""
        ranks, self.state = self._ranks, state
        self.derived: dict[str, Any] = {}  # of these frames, until somebody asks
        self.has_windows, self.steps_by_clock = ranks.has_windows, ranks.steps_by_clock
        outside = np.concatenate([ranks.of_kind[kind] for kind in (SETUP, TEARDOWN)])
        self.is_whole = bool(len(outside)) and self.state != "running" and not (ranks.last >= 0).any()
        if self.is_whole:
            self._frames = FrameIndex.of_everything(self.streams, outside)
        else:
            self._frames = FrameIndex.joined(self.streams, ranks.measured, self._span)
        self._closed_by_all = ranks.closed_by_all(self.state == "running")

    def _build(self, kind: str, index: int, rows: np.ndarray) -> Frame:
        read = self.columns.read_tables(self.streams.places_of([rows]), self.columns.names)
        self._number_windows(read, [rows], [index])
        open_ = self._is_partial(index, rows, kind == "step")
        described = len(self.streams.of_type("communicator")) > 0
        of_frame = partial(of_one_frame, self.streams.only(rows, 1), described)
        return build_frame(kind, index, open_, self.columns, read, self._alike, self.stamps, of_frame)

    def _number_windows(self, read: dict, rows: Sequence[np.ndarray], indexes: Sequence[int]) -> None:
        """Numbers the windows of the clock that were made of entries of steps. read : of some frames, as
        `columns` gives it. rows : row numbers of the entries of each frame. indexes : of the frames."""
        if not self._ranks.has_made_windows:
            return
        spans = np.zeros((len(rows), self.n_ranks), dtype=np.uint32)
        for frame, part in enumerate(rows):
            np.add.at(spans[frame], self.streams.places["rank"][part], self.streams.places["span"][part])
        fixed, frame = read["entries"]["fixed"], read["entries"]["step"]
        fixed["label"] = np.asarray(indexes, dtype=np.int64)[frame]
        fixed["time"] = (fixed["label"] + 1) * _bridge.WINDOW_S
        fixed["span"] = np.maximum(spans[frame, read["entries"]["rank"]], 1)

    def _is_partial(self, index: int, rows: np.ndarray, of_steps: bool) -> bool:
        """Whether these steps are still open: more entries of them may come."""
        running = self.state == "running"
        if of_steps and index < self._closed_by_all:
            return False
        if of_steps and running and (index + 1) % self._frames.at_least:
            return True  # steps of later entries may join it
        return self._ranks.are_awaited(index, self.streams.places["rank"][rows], of_steps, running)
