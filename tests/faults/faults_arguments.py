# SPDX-License-Identifier: BSD-3-Clause
"""Calls with arguments that MPI ignores, or refuses, do the same under perfield: every function of the table
of wrappers, with null and freed types, MPI_IN_PLACE, no items, huge extents and no peer, in each binding.

The short form tries one binding of each MPI.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from argument_programs import BINDINGS, program
from campaign import FOLDER, finish, options, start, verdict
from compiled.built import built, compiler_state, state_of
from conftest import resting

NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
SHORT = (("openmpi", "mpi_f08"), ("mpich", "c"))
SHARED = FOLDER / "programs" / "arguments.c"
LONGEST_S = 60  # a run takes seconds


def compiled(mpi: str, binding: str, text: str) -> Path:
    """Compiles a program for that MPI, once."""
    compiler = f"mpicc.{mpi}" if binding == "c" else f"mpif90.{mpi}"

    def compile_in(folder: Path) -> None:
        source = folder / ("calls.c" if binding == "c" else "calls.f90")
        source.write_text(text)
        if binding == "c":
            words = [compiler, "-w", f"-I{SHARED.parent}", source]
        else:
            subprocess.run([f"mpicc.{mpi}", "-w", "-c", SHARED, "-o", folder / "shared.o"], check=True)
            words = [compiler, "-w", "-ffree-line-length-none", "-fallow-argument-mismatch", source]
            words.append(folder / "shared.o")
        subprocess.run([*words, "-o", folder / "calls"], check=True)

    key = text, SHARED.read_text(), state_of(SHARED.parent, "*.h"), compiler_state(compiler)
    return built("calls", key, compile_in) / "calls"


@dataclass
class Outcome:
    lines: list[str]  # rank, case, class of the error, calls of error handlers
    stopped_at: int | None  # the case with which the program ended or hung


def tried(mpi: str, path: Path, place: Path, refusing: bool, measured: bool, skip: set[int]) -> Outcome:
    """Runs the cases that MPI may refuse on one rank, or the others on three."""
    folder = place / ("measured" if measured else "bare")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "skip").write_text("".join(f"{case}\n" for case in sorted(skip)))
    n = 1 if refusing else 3
    words = [f"mpirun.{mpi}", *(["--oversubscribe"] if mpi == "openmpi" else []), "-n", n]
    words += ["perfield-exec"] if measured else []
    env = {"REFUSING": "1" if refusing else None, "LD_PRELOAD": str(resting())}
    process = start([*words, path], folder, env)
    with contextlib.suppress(subprocess.TimeoutExpired):
        finish(process, LONGEST_S if measured else LONGEST_S / 4)
    progress = [(folder / f"progress.{rank}").read_text().split()[0] for rank in range(n)]
    stopped = [int(word) for word in progress if word != "end"]
    lines = [
        f"{rank} {line}"
        for rank in range(n)
        for line in (folder / f"results.{rank}").read_text().splitlines()
    ]
    return Outcome(lines, min(stopped, default=None))


def compared(mpi: str, binding: str, folder: Path) -> None:
    text, said = program(binding)
    path = compiled(mpi, binding, text)
    n_cases, ended, others = 0, [], []
    for refusing in (True, False):
        skip: set[int] = set()  # cases with which the program ends without perfield, too
        bare = tried(mpi, path, folder, refusing, False, skip)
        while bare.stopped_at is not None:
            skip.add(bare.stopped_at)
            bare = tried(mpi, path, folder, refusing, False, skip)
        measured = tried(mpi, path, folder, refusing, True, skip)
        n_cases += len({line.split()[1] for line in bare.lines})
        if measured.stopped_at is not None:
            ended.append(said[measured.stopped_at])
        for line in sorted(set(bare.lines) ^ set(measured.lines)):
            if measured.stopped_at is None:
                others.append(said[int(line.split()[1])])
    others = list(dict.fromkeys(others))
    verdict(
        f"odd arguments of MPI calls, {'C' if binding == 'c' else binding}, {NAMES[mpi]}",
        f"{n_cases} cases, as without perfield",
        f"{len(ended)} ended the program{''.join(f' ({what})' for what in ended)}, "
        f"{len(others)} with another result{''.join(f' ({what})' for what in others[:3])}",
        "0 ended the program, 0 with another result",
        bool(n_cases) and not ended and not others,
    )


def main() -> None:
    given = options(__doc__)
    for mpi, binding in SHORT if given.short else [(mpi, b) for mpi in NAMES for b in BINDINGS]:
        with tempfile.TemporaryDirectory() as place:
            compared(mpi, binding, Path(place))


if __name__ == "__main__":
    main()
