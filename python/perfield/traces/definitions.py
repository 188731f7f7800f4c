# SPDX-License-Identifier: BSD-3-Clause
"""Definitions of a trace, which come before its events: ranks, hosts, regions, communicators, clock.

A rank is a process of the trace, numbered by its place in MPI_COMM_WORLD; its locations are the threads.
"""

from __future__ import annotations

import io
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfield import _bridge
from perfield.traces.errors import TraceError
from perfield.traces.library import otf2_modules, quiet_callbacks, reason
from perfield.traces.metrics import MOST, Metrics, read_metrics
from perfield.traces.peers import read_peers

LATEST_NS = 2**62  # a time in the year 2116
EXPECTED = (
    "It should be the anchor file of an OTF2 trace (Score-P writes traces.otf2), with traces.def and the "
    "folder traces beside it."
)


@dataclass(frozen=True)
class TraceRank:
    """One rank. locations : the trace's numbers for its threads, the first thread's first."""

    rank: int
    host: str
    node: int
    locations: tuple[int, ...]


@dataclass(frozen=True)
class TraceRegion:
    """A region of the trace.

    symbol : its linker name in the program file, "" if not known.
    call : the number of its MPI call in calls.def, 0 if it is none. is_code : it belongs to the program
    itself, so it is not an MPI call, no file I/O and no artificial region of the recording tool.
    """

    name: str
    symbol: str
    file: str
    line: int
    call: int
    is_code: bool


