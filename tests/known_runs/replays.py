# SPDX-License-Identifier: BSD-3-Clause
"""Replays one rank of a trace from events as the library delivers them, and reads its stream back.

A tick is 1 ns here. The rank is 1 of 4; its trace has the regions, communicators and files below.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace

from perfield import _bridge
from perfield.traces.definitions import Clock, Trace, TraceRank, TraceRegion
from perfield.traces.metrics import Metrics
from perfield.traces.selection import RegionChoice
from twins import twin

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


def trace() -> Trace:
    names = {MAIN: "main", ADVANCE: "advance", FLUX: "flow::flux"}
    regions = {number: TraceRegion(name, "", "flow.f90", 7, 0, True) for number, name in names.items()}
    regions[FWRITE] = TraceRegion("fwrite", "", "", 0, 0, False)
    calls = _bridge.mpi_functions()
    for name, number in MPI.items():
        regions[number] = TraceRegion(name, "", "", 0, calls.get(name, 0), False)
    peers = _bridge.TracePeers(
        {WORLD: (range(4),), REVERSED: ((3, 2, 1, 0),), SELF: (None,), BRIDGE: ((0, 1), (2, 3))}
    )
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


STEP, SETUP, TEARDOWN = 0, 1, 2  # kinds of entry
PAUSED = 1  # flag of an entry


def replayed(*events: tuple, regions=("*",), step_region="advance", of=None, **more):
    """Returns (step entries, the entry after them) of these events; the rank enters main at 0 before them.

    An event is (kind, location, time, ...), its kind a method of `_bridge.Follower`. of : the trace. more :
    limits of the configuration. replayed.names, .rank and .end keep the names of the regions and the
    rank's two other entries.
    """
    of = of or trace()
    tables = RegionChoice(of, regions, step_region).tables(**more)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.pf"
        follower = _bridge.Follower(tables, path=str(path), run_id=7, rank=1, size=4, first_location=MASTER)
        for kind, *arguments in [("enter", MASTER, 0, MAIN), *events]:
            getattr(follower, kind)(*arguments)
        follower.end("finalize")
        entries, damage = twin.decode(path.read_bytes())
    assert not damage
    bodies = {
        kind: [e for e in entries if e["type"] == kind]
        for kind in ("rank", "region", "quantity", "step", "end")
    }
    assert [len(bodies["rank"]), len(bodies["end"])] == [1, 1]
    replayed.names = {0: "other regions"} | {e["body"]["id"]: e["body"]["name"] for e in bodies["region"]}
    replayed.quantities = {e["body"]["id"]: e["body"]["name"] for e in bodies["quantity"]}
    replayed.rank, replayed.end = bodies["rank"][0]["body"], bodies["end"][0]["body"]
    *steps, behind = [step_of(e) for e in bodies["step"]]
    return steps, behind


def step_of(entry: dict) -> SimpleNamespace:
    """A step entry; its tables are lists of rows with the columns of docs/stream.md."""
    body = dict(entry["body"])
    for name, (_, columns) in twin.TABLES.items():
        body[name] = [tuple(row.get(column, 0) for column in columns) for row in body[name]]
    return SimpleNamespace(index=entry["index"], **body)


def inside(region: int, begin: int, end: int, *halfway: tuple, location: int = MASTER) -> list[tuple]:
    """The location enters and leaves a region; `halfway`, as (kind, ...), are events halfway."""
    middle = [(kind, location, (begin + end) // 2, *arguments) for kind, *arguments in halfway]
    return [("enter", location, begin, region), *middle, ("leave", location, end, region)]


def of_regions(step) -> dict[str, tuple]:
    """Region -> (threads, count, inclusive time of the longest thread, its self time)."""
    return {replayed.names[row[0]]: (row[1], row[2], row[5], row[8]) for row in step.regions}


def of_calls(step) -> dict[int, tuple]:
    """Call -> (class, count, ns, bytes out, bytes in)."""
    return {row[0]: (row[1], *row[3:]) for row in step.calls}


def of_quantities(step, region: str | None) -> dict[str, int]:
    """Quantity -> value, of a region or, without one, of the rank."""
    name_of = replayed.names | {twin.OF_RANK: None}
    rows = [row for row in step.quantities if name_of[row[0]] == region]
    return {replayed.quantities[row[1]]: row[3] for row in rows}
