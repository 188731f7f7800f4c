# SPDX-License-Identifier: BSD-3-Clause
"""Cost of one event inside the measured program: regions, MPI calls, closing a step, memory."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

import instructions
import programs
from report import figure

EVENT_NS = 25  # on top of two clock reads
CALL_NS = 30
LOOKING = instructions.CALL + 40
PAIR = 150  # instructions of a region's enter and exit
STEP_US = 8
QUANTITY_NS = 5
MEMORY_BYTES = 2e6
PEERS = 26
MPIS = {"openmpi": "Open MPI", "mpich": "MPICH"}


def count(built: dict[str, Path]) -> None:
    """Prints the instructions that perfield adds to regions, calls and messages.

    built : programs/events.c for each MPI.
    """
    pair = instructions.added(built["openmpi"], "regions")
    figure("a region's enter and exit, added", [pair], "instructions", target=PAIR)
    for mpi, label_of_mpi in MPIS.items():
        for what, label, target in instructions.EXCHANGES:
            added = instructions.added(built[mpi], what, **instructions.STEPS)
            figure(f"{label}, {label_of_mpi}, added", [added], "instructions", target=target)
            room = (instructions.SHORT_LOG, instructions.LONG_LOG)
            logged = instructions.added(built[mpi], what, room, **instructions.LOGGED)
            label = f"{label}, {label_of_mpi}, added in a step that is logged"
            figure(label, [logged], "instructions", target=None)
        followed = instructions.added(built[mpi], "calls")
        label = "MPI_Test while perfield looks for steps"
        figure(f"{label}, {label_of_mpi}, added", [followed], "instructions", target=LOOKING)


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = {mpi: programs.build("events.c", folder, mpi) for mpi in MPIS}

        def numbers(n: int, what: str, measured: bool, mpi: str = "openmpi") -> list[float]:
            printed = programs.run(n, built[mpi], what, measured=measured, mpi=mpi)
            return [float(line) for line in printed.split()]

        clock, reads = programs.clock_reads(built["openmpi"])
        two_reads = statistics.median(reads)
        figure(f"two reads of the clock in use ({clock})", reads, "ns", target=None)

        figure(
            "a region's enter and exit",
            numbers(1, "regions", measured=True),
            "ns",
            target=two_reads + EVENT_NS,
        )
        added = numbers(1, "quantities", measured=True)
        figure("adding to a quantity", added, "ns", target=QUANTITY_NS)
        for mpi, label_of_mpi in MPIS.items():
            for what, label in (
                ("calls", "a counted MPI call (MPI_Test)"),
                ("messages", "a call with a message"),
            ):
                bare = statistics.median(numbers(1, what, False, mpi))
                added = [value - bare for value in numbers(1, what, True, mpi)]
                figure(f"{label}, {label_of_mpi}, added", added, "ns", target=two_reads + CALL_NS)
        if instructions.can_count():
            count(built)
        closing = [value / 1e3 for value in numbers(PEERS + 1, "steps", measured=True)]
        figure("closing a step (10 regions, 26 peers), CPU", closing, "µs", target=STEP_US)
        bare = statistics.median(numbers(2, "memory", measured=False)[0] for _ in range(5))
        grown = [numbers(2, "memory", measured=True)[0] - bare for _ in range(5)]
        figure("private memory of a rank, added", grown, "bytes", target=MEMORY_BYTES)


if __name__ == "__main__":
    main()
