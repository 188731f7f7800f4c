# SPDX-License-Identifier: BSD-3-Clause
"""Small OTF2 traces of known content, written as Score-P writes them. Needs the module otf2.

    from known_runs import small_traces

    anchor = small_traces.write_ring(tmp_path / "trace", ranks=4, steps=3)
    with small_traces.Writer(tmp_path / "other", ranks=1) as trace:  # anything else
        trace.events[0].enter(100, trace.region("main"))

The trace's clock ticks once per ns and starts at START. In the ring, each step of rank r takes STEP ns:
`solve` takes (r + 1) * 1000 ns, `exchange` the rest. In `exchange` the rank sends 100 * (r + 1) bytes to the
next rank (MPI_Isend, ISEND ns) and waits for the message of the rank before (MPI_Wait) until 100 ns before
the end. The communicator of these messages reverses the ranks. There are at most 18 ranks, and GAP ns
between two steps.
"""

from __future__ import annotations

from pathlib import Path

import pytest

otf2 = pytest.importorskip(
    "otf2", reason="the module otf2 is not installed here; Debian has it as python3-otf2"
)

START, STEP, SETUP = 1_000_000, 20_000, 10_000
ISEND, GAP = 300, 500


class Writer:
    """A trace that is being written; a context manager.

    events : the writer of each rank's first thread. others : those of the second threads, with threads=2.
    world, reversed : communicators of all ranks, unless mpi=False.
    """

    def __init__(
        self,
        folder: Path,
        ranks: int = 2,
        hosts: tuple[str, ...] = ("node0",),
        threads: int = 1,
        mpi: bool = True,
    ):
        self.anchor = folder / "traces.otf2"
        self.archive = otf2.writer.Writer(str(folder), timer_resolution=1_000_000_000)
        definitions = self.definitions = self.archive.definitions
        root = definitions.system_tree_node("machine", class_name="machine")
        nodes = [definitions.system_tree_node(host, class_name="node", parent=root) for host in hosts]
        self.groups = [
            definitions.location_group(f"MPI Rank {r}", system_tree_parent=nodes[r * len(hosts) // ranks])
            for r in range(ranks)
        ]
        self.events = [self.archive.event_writer("Master thread", group=group) for group in self.groups]
        self.others = [
            self.archive.event_writer("OMP thread 1", group=group) for group in self.groups * (threads - 1)
        ]
        self.locations = [location for location in definitions.locations if "Master" in location.name]
        definitions.group("", otf2.GroupType.COMM_LOCATIONS, otf2.Paradigm.MPI, members=self.locations)
        if not mpi:
            return
        self.world = self.comm("MPI_COMM_WORLD", self.locations)
        self.reversed = self.comm("", self.locations[::-1])

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self.archive.close()

    def comm(self, name: str, locations: list):
        """A communicator of these locations."""
        group = self.definitions.group(
            f"of {name}", otf2.GroupType.COMM_GROUP, otf2.Paradigm.MPI, members=locations
        )
        return self.definitions.comm(name, group)

    def region(self, name: str, **more):
        """A region; a name that begins with MPI_ makes it a function of MPI."""
        paradigm = otf2.Paradigm.MPI if name.startswith("MPI_") else otf2.Paradigm.COMPILER
        return self.definitions.region(name, paradigm=paradigm, **more)

    def inside(self, rank: int, name: str, begin: int, end: int, *halfway) -> None:
        """The rank's first thread enters and leaves a region. halfway : (event, arguments...) of each."""
        events, region = self.events[rank], self.region(name)
        events.enter(START + begin, region)
        for event, *arguments in halfway:
            getattr(events, event)(START + (begin + end) // 2, *arguments)
        events.leave(START + end, region)


def write_ring(folder: Path, ranks: int = 4, steps: int = 3, **more) -> Path:
    """Writes the ring (see above); returns the anchor file. more : as for Writer."""
    with Writer(folder, ranks, **more) as trace:
        for rank in range(ranks):
            _write_rank(trace, rank, ranks, steps)
    return trace.anchor


def begin_of(step: int) -> int:
    """Time at which ranks of the ring enter a step's region, ns after START."""
    return SETUP + step * (STEP + GAP)


def _write_rank(trace: Writer, rank: int, ranks: int, steps: int) -> None:
    events, main, time_step = trace.events[rank], trace.region("main"), trace.region("time_step")
    after, before = (rank + 1) % ranks, (rank - 1) % ranks
    solve = 1000 * (rank + 1)
    events.program_begin(START, "/home/user/ring", ["ring.input"])
    events.enter(START, main)
    trace.inside(rank, "MPI_Init", 1000, 9000)
    for step in range(steps):
        begin = begin_of(step)
        events.enter(START + begin, time_step)
        trace.inside(rank, "solve", begin, begin + solve)
        exchange = trace.region("exchange", source_file="ring.c", begin_line_number=7)
        events.enter(START + begin + solve, exchange)
        at = begin + solve
        sent = ("mpi_isend", ranks - 1 - after, trace.reversed, 0, 100 * (rank + 1), 2 * step)
        trace.inside(rank, "MPI_Isend", at, at + ISEND, sent)
        came = ("mpi_irecv", ranks - 1 - before, trace.reversed, 0, 100 * (before + 1), 2 * step + 1)
        trace.inside(rank, "MPI_Wait", at + ISEND, begin + STEP - 100, came)
        events.leave(START + begin + STEP, exchange)
        events.leave(START + begin + STEP, time_step)
    end = begin_of(steps)
    trace.inside(rank, "MPI_Finalize", end, end + 1000)
    events.leave(START + end + 2000, main)
    events.program_end(START + end + 2000, 0)
