# SPDX-License-Identifier: BSD-3-Clause
"""What perfield adds to a file call, through descriptors and through a stream's buffer."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

import programs
from report import figure

CALL_NS = 30  # on top of two clock reads
CALLS = {
    "write": "pwrite of 64 bytes",
    "read": "pread of 64 bytes",
    "pipe": "write and read of a pipe, which are not counted",
    "fwrite": "fwrite of 64 bytes into the buffer",
    "fread": "fread of 64 bytes from the buffer",
    "printf": "fprintf of a line into the buffer",
    "putc": "putc into the buffer",
}


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        events, io = programs.build("events.c", folder), programs.build("io.c", folder)
        _, reads = programs.clock_reads(events)
        for what, label in CALLS.items():
            added = [float(line) for line in programs.run(1, io, what, measured=True).split()]
            target = statistics.median(reads) + CALL_NS if what in ("write", "read") else None
            figure(f"{label}, added", added, "ns", target=target)


if __name__ == "__main__":
    main()
