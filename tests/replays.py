# SPDX-License-Identifier: BSD-3-Clause
"""Replays of one rank of a trace, from events as the library tells them.

A tick is a ns here. The rank is 1 of 4; its trace has the regions, communicators and files below.
"""

from __future__ import annotations

from pathlib import Path

from perfield import _bridge
from perfield.traces.definitions import Clock, Trace, TraceRank, TraceRegion
from perfield.traces.files import FILE_CALLS
from perfield.traces.metrics import Metrics
from perfield.traces.peers import Peers
from perfield.traces.replay import Replay
from perfield.traces.selection import RegionChoice

MAIN, ADVANCE, FLUX, FWRITE = range(1, 5)
FUNCTIONS = (
    "Isend",
    "Recv",
    "Wait",
    "Waitall",
    "Put",
    "Ibcast",
    "Allreduce",
    "Comm_rank",
    "Init",
    "File_write_at",
)
MPI = {f"MPI_{name}": 10 + n for n, name in enumerate(FUNCTIONS)}
WORLD, REVERSED, SELF, BRIDGE, WINDOW = 0, 1, 2, 3, 9
DISK, STREAM, SHARED = 0, 1, 2  # handles of POSIX, of C's streams, of MPI-IO
MASTER, OTHER = 100, 101  # locations
CALL = {name: number for number, name, _, _ in _bridge.calls()} | FILE_CALLS
CLASS = {"p2p": 0, "wait": 1, "collective": 2, "io": 4, "file": 6}


def trace() -> Trace:
    names = {MAIN: "main", ADVANCE: "advance", FLUX: "flow::flux"}
    regions = {number: TraceRegion(name, "", "flow.f90", 7, 0, True) for number, name in names.items()}
    regions[FWRITE] = TraceRegion("fwrite", "", "", 0, 0, False)
    calls = _bridge.mpi_functions()
    for name, number in MPI.items():
        regions[number] = TraceRegion(name, "", "", 0, calls.get(name, 0), False)
    peers = Peers({WORLD: (range(4),), REVERSED: ((3, 2, 1, 0),), SELF: (None,), BRIDGE: ((0, 1), (2, 3))})
    ranks = [TraceRank(rank, "node0", 0, (MASTER, OTHER)) for rank in range(4)]
    return Trace(
        path=Path("t.otf2"),
        ranks=ranks,
        regions=regions,
        peers=peers,
        windows={WINDOW: REVERSED},
        files={DISK: "POSIX", STREAM: "ISOC", SHARED: "MPI-IO"},
        contexts={},
        strings={},
        clock=Clock(1_000_000_000, 0, 10_000, 0),
        n_events=0,
        sources=["otf2", "scorep-mpi"],
        notes=[],
        metrics=Metrics(["PAPI_TOT_INS", "ru_minflt"], {0: [(1, 0), (0, 1)]}),
    )


def replayed(*events: tuple, regions=("*",), step_region="advance", **more):
    """(steps, what is behind them) of these events; the rank's first event is main's entry at 0."""
    of = trace()
    replay = Replay(of, 1, RegionChoice(of, regions, step_region, **more))
    steps = list(replay.steps([[("enter", MASTER, 0, MAIN)], list(events)]))
    replayed.names = {number: name for name, number in replay.names.numbers.items()}
    return steps, replay.end()


def inside(region: int, begin: int, end: int, *told: tuple, location: int = MASTER) -> list[tuple]:
    """The location enters and leaves a region; what it tells in between as (kind, ...) is at half time."""
    middle = [(kind, location, (begin + end) // 2, *arguments) for kind, *arguments in told]
    return [("enter", location, begin, region), *middle, ("leave", location, end, region)]


def of_regions(step) -> dict[str, tuple]:
    """Region -> (threads, count, inclusive of the longest thread, own time of the same)."""
    return {replayed.names[row[0]]: (row[1], row[2], row[5], row[8]) for row in step.regions}


def of_calls(step) -> dict[int, tuple]:
    """Call -> (class, count, ns, bytes out, bytes in)."""
    return {row[0]: (row[1], *row[3:]) for row in step.calls}
