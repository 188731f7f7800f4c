# SPDX-License-Identifier: BSD-3-Clause
"""What a region costs with counters of the kernel: with none, with one and with four."""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

import programs
from report import figure

import perfield

EVENT_NS = 25  # beside two reads of the clock, with no counter
CHOICES = {  # of the kernel, where each pair makes two calls of the system; of the processor, which need none
    "the kernel": ("page_faults", "page_faults,minor_faults,major_faults,task_clock"),
    "the processor": ("instructions", "instructions,cycles,cache_references,cache_misses"),
}


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = programs.build("events.c", folder)

        def pairs(counters: str) -> list[float] | None:
            """Nanoseconds of each repetition; None where this machine has not all these counters."""
            here = folder / (counters or "none")
            here.mkdir()
            printed = programs.run(1, program, "regions", measured=True, cwd=here, PERFIELD_COUNTERS=counters)
            found = perfield.open(here / "perfield-run").counters.names
            wanted = [name for name in counters.split(",") if name]
            return [float(line) for line in printed.split()] if len(found) == len(wanted) else None

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
