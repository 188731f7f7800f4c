# SPDX-License-Identifier: BSD-3-Clause
"""What one event costs inside the measured program: regions, MPI calls, closing a step, memory."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

import programs
from report import figure

import perfield

EVENT_NS = 25  # beside two reads of the clock
CALL_NS = 30
STEP_US = 8
MEMORY_BYTES = 2e6
PEERS = 26


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        events = programs.build("events.c", folder)

        def numbers(n: int, what: str, measured: bool) -> list[float]:
            return [float(line) for line in programs.run(n, events, what, measured=measured).split()]

        programs.run(1, events, "regions", measured=True, cwd=folder)
        clock = perfield.open(folder / "perfield-run").ranks[0]["clock"]
        reads = numbers(1, f"clock-{clock}", measured=False)
        two_reads = statistics.median(reads)
        figure(f"two reads of the clock in use ({clock})", reads, "ns", target=None)

        figure(
            "a region's enter and exit",
            numbers(1, "regions", measured=True),
            "ns",
            target=two_reads + EVENT_NS,
        )
        for what, label in (
            ("calls", "a counted MPI call (MPI_Test)"),
            ("messages", "a call with a message"),
        ):
            bare = statistics.median(numbers(1, what, measured=False))
            added = [value - bare for value in numbers(1, what, measured=True)]
            figure(f"{label}, added", added, "ns", target=two_reads + CALL_NS)
        closing = [value / 1e3 for value in numbers(PEERS + 1, "steps", measured=True)]
        figure("closing a step (10 regions, 26 peers), CPU", closing, "µs", target=STEP_US)
        bare = statistics.median(numbers(2, "memory", measured=False)[0] for _ in range(5))
        grown = [numbers(2, "memory", measured=True)[0] - bare for _ in range(5)]
        figure("private memory of a rank, added", grown, "bytes", target=MEMORY_BYTES)


if __name__ == "__main__":
    main()
