# SPDX-License-Identifier: BSD-3-Clause
"""Kills a rank at random moments, and counts the earlier frames that are lost."""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from campaign import compiled, finish, options, ranks, start, verdict
from conftest import resting
from progress import Progress, wrong_counts

import perfield

N_RANKS = 3
MOST_BYTES = 1 << 20  # that a rank gathers


def killed_run(program: Path, folder: Path, step: int, victim: int, delay: float, env: dict) -> Progress:
    """Runs the program until `victim` has closed so many steps, kills it after `delay` s, and returns the
    progress of all ranks."""
    progress = Progress(folder / "progress", N_RANKS)
    process = start(ranks(N_RANKS, program, 3000, 1000, progress.path), folder, env)
    try:
        if progress.send(victim, 0, step, process):  # signal 0 only looks
            time.sleep(delay)
            progress.send(victim, signal.SIGKILL, step, process)
    finally:
        finish(process, 120)
    progress.wait_for_the_end()
    return progress


def main() -> int:
    given = options(__doc__)
    choose = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = compiled("steps.c", folder, "-DMPI")
        slow = compiled("slow_writes.c", folder, "-shared", "-fPIC", compiler="cc")

        def trials(n: int, env: dict) -> list[tuple[Progress, perfield.Run]]:
            found = []
            for trial in range(n):
                inside = folder / f"{len(env)}-{trial}"
                inside.mkdir()
                moment = choose.randrange(200), choose.randrange(N_RANKS), choose.uniform(0, 0.004)
                progress = killed_run(program, inside, *moment, env)
                found.append((progress, perfield.open(inside / "perfield-run")))
            return found

        n = 3 if given.short else 100
        lost = wrong = closed = 0
        for progress, run in trials(n, {"PERFIELD_FLUSH_SECONDS": "0", "LD_PRELOAD": str(resting())}):
            for rank in range(N_RANKS):
                missing, others = wrong_counts(run, rank, progress.closed(rank))
                closed += progress.closed(rank)
                lost += len(missing)
                wrong += others
        verdict(
            "SIGKILL of a rank",
            f"{n} random moments, {N_RANKS} ranks",
            f"{lost} of {closed:,} earlier steps lost, {wrong} wrong",
            "0 lost, 0 wrong",
            lost == wrong == 0 and closed > 0,
        )

        n = 2 if given.short else 30
        longest = most_bytes = 0.0
        gathered = wrong = 0
        for progress, run in trials(n, {"LD_PRELOAD": f"{slow}:{resting()}"}):
            written = sum(path.stat().st_size for path in (run.path / "stream").glob("*.pf"))
            seen = sum(int(frame.present.sum()) for frame in run.frames())
            for rank in range(N_RANKS):
                missing, others = wrong_counts(run, rank, progress.closed(rank))
                wrong += others
                if missing:
                    last = progress.closed(rank) - 1
                    wrong += missing != list(range(missing[0], last + 1))  # only the end may be lost
                    gathered += len(missing)
                    most_bytes = max(most_bytes, len(missing) * written / seen)
                    longest = max(longest, progress.before(rank, last) - progress.before(rank, missing[0]))
        verdict(
            "SIGKILL while entries are gathered",
            f"{n} random moments, {N_RANKS} ranks, writes of 3 ms",
            f"the last {longest:.2f} s, {most_bytes / 1e3:.0f} kB at most ({gathered} steps), {wrong} wrong",
            "at most 1 MB, 0 wrong",
            most_bytes <= MOST_BYTES and wrong == 0 and gathered > 0,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
