# SPDX-License-Identifier: BSD-3-Clause
"""Cost of closing a step: it grows with what the step touched, not with all that was ever seen."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import programs
from report import figure

# What is known and what each step touches, as programs/closing.c takes them: threads, regions and partners;
# busy threads, the regions that each enters, messages. Targets in µs, and in instructions.
CASES = (
    ("10 regions, 26 partners, 1 thread", (1, 10, 26, 1, 10, 52), 8, 40_000),
    ("64 threads x 50 regions, 5 touched", (64, 50, 0, 1, 5, 0), 15, None),
    ("64 threads x 50 regions, 5 touched by each", (64, 50, 0, 64, 5, 0), None, None),
    ("128 threads x 1,000 regions, 5 touched", (128, 1000, 0, 1, 5, 0), 15, None),
    ("4,095 partners known, 26 touched, by two calls", (1, 10, 4095, 1, 10, 52), 8, 44_000),
)
FEW, MANY = 50, 250  # steps: what happens once is in both


def instructions_of_steps(program: Path, case: tuple[int, ...], steps: int) -> int:
    """Instructions inside perfield_step, of all steps together."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--trace-children=yes", "--toggle-collect=perfield_step"]
        command += ["--callgrind-out-file=out.%p", "--log-file=log.%p", "perfield-exec", program]
        subprocess.run(
            [*command, *map(str, case), str(steps)],
            # A rank without mpirun: a daemon of Open MPI is no part of it.
            env={**programs.ENVIRONMENT, "OMPI_MCA_ess_singleton_isolated": "1"},
            cwd=folder,
            capture_output=True,
            check=True,
        )
        logs = [path.read_text() for path in Path(folder).glob("log.*")]
    return max(int(log.partition("Collected : ")[2].split()[0]) for log in logs if "Collected : " in log)


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        program = programs.build("closing.c", Path(name))
        for label, case, target, most in CASES:
            printed = programs.run(1, program, *case, measured=True)
            closing = [float(line) / 1e3 for line in printed.split()]
            figure(f"closing a step: {label}, CPU", closing, "µs", target=target)
            if shutil.which("valgrind"):
                few, many = (instructions_of_steps(program, case, steps) for steps in (FEW, MANY))
                of_one = [(many - few) / (MANY - FEW)]
                figure(f"closing a step: {label}, executed", of_one, "instructions", target=most)


if __name__ == "__main__":
    main()
