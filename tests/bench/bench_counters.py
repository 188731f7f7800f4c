# SPDX-License-Identifier: BSD-3-Clause
"""Cost of a region with no counter, one and four."""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

import programs
from report import figure

import perfield

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from compiled.counting import counters_of

EVENT_NS = 25  # on top of two clock reads, without counters
CHOICES = {  # the kernel's counters need two system calls per pair, the processor's none
    "the kernel": ("page_faults", "page_faults,minor_faults,major_faults,task_clock"),
    "the processor": ("instructions", "instructions,cycles,cache_references,cache_misses"),
}


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = programs.build("events.c", folder)

        def pairs(counters: str) -> list[float] | None:
            """Nanoseconds per pair in each repetition; None if this machine lacks one of the counters."""
            here = folder / (counters or "none")
            here.mkdir()
            printed = programs.run(1, program, "regions", measured=True, cwd=here, PERFIELD_COUNTERS=counters)
            found = counters_of(perfield.open(here / "perfield-run"))
            chosen = counters.replace("task_clock", "task_clock_time").split(",")
            wanted = sorted(name for name in chosen if name)
            return [float(line) for line in printed.split()] if found == wanted else None

        none = pairs("")
        _, reads = programs.clock_reads(program)
        figure("a region's pair without counters", none, "ns", target=statistics.median(reads) + EVENT_NS)
        for whose, choices in CHOICES.items():
            for counters in choices:
                label = f"{counters.count(',') + 1} of {whose}"
                found = pairs(counters)
                if found is None:
                    print(f"not on this machine: {label}", file=sys.stderr)
                else:
                    figure(f"a region's pair with counters: {label}", found, "ns", target=None)


if __name__ == "__main__":
    main()
