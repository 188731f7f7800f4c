# SPDX-License-Identifier: BSD-3-Clause
"""Writes a run as a timeline for ui.perfetto.dev: steps, calls, regions and waits of each rank.

perfield keeps sums per step, not each call. So only steps have a place in time that was measured. What a step
is made of is on tracks of its own, as slices one after the other: their lengths are measured, their order
is not, as the names of these tracks say.

The schema is that of the Python package perfetto, which Perfetto's developers publish.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from perfield.derived.run import Run
from perfield.run.snapshot import Snapshot
from perfield.topology import placement_of

MOST_SLICES = 1_000_000  # more make the page slow
CALLS = {  # kind of field -> the slice's name
    "compute_time_s": "computing",
    "delayed_compute_time_s": "waiting for a PU",
    "mpi_p2p_time_s": "point-to-point",
    "mpi_wait_time_s": "wait",
    "mpi_collective_time_s": "collective",
    "mpi_onesided_time_s": "one-sided",
    "mpi_io_time_s": "MPI-IO",
    "mpi_other_time_s": "other MPI",
    "io_time_s": "files",  # without MPI-IO
}
UNKNOWN_ORDER = "(order unknown)"
PARTS = {  # of a step, on tracks below the rank's own
    "calls": (
        f"computing and MPI per step {UNKNOWN_ORDER}",
        "Their lengths are measured, their order is not.",
    ),
    "regions": (
        f"regions per step {UNKNOWN_ORDER}",
        "The time in each region without the regions inside it. Lengths are measured, their order is not.",
    ),
    "waits": (
        f"waits for other ranks per step {UNKNOWN_ORDER}",
        "For whom the rank waited, where a wait shows it. Lengths are measured, their order is not.",
    ),
}
_ROUNDING_NS = 1000  # sums of a step's parts may be that much longer than the step
_SEQUENCE = 1  # all packets are one sequence: names are interned once


@dataclass
class Written:
    """What a timeline holds.

    n_slices, n_steps : how many were written; n_steps counts frames. n_asked : frames that were asked for.
    n_overlapping : parts of steps that were left out because threads overlapped, so that their times add up
    to more than the step. n_unplaced : steps of ranks that have no place on the common clock.
    """

    n_slices: int = 0
    n_steps: int = 0
    n_asked: int = 0
    n_overlapping: int = 0
    n_unplaced: int = 0


def write_timeline(
    run: Run,
    file: BinaryIO,
    positions: Sequence[int],
    fields: Sequence[str] = (),
    most_slices: int = MOST_SLICES,
) -> Written:
    """Writes frames of a run as a Perfetto trace; only a chunk of them is in memory.

    file : open for writing bytes. positions : of the frames, ascending. fields : that become counter tracks.
    most_slices : writing stops with the step that reaches that many.
    """
    return _Timeline(run, file, fields, most_slices).write(np.asarray(positions, np.int64))


class _Timeline:
    def __init__(self, run: Run, file: BinaryIO, fields: Sequence[str], most_slices: int):
        self._snapshot = Snapshot(run)
        self._run, self._fields, self._most = self._snapshot.run, list(fields), most_slices
        self._builder = StreamingTraceProtoBuilder(file)
        self._names: dict[str, int] = {}
        self._categories: dict[str, int] = {}
        self._last_ns = [0] * run.n_ranks
        self._is_first = True
        self._done = Written()
        self._zero_s = self._earliest()

    def write(self, positions: np.ndarray) -> Written:
        run, done = self._run, self._done
        done.n_asked = len(positions)
        self._describe_tracks()
        if len(run) and run.frame(0).kind == "whole":
            frame = run.frame(0)
            self._outside("the whole run", frame.begin_s, frame.end_s)
            done.n_steps = 1
            return done
        everything = len(positions) == len(run)
        if everything:
            self._outside("setup", run.setup.begin_s, run.setup.end_s)
        for steps in self._chunks(positions):
            self._write_steps(steps)
            if done.n_slices >= self._most:
                break
        if everything and done.n_steps == done.n_asked:
            self._outside("teardown", run.teardown.begin_s, run.teardown.end_s)
        return done

    # --- tracks ----------------------------------------------------------------------------------------

    def _describe_tracks(self) -> None:
        """A process for each node, in it a track for each rank, and below that the tracks of its parts."""
        placement = placement_of(self._run)
        labels = [node.label for node in placement.nodes]
        for node in np.unique(placement.node_id).astype(int).tolist():
            descriptor = self._descriptor(_of_node(node))
            descriptor.process.pid = node + 2  # 0 is the kernel's, and -1 stands for no known node
            descriptor.process.process_name = labels[node] if node >= 0 else "no known node"
            descriptor.child_ordering = descriptor.EXPLICIT
            self._put_descriptor()
        for rank, node in enumerate(placement.node_id.astype(int).tolist()):
            descriptor = self._descriptor(_of_rank(rank), _of_node(node), f"rank {rank}", rank)
            descriptor.child_ordering = descriptor.EXPLICIT
            self._put_descriptor()
            for number, (name, about) in enumerate(PARTS.values(), 1):
                self._descriptor(_of_rank(rank, number), _of_rank(rank), name, number).description = about
                self._put_descriptor()
            for number, name in enumerate(self._fields, len(PARTS) + 1):
                descriptor = self._descriptor(_of_rank(rank, number), _of_rank(rank), name, number)
                about = self._run.all_fields[name]
                descriptor.description = f"{about.meaning}, in each step"
                descriptor.counter.unit_name = about.unit
                self._put_descriptor()

    def _descriptor(self, uuid: int, parent: int = 0, name: str = "", order: int = 0):
        self._packet = TracePacket()
        descriptor = self._packet.track_descriptor
        descriptor.uuid = uuid
        if parent:
            descriptor.parent_uuid, descriptor.name, descriptor.sibling_order_rank = parent, name, order
        return descriptor

    def _put_descriptor(self) -> None:
        self._put(self._packet)

    # --- steps -----------------------------------------------------------------------------------------

    def _chunks(self, positions: np.ndarray) -> Iterator[_Steps]:
        run, columns = self._run, self._run.columns
        names = [name for name in CALLS if name in columns.names]
        kind = "<region>_self_time_s"
        of_regions = columns.of_regions(kind) if kind in columns.kinds else []
        own_name = {region.field: region.name for region in run.known_regions}
        regions = [own_name[stem] for stem in columns.stems]
        wanted = ["step_time_s", *names, *of_regions, *self._fields]
        for here, values in self._snapshot.in_chunks(positions, wanted):
            edges = np.cumsum([1, len(names), len(of_regions), len(self._fields)])
            calls, in_regions, counters = (values[:, a:b] for a, b in zip(edges, edges[1:]))
            if {"io_time_s", "mpi_io_time_s"} <= set(names):
                calls[:, names.index("io_time_s")] -= np.nan_to_num(calls[:, names.index("mpi_io_time_s")])
            counters /= run.all_fields.per_step(self._fields, here)
            yield _Steps(
                labels=self._snapshot.frame_headers(here, "label"),
                begin_ns=self._ns(self._snapshot.stamps(here, "begin_s")),
                end_ns=self._ns(self._snapshot.stamps(here, "end_s")),
                calls=([CALLS[name] for name in names], calls),
                regions=(regions, in_regions),
                counters=counters,
                spans=run.spans[here],
                present=np.isfinite(values[:, 0]),
                waits=self._snapshot.run.rows(here, "waits"),
            )

    def _write_steps(self, steps: _Steps) -> None:
        """Writes a chunk of steps, all ranks of a step one after the other."""
        begins, ends = steps.begin_ns.tolist(), steps.end_ns.tolist()
        counters = np.moveaxis(steps.counters, 1, 2).tolist()
        parts = [self._lengths(names, values, steps) for names, values in (steps.calls, steps.regions)]
        waits = self._waits(steps)
        last = self._last_ns
        for step, (label, span) in enumerate(zip(steps.labels.tolist(), steps.spans.tolist())):
            name = f"step {label}" if span == 1 else f"{span} steps up to step {label}"
            for rank in range(self._run.n_ranks):
                begin, end = max(begins[step][rank], last[rank]), ends[step][rank]
                if begins[step][rank] < 0 or end < begin:
                    self._done.n_unplaced += bool(steps.present[step, rank])
                    continue
                last[rank] = end
                self._slice(_of_rank(rank), "step", name, begin, end)
                for number, (category, (names, lengths)) in enumerate(zip(PARTS, parts), 1):
                    self._parts(_of_rank(rank, number), category, begin, end, names, lengths[step][rank])
                if (step, rank) in waits:
                    self._parts(_of_rank(rank, 3), "waits", begin, end, *zip(*waits[step, rank]))
                for number, value in enumerate(counters[step][rank], len(PARTS) + 1):
                    if value == value:
                        self._counter(_of_rank(rank, number), begin, value)
            self._done.n_steps += 1
            if self._done.n_slices >= self._most:
                return

    def _lengths(self, names: list[str], values: np.ndarray, steps: _Steps) -> tuple[list[str], list]:
        """Names, and lengths in ns by step, rank and name; none where they add up to more than the step."""
        lengths = np.moveaxis(_as_ns(values), 1, 2)
        fits = lengths.sum(axis=2) <= steps.end_ns - steps.begin_ns + _ROUNDING_NS
        self._done.n_overlapping += int((~fits & steps.present & (steps.begin_ns >= 0)).sum())
        lengths[~fits] = 0
        return names, lengths.tolist()

    def _waits(self, steps: _Steps) -> dict[tuple[int, int], list[tuple[str, int]]]:
        """For whom each rank waited in each step, and the ns, by step and rank."""
        rows = steps.waits[np.argsort(steps.waits["peer"], kind="stable")]
        at, rank = rows["step"].astype(np.int64), rows["rank"].astype(np.int64)
        lengths, found = _as_ns(rows["time_s"]), {}
        total = np.zeros(steps.begin_ns.shape, np.int64)
        np.add.at(total, (at, rank), lengths)
        fits = total <= steps.end_ns - steps.begin_ns + _ROUNDING_NS
        self._done.n_overlapping += int((~fits & (steps.begin_ns >= 0)).sum())
        kept = fits[at, rank]
        for where in zip(*(column[kept].tolist() for column in (at, rank, rows["peer"], lengths))):
            found.setdefault(where[:2], []).append((f"for rank {where[2]}", where[3]))
        return found

    def _parts(
        self, track: int, category: str, begin: int, end: int, names: Sequence[str], lengths: Sequence[int]
    ) -> None:
        """Slices one after the other, from the begin of a step."""
        for name, length in zip(names, lengths):
            if length > 0:
                until = min(begin + length, end)
                self._slice(track, category, name, begin, until)
                begin = until

    def _outside(self, name: str, begin_s: np.ndarray, end_s: np.ndarray) -> None:
        """A slice of each rank before the first or after the last step."""
        for rank, (begin, end) in enumerate(zip(self._ns(begin_s).tolist(), self._ns(end_s).tolist())):
            since = max(begin, self._last_ns[rank])
            if begin >= 0 and end >= since:
                self._last_ns[rank] = end
                self._slice(_of_rank(rank), "step", name, since, end)

    # --- packets ---------------------------------------------------------------------------------------

    def _slice(self, track: int, category: str, name: str, begin: int, end: int) -> None:
        packet = TracePacket()
        packet.timestamp = begin
        event = packet.track_event
        event.type, event.track_uuid = event.TYPE_SLICE_BEGIN, track
        event.name_iid = self._interned(packet.interned_data.event_names, self._names, name)
        event.category_iids.append(
            self._interned(packet.interned_data.event_categories, self._categories, category)
        )
        self._put(packet)
        packet = TracePacket()
        packet.timestamp = end
        event = packet.track_event
        event.type, event.track_uuid = event.TYPE_SLICE_END, track
        self._put(packet)
        self._done.n_slices += 1

    def _counter(self, track: int, at: int, value: float) -> None:
        packet = TracePacket()
        packet.timestamp = at
        event = packet.track_event
        event.type, event.track_uuid, event.double_counter_value = event.TYPE_COUNTER, track, value
        self._put(packet)

    def _put(self, packet: TracePacket) -> None:
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.sequence_flags = (
            packet.SEQ_INCREMENTAL_STATE_CLEARED if self._is_first else packet.SEQ_NEEDS_INCREMENTAL_STATE
        )
        self._is_first = False
        self._builder.write_packet(packet)

    @staticmethod
    def _interned(table, known: dict[str, int], name: str) -> int:
        """The number of a name; its first use brings the name."""
        number = known.get(name)
        if number is None:
            number = known[name] = len(known) + 1
            table.add(iid=number, name=name)
        return number

    # --- time ------------------------------------------------------------------------------------------

    def _earliest(self) -> float:
        """Seconds on the common clock at which the trace's time is 0."""
        begins = [self._run.setup.begin_s]
        begins += [self._run.frame(0).begin_s] if len(self._run) else []
        known = np.concatenate(begins)
        known = known[np.isfinite(known)]
        return float(known.min()) if len(known) else 0.0

    def _ns(self, seconds: np.ndarray) -> np.ndarray:
        """Nanoseconds of the trace; -1 where unknown."""
        known = np.isfinite(seconds)
        shifted = np.where(known, np.maximum(seconds - self._zero_s, 0.0), 0.0)
        return np.where(known, np.rint(shifted * 1e9), -1).astype(np.int64)


@dataclass(frozen=True)
class _Steps:
    """A chunk of frames: labels and spans (n,), stamps and whether ranks are present (n, n_ranks), names and
    (n, n_names, n_ranks) seconds of calls and regions, (n, n_fields, n_ranks) counters, and rows of waits."""

    labels: np.ndarray
    spans: np.ndarray
    present: np.ndarray
    begin_ns: np.ndarray
    end_ns: np.ndarray
    calls: tuple[list[str], np.ndarray]
    regions: tuple[list[str], np.ndarray]
    counters: np.ndarray
    waits: np.ndarray = field(repr=False)


def _as_ns(seconds: np.ndarray) -> np.ndarray:
    """Whole nanoseconds; 0 where unknown or negative."""
    return np.rint(np.maximum(np.nan_to_num(seconds), 0.0) * 1e9).astype(np.int64)


def _of_node(node: int) -> int:
    """The number of a node's track; node -1 is no known node."""
    return node + 2


def _of_rank(rank: int, part: int = 0) -> int:
    """The number of a rank's track, or of a track below it."""
    return (rank + 1 << 32) + part
