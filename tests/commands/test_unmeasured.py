# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that run without perfield: found below the launcher, and why."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import clean_environment

import perfield
from perfield.commands._unmeasured import FIRST_S, LATEST_S, SOON_S, Unmeasured, Watch

WAITS = """
#include <mpi.h>
#include <stdio.h>
int main(int n, char** v) { puts(v[0]); fflush(stdout); getchar();"""
LIBRARY = str(Path(perfield.__file__).parent / "lib/libperfield_openmpi.so")


@pytest.fixture
def look(build_c):
    """look(mpi=True, checked_in=False, **environment): what a watch answers and finds below a shell."""

    def run(
        mpi: bool = True, checked_in: bool = False, **environment: str
    ) -> tuple[float | None, Unmeasured | None, Path, int]:
        program = build_c(f"{WAITS} return {'MPI_Initialized(&n)' if mpi else '0'}; }}")
        changes = " ".join(f"{name}='{value}'" for name, value in environment.items())
        words = ["sh", "-c", f"{changes} {program}; true"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(words, env=clean_environment(), **pipes) as process:
            process.stdout.readline()  # the program runs
            watch = Watch(lambda: checked_in)
            answer = watch(process.pid)
            process.communicate(b"\n")
        return answer, watch.found, program

    return run


def test_program_without_perfield_is_found_with_its_environment(look):
    answer, found, program = look()
    assert answer is None
    assert found == Unmeasured(found.pid, str(program))
    _, found, _ = look(PERFIELD_RUN="/somewhere")
    assert found.variables and not found.preload
    _, found, _ = look(LD_PRELOAD="/gone/libperfield_openmpi.so", PERFIELD_RUN="/somewhere")
    assert found.missing == "/gone/libperfield_openmpi.so" == found.preload[0]


def test_measured_program_ends_the_watch_once_it_has_checked_in(look):
    assert look(LD_PRELOAD=LIBRARY)[:2] == (SOON_S, None)
    assert look(LD_PRELOAD=LIBRARY, checked_in=True)[:2] == (None, None)


def test_process_that_ends_during_the_look_is_none(monkeypatch):
    def gone(path, pattern):
        raise FileNotFoundError(2, "No such file or directory", f"{path}/task")

    monkeypatch.setattr(Path, "glob", gone)
    assert Watch(lambda: False)(2**22 + 1) == SOON_S  # beyond all processes


def test_program_without_mpi_is_looked_at_ever_more_rarely(look):
    answer, found, _ = look(mpi=False)
    assert (answer, found) == (SOON_S, None)
    watch, pauses = Watch(lambda: False), []
    with subprocess.Popen(["sleep", "600"]) as other:
        while not pauses or pauses[-1] < LATEST_S:
            pauses.append(watch(other.pid))
        other.kill()
    assert 0.5 * FIRST_S < sum(pause for pause in pauses if pause == SOON_S) < 1.5 * FIRST_S
    assert len(pauses) < 50


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({}, "start.sh or a program that it starts removes LD_PRELOAD and the variables PERFIELD_* from its"),
        ({"variables": True}, "removes LD_PRELOAD from its environment; keep LD_PRELOAD and the variables"),
        (
            {"preload": ("/l",), "missing": "/l"},
            "its LD_PRELOAD names /l, which does not exist where it runs",
        ),
        ({"preload": ("/l",), "secure": True}, "it has other rights than its user (set-user-id)"),
        ({"preload": ("/l",)}, "although its LD_PRELOAD names /l; the loader's message says why"),
    ],
    ids=["cleared", "removed", "missing", "set-user-id", "unknown"],
)
def test_why_names_what_the_environment_says(found, words):
    sentence = Unmeasured(4711, "/home/me/solver", **found).why("./start.sh")
    assert sentence.startswith("/home/me/solver (process 4711) has loaded MPI but not perfield")
    assert words in sentence


def test_program_that_starts_itself_is_not_called_a_script():
    sentence = Unmeasured(4711, "/home/me/solver").why("./solver")
    assert "it started itself again without LD_PRELOAD and the variables PERFIELD_*" in sentence
