# SPDX-License-Identifier: BSD-3-Clause
"""Stops one rank for 3 s: its step is long, and the other ranks are measured as before."""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from campaign import compiled, finish, options, ranks, start, verdict
from conftest import resting
from progress import Progress, wrong_counts

import perfield

N_RANKS = 3
STEPS = 200
STOPPED_S = 3.0


def stopped_run(program: Path, folder: Path, step: int, victim: int) -> perfield.Run:
    """Stops a rank for 3 s once it has closed so many steps; returns the finished run."""
    progress = Progress(folder / "progress", N_RANKS)
    words = ranks(N_RANKS, program, STEPS, 2000, progress.path)
    process = start(words, folder, {"LD_PRELOAD": str(resting())})
    try:
        assert progress.send(victim, signal.SIGSTOP, step, process)
        time.sleep(STOPPED_S)
        assert progress.send(victim, signal.SIGCONT, step, process)
    finally:
        result = finish(process, 120)
    assert (result.stdout, result.returncode) == ("the answer is 42\n", 7), result
    return perfield.open(folder / "perfield-run")


def main() -> int:
    given = options(__doc__)
    choose = random.Random(given.seed)
    n = 1 if given.short else 10
    missing = wrong = long_steps = others_computing = others_waiting = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = compiled("steps.c", folder, "-DMPI")
        for trial in range(n):
            inside = folder / str(trial)
            inside.mkdir()
            victim = choose.randrange(N_RANKS)
            run = stopped_run(program, inside, choose.randrange(STEPS // 2), victim)
            for rank in range(N_RANKS):
                lost, bad = wrong_counts(run, rank, STEPS)
                missing += len(lost)
                wrong += bad

            def longer(field: str, run: perfield.Run = run) -> np.ndarray:
                values = np.array([frame.values[field] for frame in run.frames()])
                return np.count_nonzero(values > STOPPED_S / 2, axis=0)

            # A rank that is stopped inside perfield_step spends that time in no step.
            long_steps += longer("step_time_s")[victim] + longer("perfield_time_s")[victim]
            others = np.arange(N_RANKS) != victim
            others_computing += longer("compute_time_s")[others].sum()
            others_waiting += np.count_nonzero(longer("mpi_time_s")[others])
    verdict(
        "SIGSTOP of a rank for 3 s",
        f"{n} random moments, {N_RANKS} ranks",
        f"{missing} of {n * N_RANKS * STEPS:,} steps lost, {wrong} wrong; the stopped rank has {long_steps} "
        f"long steps; others wait {others_waiting} times and compute {others_computing} times so long",
        f"0 lost, 0 wrong; {n}; {n * (N_RANKS - 1)} and 0",
        (missing, wrong, long_steps, others_waiting, others_computing) == (0, 0, n, n * (N_RANKS - 1), 0),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
