# SPDX-License-Identifier: BSD-3-Clause
"""What `perfield report` takes for a run of 4,096 ranks and 1,000 steps, from its start to the end.

The run (64 nodes, 10 regions and 6 peers, 6 GB) is written first. `--ranks` and
`--steps` make a smaller one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_xarray import write_run
from report import figure

RANKS_PER_NODE = 64
MOST_S, MOST_MB = 60, 2000

REPORT = """
import os, sys, time
begin = time.perf_counter()
from perfield.commands import main
rc = main(["report", *sys.argv[1:]])
taken = time.perf_counter() - begin
cpu = sum(os.times()[:4])
# Not ru_maxrss, which counts the process that started this one.
peak_kb = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(taken, cpu, peak_kb * 1.024e-3, file=sys.stderr)
sys.exit(rc)
"""


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--in", dest="folder", help="where the run is written; a temporary folder by default")
    arguments = parser.parse_args()
    ranks, steps = arguments.ranks, arguments.steps
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        path = Path(name) / "run"
        write_run(path, ranks, steps, hosts=max(1, ranks // RANKS_PER_NODE))
        times, cpu_times, peaks = [], [], []
        for _ in range(2):
            command = [sys.executable, "-c", REPORT, path]
            done = subprocess.run(command, capture_output=True, text=True, cwd=name, check=False)
            if done.returncode:
                raise RuntimeError(f"the report failed: {done.stderr}")
            taken, cpu_s, peak_mb = map(float, done.stderr.split()[-3:])
            times.append(taken)
            cpu_times.append(cpu_s)
            peaks.append(peak_mb)
    of_run = f"of {ranks} ranks x {steps} steps"
    figure(f"report {of_run}", times, "s", target=MOST_S)
    figure(f"CPU time of the report {of_run}, its pictures included", cpu_times, "s", target=None)
    figure(f"peak memory of the report {of_run}", peaks, "MB", target=MOST_MB)


if __name__ == "__main__":
    main()
