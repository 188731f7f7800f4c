# SPDX-License-Identifier: BSD-3-Clause
"""A run directory as frames: the entries of all ranks, joined by step."""

from __future__ import annotations

import copy
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Union

import numpy as np

from perfield import _bridge
from perfield.fields.columns import Columns
from perfield.fields.quantities import Quantity, by_rank
from perfield.fields.regions import Region, RegionTable
from perfield.rows import added_up
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
from perfield.run.mesh import Block, FieldArray
from perfield.run.paths import ROWS as PATH_ROWS
from perfield.run.paths import Paths, rows_of_paths
from perfield.run.state import run_state
from perfield.run.stored_meshes import StoredMeshes
from perfield.run.streams import Places, Streams

Steps = Union[int, slice, Sequence[int], None]
_STEP, _SETUP, _TEARDOWN = 0, 1, 2
_NOT_MEASURED = 4
_ENTRIES_AT_ONCE = 1 << 15
_NOTHING: dict = {}
_CALL_ROWS = np.dtype([("step", "i8"), ("rank", "i4"), ("call", "i4"), ("count", "u8"), ("time_s", "f8")])


class RunDirectory:
    """One execution of a program under perfield, read from its run directory: a `perfield.run.AnyRun`.

    It shows what was written when it was opened or last refreshed. Frames are counted from 0; a run that
    measures one step in ten has a frame for each measured step. Where ranks added up different numbers of
    steps (sum_every, record_limit), a frame holds as few steps as all of them can show; `at_span` shows more
    in each. A run that ended without closing a step has one frame of everything (kind "whole"). Reading a
    frame reads only its own entries. An open run pickles by its path.
    """

    meanings: Mapping[str, Mapping[int, str]] = MappingProxyType({})
    telling: Sequence[int] = ()

    def __init__(
        self, path: str | PathLike[str], until: Mapping[str, int] | None = None, span: int | None = 1
    ):
        """until : by name of a stream file, the offset of the last entry to read; None reads all.
        span : as for `at_span`."""
        self.path = Path(path)
        self._span, self._is_snapshot = _checked(span), False
        self.sent_from: tuple[type, tuple] | None = None  # in another process: what opens the run there
        self.info, self._wrong_info = read_info(self.path)
        run_id = run_id_of(self.info, self.path)
        indexes = folder_of_indexes(self.path, run_id)
        self._streams = Streams(self.path / "stream", indexes, run_id, until)
        self._meshes = StoredMeshes(Streams(self.path / "mesh", indexes, run_id))
        self._regions = RegionTable()
        self._digest()
        if not any(self.rank_entries):
            raise RunError(why_empty(self.path, self.info, self._streams))

    def __reduce__(self) -> tuple:
        until = self.until if self._is_snapshot else None
        return type(self), (str(self.path.absolute()), until, self._span)

    def refresh(self) -> None:
        """Reads newly written entries; this may add frames and complete partial ones."""
        is_new = self._streams.refresh()
        self._meshes.refresh()  # a step's mesh is written before its entry, so it is there by now
        if is_new:
            self._digest()
        else:
            self.state = run_state(self.rank_entries, self.ends, self._newest_ns)

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
    def streams(self) -> Streams:
        """All entries of the run's streams, as far as they are known."""
        return self._streams

    @property
    def columns(self) -> Columns:
        """Names and computes the fields of the run; `refresh` replaces it."""
        return self._columns

    @property
    def damage(self) -> list[str]:
        """One sentence for everything damaged, lost, still staged, of another run, or from a newer
        perfield."""
        running = self.state == "running"
        waiting = staged(self.path)
        found = (
            self._wrong_info
            + self._streams.damage(running)
            + self._definitions.damage
            + self._meshes.damage(running)
        )
        return [waiting] * bool(waiting) + found

    @property
    def groups(self) -> dict[str, list[int]]:
        """Ranks that step together, by the name of their group (by default the program's).

        A frame holds the steps of one index; different groups may have run them at different times.
        """
        found: dict[str, list[int]] = {}
        for rank, entry in enumerate(self.rank_entries):
            if entry is not None:
                found.setdefault(_group(entry), []).append(rank)
        return found

    @property
    def steps_closed(self) -> np.ndarray:
        """(n_ranks,) int, how many steps each rank closed so far, measured or not."""
        return np.maximum(self._last_index + 1 - self._restarted, 0)

    def __len__(self) -> int:
        return len(self._frame_index) or int(self.is_whole)

    def frame(self, number: int) -> Frame:
        """The frame at a position (from 0; negative: from the end).

        Raises IndexError if the run has no such frame.
        """
        if not -len(self) <= number < len(self):
            raise IndexError(f"frame {number} was asked for, but {self.path} has {len(self)} frames")
        number %= len(self)
        kind = "whole" if self.is_whole else "step"
        return self._build(kind, int(self.step_indexes[number]), self._rows(number))

    def frames(self) -> Iterator[Frame]:
        """All frames in turn; one at a time is in memory."""
        for number in range(len(self)):
            yield self.frame(number)

    def positions_of(self, steps: Steps) -> np.ndarray:
        """Positions of the frames with these step indexes, in their order. steps : one index, a list of them,
        or a slice that includes both ends; None: all. Raises KeyError if the run has no such step."""
        known = self.step_indexes
        if steps is None:
            return np.arange(len(known))
        if isinstance(steps, slice):
            forward = steps.step is None or steps.step > 0
            first, last = (steps.start, steps.stop) if forward else (steps.stop, steps.start)
            begin = 0 if first is None else np.searchsorted(known, first)
            end = len(known) if last is None else np.searchsorted(known, last, side="right")
            return np.arange(begin, end)[:: steps.step]
        wanted = np.atleast_1d(np.asarray(steps, dtype=np.int64))
        missing = wanted[~np.isin(wanted, known)]
        if len(missing):
            has = f"steps {known[0]} to {known[-1]}" if len(known) else "no steps"
            raise KeyError(
                f"step {missing[0]} is not in {self.path}, which has {has} ({len(known)} measured)."
            )
        return np.searchsorted(known, wanted)

    def places(self, frames: slice | Sequence[int] = slice(None), rank: int | None = None) -> Places:
        """Where the step entries of these frames lie. frames : positions, from 0. rank : whose; None for all.

        Raises IndexError if the run has no such frame, RunError if a file with such entries is gone.
        """
        parts = [self._rows(number) for number in np.arange(len(self))[frames]]
        if rank is not None:
            ranks = self._streams.places["rank"]
            parts = [part[ranks[part] == rank] for part in parts]
        places = self._streams.places_of(parts)
        for number in np.unique(places.file):
            expect(Path(os.fsdecode(places.paths[number])))
        return places

    def first_places(self, frames: Sequence[int]) -> Places:
        """Where the step entries of the lowest rank in each of these frames lie. frames : positions."""
        ranks, parts = self._streams.places["rank"], [self._rows(number) for number in frames]
        return self._streams.places_of([part[ranks[part] == ranks[part].min()] for part in parts])

    def at_span(self, steps: int | None) -> RunDirectory:
        """The same run with longer frames, which add up this many steps, or more where entries hold more.

        steps : frames begin and end at multiples of it; None: the longest frame that the run has now, so that
        all frames are alike. Raises RunError for a number below 1.
        """
        taken = self.snapshot()
        taken._span, taken.derived = _checked(steps), {}
        taken._join()
        return taken

    @property
    def spans(self) -> np.ndarray:
        """(len(self),) int64, how many steps each frame adds up, as `Frame.span`; reads no entry."""
        if self.is_whole:
            return np.ones(1, dtype=np.int64)
        if self._spans is None:
            rows, begin = self._step_rows, self._begins_of_ranks()
            of_entries = np.maximum(self._streams.places["span"][rows], 1)
            of_ranks = np.add.reduceat(of_entries, begin, dtype=np.int64) if len(rows) else begin
            at = np.searchsorted(begin, self._frame_begin[:-1])
            spans = np.maximum.reduceat(of_ranks, at) if len(rows) else of_ranks
            self._spans = np.minimum(spans, self._frame_index + 1)  # more are damaged
        return self._spans

    @property
    def setup(self) -> Frame:
        """Everything before the first step (index -1)."""
        return self._build("setup", -1, self._kind_rows[_SETUP])

    @property
    def teardown(self) -> Frame:
        """Everything after the last step (its index is that of the next step)."""
        behind = int(self._frame_index[-1]) + 1 if len(self._frame_index) else 0
        return self._build("teardown", behind, self._kind_rows[_TEARDOWN])

    @property
    def clocks_agree(self) -> str:
        """How well the clocks of the nodes agree, as a sentence; "" for a single node."""
        return in_words(self._stamps, self.last_stamps())

    @property
    def has_samples(self) -> bool:
        """Whether ranks took samples; reads nothing."""
        return bool(len(self._streams.of_type("samples")))

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
            rows = self._streams.of_type("communicator")
            names = self._streams.places["index"][rows].tolist()
            described = zip(names, self._streams.json("communicator"))
            self._communicators = communicators_of((name, *of_rank) for name, of_rank in described)
        return self._communicators

    @property
    def realtime_ns(self) -> tuple[int, int] | None:
        """CLOCK_REALTIME when the first rank checked in and when the last one ended; of a run that goes on,
        now; of a killed one, when a rank last closed a step. None where that is not known."""
        begins = [entry.get("realtime_ns", 0) for entry in self.rank_entries if entry]
        ends = [*(end.get("realtime_ns", 0) for end in self.ends.values()), *self._newest_ns.values()]
        begin, end = min(begins, default=0), max(ends, default=0)
        if begin <= 0:
            return None
        return begin, time.time_ns() if self.state == "running" else end

    def mesh(self, rank: int, version: int) -> list[Block]:
        """The blocks of a rank's piece in one version of its mesh, by number; empty if it described none."""
        return self._meshes.mesh(rank, version)

    def fields(self, rank: int, index: int) -> dict[tuple[int, str], FieldArray]:
        """The simulation's own fields of a rank by (block, name): the newest stored at or before a step.

        index : Frame.index. Fields that belong to an earlier version of the rank's mesh are left out.
        """
        return self._meshes.fields(rank, index, self._mesh_versions)

    # --- for readers of chunks of steps: perfield.run.snapshot and perfield.derived.dataset --------

    @property
    def until(self) -> dict[str, int]:
        """By name of each stream file, the offset of the last entry that is known."""
        return self._streams.until

    @property
    def step_indexes(self) -> np.ndarray:
        """(len(self),) int64, the index of each frame's last step."""
        return np.zeros(len(self), dtype=np.int64) if self.is_whole else self._frame_index

    @property
    def presence(self) -> np.ndarray:
        """(len(self), n_ranks) bool, whether a rank has an entry in each frame, damaged or not."""
        if self.is_whole:
            return self.presence_of(0)[np.newaxis]
        present = np.zeros((len(self), self.n_ranks), dtype=bool)
        frame = np.repeat(np.arange(len(self)), np.diff(self._frame_begin))
        present[frame, self._streams.places["rank"][self._step_rows]] = True
        return present

    def presence_of(self, number: int) -> np.ndarray:
        """(n_ranks,) bool, the row of `presence` at a position (from 0)."""
        present = np.zeros(self.n_ranks, dtype=bool)
        present[self._streams.places["rank"][self._rows(number)]] = True
        return present

    @property
    def partial(self) -> np.ndarray:
        """(len(self),) bool, whether some rank may still deliver its entry of the frame."""
        return np.array([self.is_partial(number) for number in range(len(self))], dtype=bool)

    def is_partial(self, number: int) -> bool:
        """Whether some rank may still deliver its entry of the frame at a position (from 0)."""
        return self._is_partial(int(self.step_indexes[number]), self._rows(number), not self.is_whole)

    @property
    def n_present(self) -> np.ndarray:
        """(len(self),) int64, how many ranks have an entry of each frame, damaged or not."""
        if self.is_whole:
            return np.array([np.count_nonzero(self.presence)])
        return np.diff(np.searchsorted(self._begins_of_ranks(), self._frame_begin))

    @property
    def frame_states(self) -> np.ndarray:
        """(len(self),) int64, above 0: for each frame a number that changes if its entries do. The part from
        bit 32 on is that of its last step: if it changes at some position, frames were joined."""
        if self.is_whole:
            return np.array([1 << 32 | len(self._rows(0))])
        return (self._frame_index + 1) << 32 | np.diff(self._frame_begin)

    @property
    def entries_per_frame(self) -> int:
        """How many entries a frame has, on average, rounded up."""
        return -(-len(self._step_rows) // len(self)) if len(self._frame_index) else self.n_ranks

    @property
    def mesh_entries(self) -> int:
        """How many entries of meshes and of the simulation's own fields are known."""
        return len(self._meshes)

    @property
    def mesh_blocks(self) -> int:
        """How many of these describe blocks of a mesh."""
        return self._meshes.n_blocks

    def mesh_versions(self, position: int) -> np.ndarray:
        """(n_ranks,) int64, the version of each rank's mesh in a frame, 0 for none; reads no entry."""
        rows = self._rows(position)
        versions = np.zeros(self.n_ranks, dtype=np.int64)
        versions[self._streams.places["rank"][rows]] = self._streams.places["mesh_version"][rows]
        return versions

    @property
    def stamps(self) -> Clocks:
        """Puts stamps of ranks on the common clock."""
        return self._stamps

    def values(self, names: Sequence[str], positions: slice | Sequence[int] = slice(None)) -> np.ndarray:
        """Values of fields in frames at once: (n_positions, len(names), n_ranks) float64, NaN where absent.

        names : as in `columns.names`; with those of `columns.of_regions("<region>_time_s")` the array is
        (frame, region, rank). positions : of frames. For frames beyond memory there is `Run.steps`.
        Raises KeyError if the run has no such field, IndexError if it has no such frame.
        """
        return self._columns.read(self.places(positions), names)

    def uneven(self, positions: Sequence[int]) -> np.ndarray:
        """(n_positions,) whether ranks of one group may have done different steps, as in `Frame.uneven`."""
        return self.read(positions, [], with_tables=False)["uneven"]

    def read(
        self, positions: Sequence[int], names: Sequence[str], with_tables: bool = True
    ) -> dict[str, np.ndarray]:
        """All that findings and tables ask of frames; reads each entry once.

        Returns, by name: `values` of fields, (n_positions, len(names), n_ranks), NaN where absent; `uneven`,
        (n_positions,), as in `Frame.uneven`; of each rank with undamaged entries in a frame, sorted,
        `step` (index into positions), `rank` and `fixed` (label, time, span, ...: its entries there as one);
        and, if wanted, rows of `messages`, `received` and `waits`.
        """
        read = self._columns.read_tables(self.places(positions), names, with_tables)
        entries = read.pop("entries")
        step, rank, fixed = entries["step"], entries["rank"].astype(np.int64), entries["fixed"]
        uneven = np.zeros(len(positions), dtype=bool)
        ends = np.searchsorted(step, np.arange(len(positions) + 1))
        for number in range(0 if self.is_whole else len(positions)):
            here = slice(ends[number], ends[number + 1])
            uneven[number] = self._alike.are_uneven(rank[here], fixed[here])
        return {**read, "uneven": uneven, "step": step, "rank": rank, "fixed": fixed}

    def entries(self, positions: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The fixed parts of all ranks' undamaged entries in frames: (index into positions, rank, fixed)."""
        read = self.read(positions, [], with_tables=False)
        return read["step"], read["rank"], read["fixed"]

    def call_rows(self, positions: Sequence[int]) -> np.ndarray:
        """MPI calls in frames, structured: `step` (index into positions), `rank`, `call` (its number),
        `count` and `time_s`; sorted by step, then rank."""
        rows = [self._rows(position) for position in positions]
        which = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
        rows = np.concatenate([np.zeros(0, np.int64), *rows])
        step_of = dict(zip(rows.tolist(), which.tolist()))
        parts = [np.zeros(0, _CALL_ROWS)]
        for here, read in self._streams.steps(rows):
            n_calls = np.diff(read["call_start"].astype(np.int64))
            part = np.zeros(len(read["calls"]), _CALL_ROWS)
            part["step"] = np.repeat([step_of[row] for row in here.tolist()], n_calls)
            part["rank"] = np.repeat(self._streams.places["rank"][here], n_calls)
            part["call"], part["count"] = read["calls"]["call"], read["calls"]["count"]
            part["time_s"] = read["calls"]["ns"] * 1e-9
            parts.append(part)
        return added_up(np.concatenate(parts), ("step", "rank", "call"), ("count", "time_s"))

    @property
    def known_paths(self) -> Paths:
        """The call paths on which ranks entered regions so far."""
        if self._paths is None:
            self._paths = Paths(self._streams, self._regions, self._quantities)
        return self._paths

    def path_rows(self, positions: Sequence[int]) -> np.ndarray:
        """What call paths cost in frames, structured (perfield.run.paths.ROWS), `step` being an index into
        positions; sorted by step, rank and path."""
        paths = self.known_paths
        if not paths.all:
            return np.zeros(0, PATH_ROWS)
        rows = [self._rows(position) for position in positions]
        which = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
        rows = np.concatenate([np.zeros(0, np.int64), *rows])
        return rows_of_paths(self._streams, paths, rows, which)

    @property
    def tells_arrivals(self) -> np.ndarray:
        """(n_ranks,) bool, whether a rank has stamps of its messages; those of one without MPI do not."""
        return self._tells_arrivals

    @property
    def logged_steps(self) -> np.ndarray:
        """The indexes of the steps that some rank logged, ascending."""
        return np.unique(self._log_steps)

    @property
    def clock_errors_ns(self) -> np.ndarray:
        """(n_ranks,) float64, the largest error of each rank's stamps on the common clock; inf: unknown."""
        if self._clock_errors_ns is None:
            errors = self._stamps.largest_uncertainty_s(self.last_stamps()) * 1e9
            self._clock_errors_ns = np.where(np.isfinite(errors), errors, np.inf)
        return self._clock_errors_ns

    def entries_by_file(self, positions: Sequence[int]) -> Iterator[tuple[bytes, np.ndarray, np.ndarray]]:
        """Frames' entries, file by file: its path, and by offset the step index of each entry's frame and
        where the entry lies (offset, reference_offset, rank, span)."""
        parts = [self._rows(position) for position in positions]
        rows = np.concatenate([np.zeros(0, np.int64), *parts])
        last = np.repeat(self.step_indexes[np.asarray(positions, np.int64)], [len(part) for part in parts])
        for path, here in self._streams.by_file(rows):
            yield path, last[here], self._streams.places[rows[here]]

    def logs_by_file(self, positions: Sequence[int]) -> Iterator[tuple[bytes, np.ndarray]]:
        """Where the `events` entries of frames' steps lie, file by file: its path, and ascending offsets."""
        last = self.step_indexes[np.asarray(positions, dtype=np.int64)]
        first = last - self.spans[positions] + 1
        at = np.searchsorted(last, self._log_steps)  # positions ascend
        inside = at < len(last)
        inside[inside] = self._log_steps[inside] >= first[at[inside]]
        rows = self._logs[inside]
        for path, here in self._streams.by_file(rows):
            yield path, self._streams.places["offset"][rows[here]]

    def collective_rows(self, positions: Sequence[int]) -> np.ndarray:
        """Collective operations in frames, structured: `step` (index into positions), `rank`, `communicator`,
        `call` (its number), `count`, `bytes_out` and `bytes_in`; sorted by these."""
        rows = [self._rows(position) for position in positions]
        which = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
        return collective_rows(self._streams, np.concatenate([np.zeros(0, np.int64), *rows]), which)

    def closings(self, ranks: Sequence[int] | None = None) -> Iterator[tuple[np.ndarray, ...]]:
        """Every closed step that has an entry, also those without a frame (measure_every, skip_steps), in
        chunks: (index, rank, fixed part) of undamaged entries. ranks : None for all."""
        rows = self._every_step
        if ranks is not None:
            rows = rows[np.isin(self._streams.places["rank"][rows], ranks)]
        for begin in range(0, len(rows), _ENTRIES_AT_ONCE):
            for here, tables in self._streams.steps(rows[begin : begin + _ENTRIES_AT_ONCE]):
                whole = tables["whole"].astype(bool)
                places = self._streams.places[here[whole]]
                yield places["index"].astype(np.int64), places["rank"], tables["steps"][whole]

    def told(self, position: int) -> np.void:
        """The fixed part (label, time, span, ...) of the lowest rank's undamaged entries of a frame."""
        rows = self._rows(position)
        ranks = self._streams.places["rank"][rows]
        for rank in np.unique(ranks):
            places = self._streams.places_of([rows[ranks == rank]])
            entries = self._columns.read_tables(places, [], with_tables=False)["entries"]
            if len(entries):
                return entries["fixed"][0]
        return np.array([(0, np.nan, 1)], dtype=[("label", "i8"), ("time", "f8"), ("span", "u4")])[0]

    def snapshot(self) -> RunDirectory:
        """A copy of the run that later refreshes do not change; it shares all data read so far."""
        taken = type(self).__new__(type(self))  # copy.copy would open the path again
        vars(taken).update(vars(self))
        taken._streams = copy.copy(self._streams)
        taken._is_snapshot = True
        taken._meshes = self._meshes and self._meshes.snapshot()
        return taken

    def frames_only(self) -> dict[str, Any]:
        """What reading frames takes, for another process: small enough to be sent, see `of_frames_only`."""
        taken = self.snapshot()
        taken.sent_from = self.sent_from or taken.__reduce__()
        taken._clock_errors_ns = self.clock_errors_ns  # of entries that are not sent; likewise:
        taken._communicators = self._described
        taken._paths = self.known_paths
        of_kinds = list(self._kind_rows.items()) if self.is_whole else []
        rows = np.concatenate([self._step_rows, *(rows for _, rows in of_kinds), self._logs])
        taken._streams = self._streams.only(rows, self.entries_per_frame)
        taken._meshes = taken._regions = None
        taken.rank_entries, taken.ends, taken.sites, taken._quantities = [None] * self.n_ranks, {}, {}, []
        begin = taken._step_rows = len(self._step_rows)  # the first ones; see `of_frames_only`
        taken._kind_rows = {_SETUP: rows[:0], _TEARDOWN: rows[:0]}
        for kind, of_kind in of_kinds:
            taken._kind_rows[kind] = np.arange(begin, begin + len(of_kind))
            begin += len(of_kind)
        taken._logs = np.arange(begin, begin + len(self._logs))
        taken._measured = taken._every_step = taken._every_rank = rows[:0]
        return vars(taken)

    @classmethod
    def of_frames_only(cls, sent: dict[str, Any]) -> RunDirectory:
        """A run that knows where the frames' entries lie, and nothing else of its files: `places`, `read` and
        all that reads frames work, without opening the run."""
        made = cls.__new__(cls)
        vars(made).update(sent)
        made._step_rows = np.arange(made._step_rows, dtype=np.int32)
        return made

    # --- from entries to tables ------------------------------------------------------------------

    def _digest(self) -> None:
        """Derives all tables from the entries known now."""
        streams = self._streams
        size = _size_of_world(streams)

        def of_ranks(name: str) -> list[tuple[int, dict]]:
            return [(rank, body) for rank, body in streams.json(name) if 0 <= rank < size]

        entries = dict(of_ranks("rank"))
        steps = streams.of_type("step")
        ranks = streams.places["rank"][steps]
        steps = steps[(ranks >= 0) & (ranks < size)]
        self.ends = dict(of_ranks("end"))
        self.sites = dict(of_ranks("sites"))
        self.rank_entries: list[dict | None] = [entries.get(rank) for rank in range(size)]
        for rank, body in of_ranks("place"):
            if self.rank_entries[rank] is not None:
                self.rank_entries[rank] = {**self.rank_entries[rank], **body}

        kinds = streams.places["kind"][steps]
        self._kind_rows = {kind: _newest(streams, steps[kinds == kind]) for kind in (_SETUP, _TEARDOWN)}
        self._take_back(steps[kinds == _STEP], size)
        closed = steps[kinds == _STEP]
        closed = closed[streams.places["index"][closed] >= self._restarted[streams.places["rank"][closed]]]
        self._last_index = np.full(size, -1, dtype=np.int64)
        indexes = streams.places["index"][closed].astype(np.int64)
        np.maximum.at(self._last_index, streams.places["rank"][closed], indexes)
        measured = closed[streams.places["flags"][closed] & _NOT_MEASURED == 0]
        self._measured = _newest(streams, measured)
        self._join()
        self._every_step = _newest(streams, closed, rank_first=True)
        self._every_rank = streams.places["rank"][self._every_step]

        self._clock_errors_ns: np.ndarray | None = None  # until somebody asks
        self._communicators: list[Communicator] | None = None  # likewise
        self.derived: dict[str, Any] = {}  # likewise
        self._paths: Paths | None = None  # likewise
        told = streams.places["rank"][streams.of_type("communicator")]
        self._tells_arrivals = np.isin(np.arange(size), told)
        logs = streams.of_type("events")
        logs = logs[(streams.places["rank"][logs] >= 0) & (streams.places["rank"][logs] < size)]
        before = streams.places["index"][logs] < self._restarted[streams.places["rank"][logs]]
        logs = logs[~before]
        self._logs = logs[np.argsort(streams.places["index"][logs], kind="stable")]
        self._log_steps = streams.places["index"][self._logs].astype(np.int64)

        self._newest_ns = self._newest_realtime()
        self.state = run_state(self.rank_entries, self.ends, self._newest_ns)
        damaged = bool(streams.damage(running=True))
        self._definitions = read_definitions(streams, size, self.state == "running")
        self._regions.update(self._definitions.regions, size, streams.other_regions() or damaged)
        names = list(self.groups)
        self._group = np.array(
            [names.index(_group(r)) if r else -1 for r in self.rank_entries], dtype=np.int64
        )
        self._stamps = Clocks(self.rank_entries, of_ranks("clock"))
        one_in_many = self._configured("measure_every", 1) != 1
        self._alike = Alike(self._group, self._closed_in_all(), not one_in_many)
        self._has_ended = np.isin(np.arange(size), list(self.ends))
        self._closed_by_all = int(self._last_index[self._may_close()].min(initial=1 << 62))
        self._quantities = by_rank(self._definitions.quantities, size)
        self._columns = Columns(
            self._sources(),
            self._quantities,
            streams.message_calls(),
            self._regions,
            streams.several_threads(),
        )

    def _take_back(self, closed: np.ndarray, size: int) -> None:
        """Makes steps part of setup that perfield had found in another loop (`find_steps`): those of a rank
        below the index of its newest setup entry."""
        places, setup = self._streams.places, self._kind_rows[_SETUP]
        self._restarted = np.zeros(size, dtype=np.int64)
        np.maximum.at(self._restarted, places["rank"][setup], places["index"][setup].astype(np.int64))
        before = closed[places["index"][closed] < self._restarted[places["rank"][closed]]]
        if len(before):
            rows = np.concatenate((setup, _newest(self._streams, before)))
            order = np.lexsort((places["sequence"][rows], places["rank"][rows]))
            self._kind_rows[_SETUP] = rows[order]

    def _may_close(self) -> np.ndarray:
        """(n_ranks,) whether a frame may wait for a rank: none that has ended, or never will come."""
        silent = self._group < 0
        if self.state == "running" or (self._last_index[silent] >= 0).any():
            silent[:] = False
        return ~self._has_ended & ~silent

    def _join(self) -> None:
        """Puts the entries of measured steps into frames, by frame, rank and step."""
        rows = self._measured
        indexes = self._streams.places["index"][rows]
        spans = self._streams.places["span"][rows]
        longest = int(spans.max(initial=1))
        self._at_least = 1
        frame, first, last = _bridge.join_entries(indexes, spans, 1)
        if self._span is None and len(first):
            longest = max(longest, int((last - first).max()) + 1)
        if self._span != 1:
            self._at_least = longest if self._span is None else self._span
            frame, first, last = _bridge.join_entries(indexes, spans, self._at_least)
        if (last[frame] != indexes).any():  # else each frame is one index, and the order is right
            order = np.lexsort((self._streams.places["rank"][rows], frame))
            rows, frame = rows[order], frame[order]
        self._step_rows, self._frame_index = rows, last.astype(np.int64)
        self._frame_begin = np.searchsorted(frame, np.arange(len(last) + 1))
        self._spans: np.ndarray | None = None  # until somebody asks

    def _begins_of_ranks(self) -> np.ndarray:
        """Where in `_step_rows` the entries of each rank in each frame begin."""
        rank = self._streams.places["rank"][self._step_rows]
        is_first = np.ones(len(rank), dtype=bool)
        is_first[1:] = rank[1:] != rank[:-1]
        is_first[self._frame_begin[:-1]] = True
        return np.flatnonzero(is_first)

    def _closed_in_all(self) -> np.ndarray:
        """(n_ranks,) how many steps each rank closed, -1 if a rank of its group did not end well. Steps by
        the clock end when a rank ends, so their number does not matter."""
        by_clock = bool(self._configured("step_seconds", 0))
        closed = np.full(len(self.rank_entries), -1, dtype=np.int64)
        for rank, end in self.ends.items():
            if rank < len(closed) and end.get("reason") != "abort" and not by_clock:
                closed[rank] = max(end.get("steps", 0) - self._restarted[rank], 0)
        unknown = np.unique(self._group[closed < 0])
        closed[np.isin(self._group, unknown)] = -1
        return closed

    def _configured(self, key: str, otherwise: Any) -> Any:
        return self.info.get("configuration", _NOTHING).get(key, otherwise)

    def _sources(self) -> list[frozenset[str]]:
        """The sources of each rank, as known so far; ranks with the same ones share a set."""
        known: dict[tuple, frozenset[str]] = {}
        sources = []
        for rank, entry in enumerate(self.rank_entries):
            bodies = (entry or _NOTHING, self.ends.get(rank, _NOTHING))
            names = tuple(name for body in bodies for name in body.get("sources") or ())
            sources.append(known.setdefault(names, frozenset(names)))
        return sources

    @property
    def is_whole(self) -> bool:
        """Whether the run ended without closing a step, and is one frame."""
        some = any(len(rows) for rows in self._kind_rows.values())
        return some and self.state != "running" and not (self._last_index >= 0).any()

    def _rows(self, position: int) -> np.ndarray:
        """Rows in `places` of a frame's entries."""
        if self.is_whole:
            return np.concatenate([self._kind_rows[kind] for kind in (_SETUP, _TEARDOWN)])
        return self._step_rows[slice(*self._frame_begin[[position, position + 1]])]

    def _build(self, kind: str, index: int, rows: np.ndarray) -> Frame:
        read = self._columns.read_tables(self._streams.places_of([rows]), self._columns.names)
        open_ = self._is_partial(index, rows, kind == "step")
        described = len(self._streams.of_type("communicator")) > 0
        of_frame = partial(of_one_frame, self._streams.only(rows, 1), described)
        return build_frame(kind, index, open_, self._columns, read, self._alike, self.stamps, of_frame)

    def _is_partial(self, index: int, rows: np.ndarray, of_steps: bool) -> bool:
        """Whether these steps are still open: some rank of their groups has neither closed the last one nor a
        later one, nor ended."""
        if of_steps and index < self._closed_by_all:
            return False
        if of_steps and self.state == "running" and (index + 1) % self._at_least:
            return True  # steps of later entries may join it
        ranks = self._streams.places["rank"][rows]
        behind = self._last_index <= index
        behind[ranks] = of_steps & (self._last_index[ranks] < index)  # it has some of the steps
        waited_for = np.isin(self._group, self._group[ranks])
        if self.state == "running":
            waited_for |= self._group < 0  # ranks that have not checked in may yet
        return bool((behind & waited_for & ~self._has_ended).any())

    def _mesh_versions(self, rank: int, indexes: np.ndarray) -> np.ndarray:
        """Mesh version of a rank at each step index, or in the nearest earlier step (0: none)."""
        begin, end = np.searchsorted(self._every_rank, [rank, rank + 1])
        if begin == end:
            return np.zeros(len(indexes), dtype=np.int64)
        places = self._streams.places[self._every_step[begin:end]]
        at = np.searchsorted(places["index"], indexes, side="right") - 1
        return places["mesh_version"][np.maximum(at, 0)].astype(np.int64)

    def last_stamps(self) -> np.ndarray:
        """(n_ranks,) ns, the last stamp of each rank; 0 if it has none."""
        last = np.zeros(self.n_ranks, dtype=np.int64)
        rows = np.concatenate((self._kind_rows[_SETUP], self._last_steps(), self._kind_rows[_TEARDOWN]))
        for here, tables in self._streams.steps(rows):
            ends = tables["steps"]["end_ns"]
            np.maximum.at(
                last, self._streams.places["rank"][here], np.minimum(ends, 1 << 62).astype(np.int64)
            )
        return last

    def _last_steps(self) -> np.ndarray:
        """Row of the last step entry of each rank that has one."""
        ranks = self._every_rank
        return self._every_step[np.append(ranks[1:] != ranks[:-1], True)[: len(ranks)]]

    def _newest_realtime(self) -> dict[int, int]:
        """CLOCK_REALTIME of the newest step or setup entry of each rank that has not ended."""
        places = self._streams.places
        rows = np.concatenate((self._kind_rows[_SETUP], self._last_steps()))
        newest: dict[int, int] = {}
        for here, tables in self._streams.steps(rows[~np.isin(places["rank"][rows], list(self.ends))]):
            for rank, time_ns in zip(places["rank"][here].tolist(), tables["steps"]["realtime_ns"].tolist()):
                newest[rank] = max(time_ns, newest.get(rank, 0))
        return newest


def _checked(span: int | None) -> int | None:
    if span is not None and span < 1:
        raise RunError(f"frames of {span} steps were asked for; a frame holds at least 1 step")
    return span


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


def _newest(streams: Streams, rows: np.ndarray, rank_first: bool = False) -> np.ndarray:
    """Rows sorted by (index, rank), or by (rank, index); of duplicates only the newer stays."""
    rank, index = streams.places["rank"][rows], streams.places["index"][rows]
    order = np.lexsort((index, rank) if rank_first else (rank, index))  # the newer duplicate comes last
    rank, index = rank[order], index[order]
    last = np.ones(len(rows), dtype=bool)
    last[:-1] = (rank[1:] != rank[:-1]) | (index[1:] != index[:-1])
    return rows[order[last]]
