# SPDX-License-Identifier: BSD-3-Clause
"""Builds and runs the programs of the benches, bare and under perfield."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import perfield

BIN = Path(sys.executable).parent
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("PERFIELD_")},
    "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PERFIELD_SUMMARY": "false",
}


def build(source: str, folder: Path, mpi: str = "openmpi") -> Path:
    """Compiles programs/<source> against the installed perfield.h; returns the program.

    mpi : "openmpi" or "mpich"; Debian can have both installed.
    """
    program = folder / f"{Path(source).stem}-{mpi}"
    cflags = subprocess.run(
        [BIN / "perfield", "setup", "paths", "--cflags"], capture_output=True, text=True, check=True
    ).stdout.split()
    path = Path(__file__).resolve().parent / "programs" / source
    # The compiler does not know that MPI_STATUSES_IGNORE is no array.
    words = [f"mpicc.{mpi}", "-O2", "-std=gnu11", "-Wno-stringop-overflow", *cflags, path, "-o", program]
    subprocess.run(words, check=True)
    return program


def run(
    n: int, *argv: object, measured: bool, cwd: Path | None = None, mpi: str = "openmpi", **changes: str
) -> str:
    """Runs argv on n ranks, under perfield-exec if `measured`; returns its standard output.

    mpi : the MPI whose mpirun to use.
    cwd : working directory, which gets the run directory; by default a temporary folder.
    changes : environment variables.
    Raises CalledProcessError if the program fails.
    """
    command = [f"mpirun.{mpi}", "-n", n, *(["perfield-exec"] if measured else []), *argv]
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            [str(word) for word in command],
            env={**ENVIRONMENT, **changes},
            cwd=cwd or folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout


def clock_reads(events: Path) -> tuple[str, list[float]]:
    """The clock that perfield uses here, and the time of two reads in each repetition, in ns.

    events : the program built from programs/events.c.
    """
    with tempfile.TemporaryDirectory() as name:
        run(1, events, "regions", measured=True, cwd=Path(name))
        clock = perfield.open(Path(name) / "perfield-run").rank_entries[0]["clock"]
    return clock, [float(line) for line in run(1, events, f"clock-{clock}", measured=False).split()]
