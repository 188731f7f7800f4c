# SPDX-License-Identifier: BSD-3-Clause
"""What it takes to reduce a run of 1,024 ranks and 2,000 steps to imbalance per step and region.

The run (10 regions and 6 peers, 3 GB) is written first. `--ranks` and `--steps`
make a smaller one.
"""

from __future__ import annotations

import argparse
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from report import figure

from perfield import _bridge

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from twins import twin

REGIONS, PEERS = 10, 6
MOST_MB = 1000

REDUCE = """
import sys, time
import dask
import perfield

begin = time.perf_counter()
steps = perfield.open(sys.argv[1]).steps
opened = time.perf_counter()
times = steps["region_time_s"]
with dask.config.set(scheduler="threads"):
    imbalance = (times.max("rank") / times.mean("rank")).compute()
computed = time.perf_counter()
# Not ru_maxrss, which counts the process that started this one.
peak_kb = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
assert imbalance.shape == (steps.sizes["step"], steps.sizes["region"]), imbalance.shape
print(opened - begin, computed - opened, peak_kb * 1.024e-3, float(imbalance.isel(step=0, region=0)))
"""


def write_run(path: Path, ranks: int, steps: int, hosts: int = 1) -> None:
    """Writes a run in which region r takes rank q (r + 1) * (1 ms + q us) in each step.

    Prints its size and how long that took.
    """
    begin = time.perf_counter()
    names = tuple(f"region {number}" for number in range(REGIONS))
    named = tuple(f"n{number:03d}" for number in range(hosts))
    twin.write_run(path, ranks, 0, hosts=named, regions=names, mesh=False, ended=False)
    streams = sorted((path / "stream").glob("*.pf"))
    bodies = [_body_without_time(rank, ranks) for rank in range(ranks)]
    written = 1 + REGIONS + len(twin.QUANTITIES) + 1  # entries of a rank before its steps
    with ExitStack() as opened:
        files = [opened.enter_context(stream.open("ab")) for stream in streams]
        for step in range(steps):
            time_of_step = struct.pack("<qd", step, 0.1 * step)
            for rank, rest in enumerate(bodies):
                body = time_of_step + rest
                files[rank * hosts // ranks].write(_header(rank, written + step, step, body) + body)
    size = sum(file.stat().st_size for file in path.rglob("*.pf"))
    print(f"a run of {size / 1e9:.3g} GB took {time.perf_counter() - begin:.3g} s", file=sys.stderr)


def _body_without_time(rank: int, ranks: int) -> bytes:
    peers = [(rank + 1 + n) % ranks for n in range(PEERS)]
    body = twin.step_body(
        measured_ns=20_000_000,
        regions=[twin.region_row(n, n * (1_000_000 + 1_000 * rank)) for n in range(1, REGIONS + 1)],
        messages=[{"peer": peer, "call": twin.ISEND, "count": 1, "bytes": 800} for peer in peers],
        waits=[{"peer": peer, "count": 1, "ns": 10_000} for peer in peers],
        calls=[{"call": twin.WAITALL, "time_class": twin.WAIT, "count": 1, "ns": 60_000}],
        quantities=[{"region": n, "quantity": twin.WAIT, "value": 5_000} for n in range(1, REGIONS + 1)],
    )
    return body[16:]  # behind label and time


def _header(rank: int, sequence: int, step: int, body: bytes) -> bytes:
    """As twin.entry makes it, with the fast checksum."""
    fields = (twin.TYPES["step"], twin.VERSIONS["step"], len(body), twin.RUN_ID, rank, sequence, step)
    header = twin.HEADER.pack(twin.MARKER, *fields, _bridge.crc32c(body), 0)[:44]
    return header + struct.pack("<I", _bridge.crc32c(header))


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=2000)
    arguments = parser.parse_args()
    ranks, steps = arguments.ranks, arguments.steps
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "run"
        write_run(path, ranks, steps)
        opening, reducing, peaks = [], [], []
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", REDUCE, path], capture_output=True, text=True, check=True
            )
            opened, computed, peak_mb, imbalance = map(float, done.stdout.split())
            expected = (1_000_000 + 1_000 * (ranks - 1)) / (1_000_000 + 500 * (ranks - 1))
            if not np.isclose(imbalance, expected, rtol=1e-9):
                raise RuntimeError(f"the imbalance is {imbalance}, but {expected} was written.")
            opening.append(opened)
            reducing.append(computed)
            peaks.append(peak_mb)
    of_run = f"of {ranks} ranks x {steps} steps"
    figure(f"opening the Dataset {of_run}", opening, "s", target=None)
    figure(f"imbalance per step and region {of_run}", reducing, "s", target=None)
    figure(f"peak memory of both {of_run}", peaks, "MB", target=MOST_MB)


if __name__ == "__main__":
    main()
