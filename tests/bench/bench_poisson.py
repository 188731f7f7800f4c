# SPDX-License-Identifier: BSD-3-Clause
"""Products with the matrix of testcase/poisson: nodes per second of CPU time, without a matrix and PETSc's.

The ways take turns on the same mesh: by sum factorisation, by 8 x 8 matrices (order 1), and by PETSc's
MatMult of the assembled matrix (AIJ). Both orders have the same number of nodes. First one rank, then one on
each core. The time is that of the slowest rank, with its waits for messages, which spin.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

from programs import BIN, run
from report import REPOSITORY, figure

REPEATS = 15
SIZE = 64


def build(folder: Path) -> Path:
    """Builds testcase/poisson with CMake, and the program that compares the products against its library."""
    include = subprocess.run(
        [BIN / "perfield", "setup", "paths", "--include"], capture_output=True, text=True, check=True
    ).stdout.strip()
    case = REPOSITORY / "testcase" / "poisson"
    cmake = ["cmake", "-S", case, "-B", folder, "-G", "Ninja", f"-DPERFIELD_INCLUDE={include}"]
    for argv in (cmake, ["cmake", "--build", folder]):
        subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
    petsc = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "PETSc"], capture_output=True, text=True, check=True
    ).stdout.split()
    source = Path(__file__).resolve().parent / "programs" / "poisson_matvec.cpp"
    program = folder / "poisson_matvec"
    words = ["mpicxx.openmpi", "-O2", "-std=c++17", "-DOMPI_SKIP_MPICXX", f"-I{case}", f"-I{include}"]
    libraries = [folder / "libsolver.a", *petsc, "-lp4est", "-lsc"]
    subprocess.run([*words, source, "-o", program, *libraries], check=True)
    return program


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZE, help="intervals between nodes along each axis")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for n_ranks in sorted({1, len(os.sched_getaffinity(0))}):
            for order in (1, 4):
                words = [arguments.size // order, order, arguments.repeats]
                reported = run(n_ranks, program, *words, measured=False).splitlines()
                on = f"order {order}, {n_ranks} {'rank' if n_ranks == 1 else 'ranks'}"
                for line in reported[1:]:
                    way, _, seconds = line.partition(":")
                    rates = [int(reported[0]) / float(word) / n_ranks / 1e6 for word in seconds.split()]
                    figure(f"MatVec by {way}, {on}", rates, "million nodes/s of a core", target=None)


if __name__ == "__main__":
    main()
