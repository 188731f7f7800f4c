# SPDX-License-Identifier: BSD-3-Clause
"""20 programs that start at once in one working directory: each has a run directory of its own, whole."""

from __future__ import annotations

import tempfile
from pathlib import Path

from campaign import compiled, finish, options, start, verdict

import perfield

N_PROGRAMS = 20
STEPS = 5


def is_whole(path: Path) -> bool:
    """Whether a run directory holds the one rank of one program."""
    run = perfield.open(path)
    counts = [frame.values["exchange_count"][0] for frame in run.frames()]
    return (run.n_ranks, run.state, run.damage, counts) == (1, "finished", [], [1] * STEPS)


def main() -> None:
    given = options(__doc__)
    times = 1 if given.short else 20
    directories = whole = ended_well = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        program = compiled("../../multihost/ring.c", folder)
        for time in range(times):
            (inside := folder / str(time)).mkdir()
            programs = [start(["perfield-exec", program], inside) for _ in range(N_PROGRAMS)]
            ended_well += sum(finish(process, 300).returncode == 0 for process in programs)
            runs = sorted(inside.glob("perfield-run*"))
            directories += len(runs)
            whole += sum(map(is_whole, runs))
    n = times * N_PROGRAMS
    verdict(
        f"{N_PROGRAMS} programs at once in one directory",
        f"{times} times",
        f"{directories} run directories, {whole} whole, {n - ended_well} programs harmed",
        f"{n}, {n}, 0",
        (directories, whole, ended_well) == (n, n, n),
    )


if __name__ == "__main__":
    main()
