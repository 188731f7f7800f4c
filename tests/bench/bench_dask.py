# SPDX-License-Identifier: BSD-3-Clause
"""Imbalance per step and region of 4,096 ranks x 2,000 steps, by one and by two of dask's workers.

Each worker is a process with one thread. The run (10 regions and 6 peers, 12 GB) is written first, unless
`--run` names one that was; `--ranks` and `--steps` make a smaller one. Workers take turns, so that a busy
machine slows both alike. The first computation of each is not counted: it reads the files into memory.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from bench_xarray import write_run
from distributed import Client, LocalCluster
from report import figure

import perfield

LEAST_SPEED_UP, MOST_MB, MOST_OPENING_S = 1.7, 1000, 15


def peak_mb() -> float:
    """The most memory that this process ever had."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1.024e-3


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--run", type=Path, help="where the run is; written if it is not there")
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = arguments.run or Path(name) / "run"
        if not path.exists():
            write_run(path, arguments.ranks, arguments.steps, hosts=32)
        measure(path, arguments.times)


def measure(path: Path, times: int) -> None:
    """Computes by both numbers of workers in turn."""
    perfield.open(path)  # writes the index, if there is none
    before, begin = time.process_time(), time.perf_counter()
    steps = perfield.open(path).steps
    opening = time.perf_counter() - begin, time.process_time() - before
    of_run = f"of {steps.sizes['rank']} ranks x {steps.sizes['step']} steps"
    figure(f"opening the Dataset {of_run} with a known index", opening[:1], "s", target=None)
    figure(f"CPU time of opening the Dataset {of_run}", opening[1:], "s", target=MOST_OPENING_S)
    statistics = steps[["region_time_s"]].perfield.by("step").region_time_s
    imbalance = statistics.sel(statistic="imbalance")
    clusters = {
        n: LocalCluster(n_workers=n, threads_per_worker=1, processes=True, dashboard_address=None)
        for n in (1, 2)
    }
    clients = {n: Client(cluster, set_as_default=False) for n, cluster in clusters.items()}
    taken: dict[int, list[float]] = {1: [], 2: []}
    spent: dict[int, list[float]] = {1: [], 2: []}  # CPU time of the worker that worked longest
    results = []
    try:
        found = [len(client.run(peak_mb)) for client in clients.values()]
        if found != list(clients):
            raise RuntimeError(f"clusters of {found} workers were started, not of {list(clients)}.")
        for turn in range(times + 1):
            for n, client in clients.items():
                before, begin = client.run(time.process_time), time.perf_counter()
                result = client.compute(imbalance.data).result()
                if turn:
                    taken[n].append(time.perf_counter() - begin)
                    after = client.run(time.process_time)
                    spent[n].append(max(after[worker] - before[worker] for worker in after))
                results.append(result)
        peaks = [max(client.run(peak_mb).values()) for client in clients.values()]
    finally:
        for closing in (*clients.values(), *clusters.values()):
            closing.close()
    if not all(np.array_equal(result, results[0], equal_nan=True) for result in results):
        raise RuntimeError("one worker and two give different results.")
    ranks = steps.sizes["rank"]
    expected = (1_000_000 + 1_000 * (ranks - 1)) / (1_000_000 + 500 * (ranks - 1))
    shape = steps.sizes["step"], steps.sizes["region"]
    if results[0].shape != shape or not np.allclose(results[0], expected):
        raise RuntimeError(f"the imbalance is {results[0]}, but {expected} was written.")
    for n, seconds in taken.items():
        figure(
            f"imbalance per step and region {of_run}, {n} worker{'s' * (n > 1)}", seconds, "s", target=None
        )
    for what, seconds in (("by the clock", taken), ("by the longest worker's CPU time", spent)):
        speed_up = [one / two for one, two in zip(*seconds.values())]
        target = LEAST_SPEED_UP
        figure(f"speed-up from one worker to two, {what}", speed_up, "1", target=target, most=False)
    figure("peak memory of a worker", peaks, "MB", target=MOST_MB)


if __name__ == "__main__":
    sys.exit(main())
