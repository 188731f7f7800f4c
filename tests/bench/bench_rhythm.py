# SPDX-License-Identifier: BSD-3-Clause
"""Phases and R(t) of 4,096 ranks and 10,000 steps, once their stamps are read: CPU time and memory.

The stamps are made in memory: ranks on a ring wait for both neighbours, and each step takes a little longer
on some ranks. `--ranks` and `--steps` make a smaller run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from report import figure

REPEATS = 3
MOST_S, MOST_GB = 10.0, 2.0

EVALUATE = """
import json, sys, time
import numpy as np
import xarray as xr
from perfield.studies.rhythm.model import order_parameter, phases

ranks, steps = int(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(14)
begin, end = np.empty((2, steps, ranks))
now = np.zeros(ranks)
for step in range(steps):
    begin[step] = now
    end[step] = now + 0.01 + random.exponential(1e-4, ranks)
    now = np.maximum(end[step], np.maximum(np.roll(end[step], 1), np.roll(end[step], -1)))
stamps = {"begin_s": (("step", "rank"), begin), "end_s": (("step", "rank"), end)}
stamps = xr.Dataset(stamps, {"step": np.arange(steps), "rank": np.arange(ranks)})
start = time.process_time()
found = phases(stamps)
made = time.process_time()
r = order_parameter(found.phase)
evaluated = time.process_time()
assert found.phase.shape == (ranks, steps) and r.shape == (steps,), (found.phase.shape, r.shape)
assert np.isfinite(r).all() and abs(r[0] - 1) < 1e-9, r
# Not ru_maxrss, which counts the process that started this one.
peak_kb = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([made - start, evaluated - made, peak_kb * 1.024e-6]))
"""


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=10_000)
    arguments = parser.parse_args()
    size = [str(arguments.ranks), str(arguments.steps)]
    rows = []
    for _ in range(REPEATS):
        printed = subprocess.run(
            [sys.executable, "-c", EVALUATE, *size], check=True, stdout=subprocess.PIPE
        ).stdout
        rows.append(json.loads(printed))
    phase_s, order_s, peak_gb = zip(*rows)
    of = f"of {arguments.ranks:,} ranks x {arguments.steps:,} steps"
    figure(f"phases {of}", phase_s, "s", target=None)
    figure(f"R(t) {of}", order_s, "s", target=None)
    figure(f"phases and R(t) {of}", [a + b for a, b in zip(phase_s, order_s)], "s", target=MOST_S)
    figure(f"memory for phases and R(t) {of}, with the stamps", peak_gb, "GB", target=MOST_GB)


if __name__ == "__main__":
    main()