@dataclass(frozen=True)
class Clock:
    """The trace's clock. resolution : ticks per second. start, length : the trace's, in ticks.

    start_ns : CLOCK_REALTIME at `start`.
    """

    resolution: int
    start: int
    length: int
    start_ns: int

    def ns(self, ticks: int) -> int:
        """Converts ticks to ns."""
        return (ticks * 1_000_000_000 + self.resolution // 2) // self.resolution


@dataclass(frozen=True)
class Trace:
    """The definitions of a trace; keys are the trace's own numbers.

    peers : its communicators, as `_bridge.TracePeers`. windows : RMA window -> its communicator.
    files : I/O handle -> "POSIX", "ISOC", "MPI-IO". contexts : calling context -> region.
    sources : names for the rank entries: the sources that would record the same in a measured program.
    notes : sentences on what is left out.
    """

    path: Path
    ranks: list[TraceRank]
    regions: dict[int, TraceRegion]
    peers: Any
    windows: dict[int, int]
    files: dict[int, str]
    contexts: dict[int, int]
    strings: dict[int, str]
    clock: Clock
    n_events: int
    sources: list[str]
    notes: list[str]
    metrics: Metrics = field(default_factory=Metrics)


def read_definitions(path: Path) -> Trace:
    """Reads the definitions of a trace. path : its anchor file, traces.otf2. Raises TraceError."""
    otf2, library = otf2_modules()
    check_anchor(path)
    stderr = io.StringIO()
    try:
        with quiet_callbacks() as stderr, otf2.reader.open(str(path)) as reader:
            return _Definitions(otf2, path, reader.definitions).trace()
    except (library.Error, otf2.error.Error, LookupError, TypeError, UnicodeDecodeError) as error:
        raise TraceError(f"{path} cannot be read as a trace: {reason(error, stderr)}. {EXPECTED}") from error


def check_anchor(path: Path) -> None:
    """Raises TraceError if there is no such file."""
    advice = "give the anchor file of an OTF2 trace, which Score-P calls traces.otf2"
    if not path.exists():
        raise TraceError(f"{path} does not exist; {advice}.")
    if path.is_dir():
        found = sorted(path.glob("*.otf2"))
        hint = f"perhaps {found[0]}" if found else "this folder has none"
        raise TraceError(f"{path} is a folder; {advice}: {hint}.")


class _Definitions:
    """Turns the library's definitions into tables."""

    def __init__(self, otf2: Any, path: Path, definitions: Any):
        self.otf2, self.path, self.definitions = otf2, path, definitions
        self.notes: list[str] = []

    def trace(self) -> Trace:
        """Reads all definitions."""
        definitions = self.definitions
        processes = self._processes()
        rank_of = {group: rank for rank, group in enumerate(processes)}
        ranks, rank_of_location, n_events = self._ranks(processes, rank_of)
        return Trace(
            path=self.path,
            ranks=ranks,
            regions={region._ref: self._region(region) for region in definitions.regions},
            peers=read_peers(self.otf2, definitions.comms, rank_of_location),
            windows={window._ref: window.comm._ref for window in definitions.rma_wins if window.comm},
            files={handle._ref: handle.io_paradigm.identification for handle in definitions.io_handles},
            contexts={context._ref: context.region._ref for context in definitions.calling_contexts},
            strings={string._ref: string.name for string in definitions.strings},
            clock=self._clock(),
            n_events=n_events,
            sources=self._sources(),
            notes=self.notes,
            metrics=self._metrics(),
        )

    def _world(self) -> Any:
        named = [comm for comm in self.definitions.comms if comm.name == "MPI_COMM_WORLD"]
        return max(named, key=lambda comm: len(comm.group.members), default=None)

    def _processes(self) -> list[int]:
        """The number of each rank's location group, by rank."""
        is_process = self.otf2.LocationGroupType.PROCESS
        groups = [g for g in self.definitions.location_groups if g.location_group_type == is_process]
        world = self._world()
        if world is None or not world.group.members:  # Score-P lists no members if there is one rank
            found = [group._ref for group in groups]
        else:
            found = list(dict.fromkeys(location.group._ref for location in world.group.members if location))
            others = len({group._ref for group in groups} - set(found))
            if others:
                self.notes.append(f"{others} processes that are not in MPI_COMM_WORLD are left out")
        if not found:
            raise TraceError(f"{self.path} has no processes, so there is nothing to import from it.")
        return found

    def _ranks(self, processes: list[int], rank_of: dict[int, int]):
        """The ranks, the rank of each location, and the number of events on all threads."""
        threads: list[list[int]] = [[] for _ in processes]
        groups: dict[int, Any] = {}
        n_events, n_others, rank_of_location = 0, 0, {}
        for location in self.definitions.locations:
            rank = rank_of.get(location.group._ref)
            if rank is None:
                continue
            rank_of_location[location._ref] = rank
            groups[rank] = location.group
            if location.type == self.otf2.LocationType.CPU_THREAD:
                threads[rank].append(location._ref)
                n_events += location.number_of_events
            elif location.number_of_events:
                n_others += 1
        if n_others:
            self.notes.append(
                f"{n_others} locations that are no threads of a CPU (devices, metrics) are left out"
            )
        shared = {
            domain.system_tree_node._ref
            for domain in self.definitions.system_tree_node_domains
            if domain.system_tree_node_domain == self.otf2.SystemTreeDomain.SHARED_MEMORY
        }
        ranks = []
        for rank, locations in enumerate(threads):
            node = _node(groups[rank].system_tree_parent, shared)
            ranks.append(TraceRank(rank, node.name or "", node._ref, tuple(locations)))
        return ranks, rank_of_location, n_events

    def _region(self, region: Any) -> TraceRegion:
        roles = self.otf2.RegionRole
        name = region.name or ""
        file = region.source_file or ""
        is_mpi = name.startswith("MPI_") and region.paradigm == self.otf2.Paradigm.MPI
        made_up = region.region_role in (roles.ARTIFICIAL, roles.FILE_IO, roles.FILE_IO_METADATA)
        call = _MPI_FUNCTIONS.get(name, 0) if is_mpi else 0
        line, is_code = region.begin_line_number or 0, not is_mpi and not made_up
        line = line if line < 1 << 31 else 0  # OTF2 has its largest number for an unknown line
        return TraceRegion(name, region.canonical_name or "", file, line, call, is_code)

    def _sources(self) -> list[str]:
        paradigms = {paradigm.identification for paradigm in self.definitions.io_paradigms}
        has_files = bool(paradigms & {"POSIX", "ISOC"})
        return ["otf2", *["scorep-mpi"] * (self._world() is not None), *["io"] * has_files]

    def _metrics(self) -> Metrics:
        metrics, n_left_out = read_metrics(self.otf2, self.definitions)
        if n_left_out:
            self.notes.append(f"{n_left_out} counters are left out: a run has room for {MOST}")
        return metrics

    def _clock(self) -> Clock:
        properties = self.definitions.clock_properties
        resolution, length = properties.timer_resolution, properties.trace_length
        if not resolution or length * 1_000_000_000 // resolution > LATEST_NS:
            raise TraceError(
                f"{self.path} has a length of {length} ticks at {resolution} per second, which is not a time."
            )
        length_ns, start_ns = length * 1_000_000_000 // resolution, properties.realtime_timestamp
        if not 0 < start_ns < LATEST_NS:  # unknown: the anchor file is written at the end
            start_ns = max(self.path.stat().st_mtime_ns - length_ns, 0)
        return Clock(resolution, properties.global_offset, length, start_ns)


def _node(tree: Any, shared: Collection[int]) -> Any:
    """The computer that a process ran on: the nearest ancestor in the tree that shares memory.

    shared : numbers of the tree nodes that share memory.
    """
    node = tree
    while node is not None and node._ref not in shared and node.class_name != "node":
        node = node.parent
    return node or tree


_MPI_FUNCTIONS = _bridge.mpi_functions()
