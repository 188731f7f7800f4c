# SPDX-License-Identifier: BSD-3-Clause
"""Lets each write to a run directory fail in turn: is the program unharmed, and what can be read?"""

from __future__ import annotations

import random
import sys
import tempfile
from itertools import product
from pathlib import Path

from campaign import compiled, options, ranks, run, verdict
from progress import Progress, wrong_counts

import perfield
from perfield.run import RunError

FAULTS = ("ENOSPC", "EDQUOT", "EIO", "EINTR", "SHORT", "SIGXFSZ")
STEPS = 12
UNHARMED = ("the answer is 42\n", 7)  # its output and its exit status
MOST_WRITES = 40


class Attempts:
    """Runs of programs/steps.c whose writes fail, each in a folder of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.programs = {1: compiled("steps.c", folder, compiler="cc")}
        self.shim = compiled("failing_writes.c", folder, "-shared", "-fPIC", compiler="cc")
        self.n = self.unharmed = 0

    def run(self, n_ranks: int = 1, **fault: object) -> tuple[perfield.Run | None, int]:
        """Runs the program; returns its run, None if it was not measured, and how many writes to streams
        succeeded.

        fault : the variables of programs/failing_writes.c.
        """
        if n_ranks not in self.programs:
            beside = self.folder / "mpi"
            beside.mkdir()
            self.programs[n_ranks] = compiled("steps.c", beside, "-DMPI")
        self.n += 1
        inside = self.folder / str(self.n)
        inside.mkdir()
        progress = Progress(inside / "progress", n_ranks)
        program = self.programs[n_ranks], STEPS, 100, progress.path
        words = ranks(n_ranks, *program) if n_ranks > 1 else ["perfield-exec", *program]
        env = {"LD_PRELOAD": str(self.shim), "FAULT_LOG": str(inside / "log"), "PERFIELD_FLUSH_SECONDS": "0"}
        result = run(words, inside, env | {key: str(value) for key, value in fault.items()}, timeout=60)
        self.unharmed += (result.stdout, result.returncode) == UNHARMED
        streamed = max(int(line.split()[1]) for line in (inside / "log").read_text().splitlines())
        try:
            return perfield.open(inside / "perfield-run"), streamed
        except (RunError, FileNotFoundError):
            return None, streamed


def steps_of(found: perfield.Run | None, rank: int = 0) -> tuple[int, int]:
    """How many steps of a rank can be read, and how many of them are wrong."""
    if found is None or found.n_ranks <= rank:
        return 0, 0
    missing, wrong = wrong_counts(found, rank, STEPS)
    return STEPS - len(missing), wrong


def main() -> int:
    given = options(__doc__)
    choose = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        attempts = Attempts(Path(name))
        _, n_writes = attempts.run()
        assert 0 < n_writes < MOST_WRITES, n_writes
        places = [0, n_writes // 2, n_writes - 1] if given.short else list(range(n_writes))

        for fault in FAULTS:
            attempts.n_before, attempts.unharmed = attempts.n, 0
            once = kept = written = wrong = 0
            for at in places:
                found, _ = attempts.run(FAULT=fault, FAULT_AT=at, FAULT_IN="steps")
                readable, bad = steps_of(found)
                once += readable
                wrong += bad
                found, streamed = attempts.run(FAULT=fault, FAULT_AT=at, FAULT_LASTS=1, FAULT_IN="steps")
                readable, bad = steps_of(found)
                before = max(0, min(STEPS, streamed - 2))  # after the entries of the rank and of its setup
                kept += min(readable, before)
                written += before
                wrong += bad
            tried = attempts.n - attempts.n_before
            all_steps = STEPS * len(places)
            verdict(
                f"{fault} at each write in turn",
                f"{tried} runs: once, and from then on",
                f"{attempts.unharmed} programs unharmed; once: {once} of {all_steps} steps readable; "
                f"from then on: {kept} of {written} written before; {wrong} wrong",
                f"{tried} unharmed, all readable, 0 wrong",
                attempts.unharmed == tried and (once, kept, wrong) == (all_steps, written, 0),
            )

        attempts.n_before, attempts.unharmed = attempts.n, 0
        for fault, at in product(FAULTS[::5] if given.short else FAULTS, range(3)):
            attempts.run(FAULT=fault, FAULT_AT=at, FAULT_IN="perfield-exec")
        tried = attempts.n - attempts.n_before
        verdict(
            "the same while the run directory is claimed",
            f"{tried} runs",
            f"{attempts.unharmed} programs unharmed",
            f"{tried} unharmed",
            attempts.unharmed == tried,
        )

        attempts.n_before, attempts.unharmed = attempts.n, 0
        readable = wrong = 0
        for _ in range(2 if given.short else 20):
            fault = {"FAULT": choose.choice(FAULTS), "FAULT_AT": choose.randrange(n_writes)}
            found, _ = attempts.run(2, **fault, FAULT_LASTS=1, FAULT_RANK=1, FAULT_IN="steps")
            here, bad = steps_of(found)
            readable += here
            wrong += bad + steps_of(found, 1)[1]
        tried = attempts.n - attempts.n_before
        verdict(
            "writes of one rank fail from a random one on",
            f"{tried} runs of 2 ranks",
            f"{attempts.unharmed} programs unharmed; {readable} of {STEPS * tried} steps of the other rank "
            f"readable; {wrong} wrong",
            "all unharmed and readable, 0 wrong",
            attempts.unharmed == tried and (readable, wrong) == (STEPS * tried, 0),
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
