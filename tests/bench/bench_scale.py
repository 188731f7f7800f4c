# SPDX-License-Identifier: BSD-3-Clause
"""Runs of many nodes: what their ranks write, and what it takes to open them, on one machine.

Synthetic streams of 1,000 nodes with 128 ranks each are as measured programs write them. 16 nodes of 64 ranks
are real recorder processes with a fake MPI and fake hosts (tests/scale/simulate.py). Times are CPU seconds,
as other programs use the cores.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import report

sys.path[:0] = [str(report.REPOSITORY / "tests/scale"), str(report.REPOSITORY / "tests")]
NODES, PER_NODE, STEPS = 1000, 128, 10
REAL_NODES, REAL_PER_NODE, REAL_STEPS = 16, 64, 100
DEFINITIONS = ("region", "quantity", "definition", "defined")


def of_opening(what: str, found: dict[str, float], open_s: float, frame_s: float, memory: float) -> None:
    """Prints the figures of opening a run."""
    report.figure(f"{what}: CPU to open", [found["open_cpu_s"]], "s", target=open_s)
    report.figure(f"{what}: CPU to a frame", [found["frame_cpu_s"]], "s", target=frame_s)
    report.figure(f"{what}: memory", [found["memory_GB"]], "GB", target=memory)


def definitions(run: Path) -> tuple[int, int]:
    """Entries and bytes of definitions in a run."""
    from perfield.run.streams import TYPES, Streams

    places = Streams(run / "stream", run / "analysis", 0).places
    sizes = [places["body_bytes"][places["type"] == TYPES[name]] for name in DEFINITIONS]
    return sum(map(len, sizes)), sum(int(size.sum()) + 48 * len(size) for size in sizes)


def main() -> None:
    """Writes both runs into a temporary folder and measures them."""
    import simulate
    import synthetic

    from perfield import _bridge

    print(f"load average {os.getloadavg()[0]:.1f}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="perfield-bench-") as folder:
        path = synthetic.write(Path(folder) / "synthetic", NODES, PER_NODE, STEPS)
        what = f"{NODES} nodes x {PER_NODE} ranks x {STEPS} steps, synthetic"
        of_opening(what, simulate.in_own_process(path), 20.0, 2.0, 4.0)
        entries, size = definitions(path)
        ranks = NODES * PER_NODE
        report.figure(f"{what}: definition entries per rank", [entries / ranks], "", target=2.0)
        report.figure(f"{what}: bytes of definitions per rank", [size / ranks], "B", target=600.0)
        began = time.process_time()
        _bridge.summary_lines(str(path))
        report.figure(f"{what}: CPU of the closing lines", [time.process_time() - began], "s", target=20.0)

        path = Path(folder) / "simulated"
        run = simulate.simulate(path, REAL_NODES, REAL_PER_NODE, REAL_STEPS)
        what = f"{REAL_NODES} nodes x {REAL_PER_NODE} processes x {REAL_STEPS} steps, simulated"
        each = run.stream_bytes / (run.n_ranks * run.n_steps)
        report.figure(f"{what}: bytes per rank and step, everything included", [each], "B", target=None)
        report.figure(f"{what}: files", [run.n_files], "", target=None)
        report.figure(f"{what}: path operations of a rank", [run.path_calls], "", target=None)
        report.figure(f"{what}: path operations in steps", [run.path_calls_in_steps], "", target=0.0)
        of_opening(what, simulate.in_own_process(path), 2.0, 0.5, 1.0)


if __name__ == "__main__":
    main()
