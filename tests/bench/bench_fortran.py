# SPDX-License-Identifier: BSD-3-Clause
"""Cost of a counted MPI call in a Fortran program, through mpif.h and mpi_f08."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from pathlib import Path

import instructions
import programs
from report import figure

CALL_NS = 30  # on top of two clock reads
MPIS = {"openmpi": "Open MPI", "mpich": "MPICH"}
BINDINGS = {"mpif.h": "-DMPIFH", "mpi_f08": "-DUSE_F08"}


def build(folder: Path, mpi: str, binding: str) -> Path:
    """Compiles programs/events.f90 for one MPI and binding; returns the program."""
    program = folder / f"events-{mpi}-{binding}"
    source = Path(__file__).resolve().parent / "programs/events.f90"
    words = [f"mpif90.{mpi}", "-O2", "-w", "-cpp", "-fallow-argument-mismatch", BINDINGS[binding]]
    subprocess.run([*words, source, "-o", program], check=True)
    return program


def count_regions(folder: Path) -> None:
    """Prints how many instructions more a region takes in Fortran than in C."""
    paths = [programs.BIN / "perfield", "setup", "paths", "--fortran"]
    module = subprocess.run(paths, capture_output=True, text=True, check=True).stdout.strip()
    source = Path(__file__).resolve().parent / "programs/regions.f90"
    program = folder / "regions"
    words = ["gfortran", "-O2", f"-J{folder}", module, source, "-o", program]
    subprocess.run([str(word) for word in words], check=True)
    in_fortran = instructions.added(program, "regions")
    more = in_fortran - instructions.added(programs.build("events.c", folder), "regions")
    name = "a region's enter and exit in Fortran, more than C"
    figure(name, [more], "instructions", target=instructions.FORTRAN)


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _, reads = programs.clock_reads(programs.build("events.c", folder))
        target = statistics.median(reads) + CALL_NS
        if instructions.can_count():
            count_regions(folder)
        for mpi, label_of_mpi in MPIS.items():
            in_c = programs.build("events.c", folder, mpi)
            for binding in BINDINGS:
                program = build(folder, mpi, binding)
                for what, label, *_ in instructions.EXCHANGES[:2] if instructions.can_count() else ():
                    # When perfield finds steps, and so which of them it logs, is chance.
                    in_both = [
                        instructions.added(each, what, PERFIELD_ARRIVALS_EVERY="0")
                        for each in (program, in_c)
                    ]
                    more = in_both[0] - in_both[1]
                    name = f"{label}, {binding}, {label_of_mpi}, more than C"
                    figure(name, [more], "instructions", target=instructions.FORTRAN)
                for what, label in (
                    ("calls", "a counted MPI call (MPI_Test)"),
                    ("messages", "a call with a message"),
                ):
                    bare, measured = (
                        [
                            float(line)
                            for line in programs.run(1, program, what, measured=by_us, mpi=mpi).split()
                        ]
                        for by_us in (False, True)
                    )
                    added = [value - statistics.median(bare) for value in measured]
                    figure(f"{label}, {binding}, {label_of_mpi}, added", added, "ns", target=target)


if __name__ == "__main__":
    main()
