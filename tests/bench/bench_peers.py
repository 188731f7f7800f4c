# SPDX-License-Identifier: BSD-3-Clause
"""Messages to 26 neighbours in cubes of ranks, with a fake MPI: a large world costs what a small one does."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import instructions
from report import REPOSITORY, figure

SMALL, SIDES = 4, (16, 32)
NEIGHBORS = 26
MORE = 1.05  # at most, of what a small communicator costs
KINDS = {"duplicate": "a duplicate of the world", "mixed": "ranks in no order"}


def build(folder: Path) -> Path:
    """Compiles the fake MPI and programs/halo.c; returns the program."""
    library, program = folder / "libmpich.so.12", folder / "halo"
    show = subprocess.run(["mpicc.mpich", "-show"], capture_output=True, text=True, check=True).stdout
    compiler = ["gcc", "-O2", *(word for word in show.split() if word.startswith("-I"))]
    fake = REPOSITORY / "tests/scale/fake_mpi.c"
    source = Path(__file__).resolve().parent / "programs/halo.c"
    words = ["-shared", "-fPIC", fake, f"-Wl,-soname,{library.name}", "-o", library]
    subprocess.run([*compiler, *words], check=True)
    subprocess.run([*compiler, source, library, f"-Wl,-rpath,{folder}", "-o", program], check=True)
    return program


def main() -> None:
    """Prints all figures."""
    if not instructions.can_count():
        return
    with tempfile.TemporaryDirectory() as name:
        program = build(Path(name))

        def of_a_message(side: int, kind: str) -> float:
            world = {"FAKE_MPI_SIZE": str(side**3)}
            return instructions.added(program, kind, **world) / NEIGHBORS

        for kind, label in KINDS.items():
            small = of_a_message(SMALL, kind)
            figure(f"a send among {SMALL}^3 ranks, {label}, added", [small], "instructions", target=None)
            for side in SIDES:
                large = of_a_message(side, kind)
                what = f"the same among {side}^3 ranks, {label}, added"
                figure(what, [large], "instructions", target=small * MORE)


if __name__ == "__main__":
    main()
