# SPDX-License-Identifier: BSD-3-Clause
"""The skew that one file for all ranks of a node brings to ranks that leave a barrier and close a step.

Appends to one file exclude each other. With as many processes as cores that shows how long one append keeps
the others out, which is the time between two ranks' ends on a machine with a core for each rank. More
processes than cores show whether anything grows faster than their number. Other work on the machine can only
add time, so the fastest quarter of the repetitions counts.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from report import figure

PROGRAM = Path(__file__).resolve().parent / "programs/shared_file.c"
BYTES = 2048  # of an entry
ROUNDS = 400
REPEATS = 20
RANKS = 128
TARGET_US = 500  # 0.5 % of steps of 0.1 s


def appended(program: Path, folder: Path, processes: int, files: int, barriers: bool) -> list[float]:
    """Times of the rounds in us, and at last the time per write."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        words = [program, processes, files, BYTES, ROUNDS, int(barriers), place]
        result = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True)
    return [float(line) for line in result.stdout.split()]


def fastest(measure: Callable[[], float]) -> list[float]:
    return sorted(measure() for _ in range(REPEATS))[: REPEATS // 4]


def main() -> int:
    n_cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "shared_file"
        flags = ["-O1", "-Wall", "-std=gnu11", "-pthread"]
        subprocess.run(["gcc", *flags, PROGRAM, "-o", program], check=True)
        for folder in (Path(name), Path("/dev/shm")):
            where = "in /dev/shm" if folder.name == "shm" else "on disk"

            def per_write(files: int, place: Path = folder) -> list[float]:
                return fastest(lambda: appended(program, place, n_cores, files, False)[-1])

            alone = [n_cores * us for us in per_write(n_cores)]  # they write at the same time
            one_file = per_write(1)
            figure(f"append {BYTES} bytes {where}, each to its own file", alone, "us", target=None)
            figure(f"the same by {n_cores} at once to one file, each", one_file, "us", target=None)
            for files in (1, 8):
                waited = [(RANKS // files - 1) * us for us in one_file]
                target = TARGET_US if files == 1 else None
                what = f"the last of {RANKS} ranks on {RANKS} cores {where} waits, computed: {files} files"
                figure(what, waited, "us", target=target)
            for n in (8, 16, 32, 64):
                for files, what in ((0, "no write"), (1, "one file"), (n, f"{n} files")):

                    def until_all_wrote(n: int = n, files: int = files, place: Path = folder) -> float:
                        return statistics.median(appended(program, place, n, files, True)[:-1])

                    what = f"{n} processes leave a barrier, {what} {where}"
                    figure(what, fastest(until_all_wrote), "us", target=None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
