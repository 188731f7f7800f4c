# SPDX-License-Identifier: BSD-3-Clause
"""Sets CLOCK_REALTIME back by an hour in the middle of a run: are its steps still right?"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from campaign import compiled, options, ranks, run, verdict
from conftest import resting
from progress import Progress, wrong_counts

import perfield

N_RANKS = 3
STEPS = 60


def main() -> int:
    options(__doc__)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = compiled("steps.c", folder, "-DMPI")
        shim = compiled("set_back_clock.c", folder, "-shared", "-fPIC", compiler="cc")
        for clock in ("auto", "monotonic"):
            inside = folder / clock
            inside.mkdir()
            progress = Progress(inside / "progress", N_RANKS)
            # The launcher's own clock stays: only the ranks load the shim.
            measured = ["env", f"LD_PRELOAD={shim}:{resting()}", "perfield-exec", program]
            words = ranks(N_RANKS, *measured, STEPS, 1000, progress.path, measured=False)
            before = time.monotonic()
            result = run(words, inside, {"PERFIELD_CLOCK": clock})
            took = time.monotonic() - before
            found = perfield.open(inside / "perfield-run")
            missing = wrong = 0
            for rank in range(N_RANKS):
                lost, bad = wrong_counts(found, rank, STEPS)
                missing += len(lost)
                wrong += bad
            spent = np.array([frame.values["step_time_s"] for frame in found.frames()])
            read = found.read(range(len(found)))
            realtime = read["fixed"]["realtime_ns"][read["rank"] == read["rank"].min()] * 1e-9
            is_right = bool((spent > 0).all() and (spent.sum(axis=0) < took).all())
            unharmed = (result.stdout, result.returncode) == ("the answer is 42\n", 7)
            verdict(
                f"CLOCK_REALTIME set back by an hour (durations: {clock})",
                f"1 run of {N_RANKS} ranks, {STEPS} steps",
                f"program {'unharmed' if unharmed else 'harmed'}, {missing} steps lost, {wrong} wrong, "
                f"their times {'right' if is_right else 'wrong'}, run {found.state}",
                "unharmed, 0 lost, 0 wrong, times right, run finished",
                unharmed
                and (missing, wrong, found.state) == (0, 0, "finished")
                and is_right
                and not found.damage
                and np.diff(realtime).min() < -3500,  # else the shim did nothing
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
