# SPDX-License-Identifier: BSD-3-Clause
"""Instructions of one iteration of a program, counted by valgrind's callgrind: the same on any machine.

A program that can be counted takes `WHAT N` as arguments and makes N iterations.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import programs

SHORT, LONG = 2_000, 22_000
SHORT_LOG, LONG_LOG = 500, 4_500  # in a step whose log has room for all
# What perfield may add. A call's part has 20 for stamps (6 ns); a non-blocking send's is for its stamps, too.
CALL, MESSAGE, NON_BLOCKING_SEND, FORTRAN = 200, 110, 60, 20
# (WHAT of programs/events.c, name, what perfield may add)
EXCHANGES = (
    ("calls", "a counted MPI call (MPI_Test)", CALL),
    ("tests", "MPI_Test of a receive that has not come", CALL),
    ("probes", "MPI_Iprobe that finds nothing", CALL),
    ("sendrecv", "MPI_Sendrecv", CALL + 2 * MESSAGE),
    ("messages", "MPI_Irecv, MPI_Send, MPI_Wait", 3 * CALL + 2 * MESSAGE),
    ("requests", "MPI_Irecv, MPI_Isend, MPI_Waitall", 3 * CALL + 2 * MESSAGE + NON_BLOCKING_SEND),
    ("open_sends", "MPI_Issend, MPI_Irecv, MPI_Waitall", 3 * CALL + 2 * MESSAGE + NON_BLOCKING_SEND),
    ("epochs", "MPI_Win_post, _start, _complete, _wait with one partner", 4 * CALL + 4 * MESSAGE),
    ("locks", "MPI_Win_lock, _unlock", 2 * CALL),
)
# The program closes steps itself. Otherwise perfield also follows where its calls are made.
STEPS = {"EVENTS_STEP": "1"}
LOGGED = {**STEPS, "PERFIELD_ARRIVALS_EVERY": "1"}
# A rank without mpirun: what a daemon of Open MPI executes would be counted too.
_ALONE = {"OMPI_MCA_ess_singleton_isolated": "1"}


def can_count() -> bool:
    """Whether valgrind is installed; says so on stderr if it is not."""
    found = shutil.which("valgrind") is not None
    if not found:
        print("perfield bench: valgrind is not installed; no instructions are counted", file=sys.stderr)
    return found


def _executed(argv: list[object], environment: dict[str, str]) -> int:
    """Instructions of a process from its last exec to its end, all threads together."""
    with tempfile.TemporaryDirectory() as folder:
        counted = [
            "valgrind",
            "--tool=callgrind",
            "--trace-children=yes",
            f"--callgrind-out-file={folder}/out.%p.%n",
            f"--log-file={folder}/log.%p",
        ]
        ended = subprocess.run(
            [*counted, *map(str, argv)],
            env={**programs.ENVIRONMENT, **_ALONE, **environment},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        logs = [path.read_text() for path in Path(folder).glob("log.*")]
    # Not the helpers that perfield-exec starts.
    words = " ".join(map(str, argv)).split()
    logs = [log for log in logs if any(word in words for word in re.findall(r"Command: (\S+)", log))]
    totals = [int(n) for log in logs for n in re.findall(r"Collected : (\d+)", log)]
    if ended.returncode or not totals:
        raise RuntimeError(f"{ended.args} ended with {ended.returncode}: {ended.stderr} {logs}")
    return max(totals)


def per_iteration(
    program: Path, what: str, *, measured: bool, counts: tuple[int, int] = (SHORT, LONG), **environment: str
) -> float:
    """Instructions that one iteration of `program what N` executes, the MPI library's included.

    measured : whether it runs under perfield-exec. environment : variables, PERFIELD_... for example.
    What happens once, or when a table is touched first, is not in it: it is the slope between two counts
    of iterations.
    """
    command = [*(["perfield-exec"] if measured else []), program, what]
    return per_run(lambda n: [*command, n], environment, counts)


def per_run(
    argv: Callable[[int], list[object]],
    environment: dict[str, str],
    counts: tuple[int, int] = (SHORT, LONG),
) -> float:
    """The same for any command; argv(n) is the one that makes n iterations."""
    short, long = (_executed(argv(n), environment) for n in counts)
    # What one process does at its start differs by some hundred instructions from run to run.
    return round((long - short) / (counts[1] - counts[0]), 1)


def added(program: Path, what: str, counts: tuple[int, int] = (SHORT, LONG), **environment: str) -> float:
    """Instructions that perfield adds to one iteration."""
    bare, measured = (
        per_iteration(program, what, measured=measured, counts=counts, **environment)
        for measured in (False, True)
    )
    return measured - bare
