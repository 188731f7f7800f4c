# SPDX-License-Identifier: BSD-3-Clause
"""What programs/steps.c says of itself, and whether a run says the same."""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
import time
from pathlib import Path

import numpy as np

import perfield

MOST_STEPS = 4096


class Progress:
    """The ranks' own account, which they keep in a shared file: it outlives them."""

    _BYTES = 8 + 8 * MOST_STEPS

    def __init__(self, path: Path, n_ranks: int):
        self.path = path
        self.n_ranks = n_ranks
        path.write_bytes(bytes(self._BYTES * n_ranks))

    def _numbers(self, rank: int, offset: int, form: str) -> tuple:
        with self.path.open("rb") as file:
            file.seek(rank * self._BYTES + offset)
            return struct.unpack(form, file.read(struct.calcsize(form)))

    def pid(self, rank: int) -> int:
        """The process of a rank; 0: not started."""
        return self._numbers(rank, 0, "i")[0]

    def send(self, rank: int, number: int, step: int, process: subprocess.Popen) -> bool:
        """Sends a rank a signal once it runs and has closed so many steps; False if the program ended first.

        process : of the launcher.
        """
        while not self.pid(rank) or self.closed(rank) < step:
            if process.poll() is not None:
                return False
            time.sleep(0.0005)
        os.kill(self.pid(rank), number)
        return True

    def closed(self, rank: int) -> int:
        """How many steps it has closed: so many calls of perfield_step have returned."""
        return self._numbers(rank, 4, "i")[0]

    def before(self, rank: int, step: int) -> float:
        """CLOCK_MONOTONIC before it closed that step, in s."""
        return self._numbers(rank, 8 + 8 * step, "d")[0]

    def wait_for_the_end(self) -> None:
        """Returns when no rank runs any more: mpirun ends before the ranks that it kills."""
        for rank in range(self.n_ranks):
            while self.pid(rank) and Path(f"/proc/{self.pid(rank)}").exists():
                with contextlib.suppress(OSError):
                    state = Path(f"/proc/{self.pid(rank)}/stat").read_text().rpartition(")")[2].split()[0]
                    if state == "Z":
                        break
                os.sched_yield()
                time.sleep(0.001)


def wrong_counts(run: perfield.Run, rank: int, closed: int) -> tuple[list[int], int]:
    """Compares a run with a rank's own account of `closed` steps.

    Returns the steps that are missing, and the number of steps whose count is not the program's.
    """
    counts = np.full(closed, np.nan)
    for frame in run.frames():
        if frame.label < closed and frame.present[rank]:
            counts[frame.label] = frame.values["work_count"][rank]
    missing = np.flatnonzero(np.isnan(counts))
    expected = 1 + (rank + np.arange(closed)) % 3
    wrong = np.count_nonzero((counts != expected) & ~np.isnan(counts))
    return missing.tolist(), int(wrong)
