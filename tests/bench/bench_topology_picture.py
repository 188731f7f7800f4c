# SPDX-License-Identifier: BSD-3-Clause
"""Cost of the topology picture from arrays in memory: the first one, with its layout, and the next frame.

CPU seconds of 4,096 and of 1,000,000 ranks, one per core, with six partners each, in one thread. The picture
is the full one, with a cell per rank, and the overview that more than 64 nodes get by default. A process of
its own builds each, to measure memory; this holds the run's arrays too. bench_reader times reading.
"""

from __future__ import annotations

import argparse
import gc
import resource
import subprocess
import sys
import time

import report
from grid_runs import GridRun

SIZES = {
    "4,096 ranks": ((16, 16, 16), 10, {"first": 0.1, "next": 0.01, "memory": 4}),
    "1,000,000 ranks": ((100, 100, 100), 2, {"first": 5, "next": 0.5, "memory": 4}),
}


def measure(size: str, overview: bool, with_switches: bool) -> None:
    """Prints the figures of one picture."""
    from perfield.pictures import topology, topology_scene

    shape, repeats, targets = SIZES[size]
    run = GridRun(shape)
    placing, first, following = [], [], []
    for _ in range(repeats):
        gc.collect()
        frame = run.frame(0)
        begin = time.process_time()
        placement = run.placement(with_switches)
        placed = time.process_time()
        scene = topology_scene(run, placement, overview=overview)
        topology(run, frame, scene)
        built = time.process_time()
        placing.append(placed - begin)
        first.append(built - placed)
        frame = run.frame(1)
        begin = time.process_time()
        topology(run, frame, scene)
        following.append(time.process_time() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    of = f"{'overview' if overview else 'full picture'}, {size}, {'' if with_switches else 'no '}switches"
    if not overview:
        report.figure(f"{of}: placing", placing, "s", target=None)
    report.figure(f"{of}: first frame", first, "s", target=targets["first"])
    report.figure(f"{of}: next frame", following, "s", target=targets["next"])
    report.figure(f"{of}: memory of the process", [peak / 1e9], "GB", target=targets["memory"])


def main() -> None:
    """Prints all figures; with --size those of one picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", choices=SIZES)
    parser.add_argument("--overview", action="store_true")
    parser.add_argument("--switches", action="store_true")
    arguments = parser.parse_args()
    if arguments.size:
        measure(arguments.size, arguments.overview, arguments.switches)
        return
    for size in SIZES:
        for options in ([], ["--switches"], ["--overview"], ["--overview", "--switches"]):
            subprocess.run([sys.executable, __file__, "--size", size, *options], check=True)


if __name__ == "__main__":
    main()
