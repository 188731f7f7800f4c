# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures for tests of `perfield follow`: a program that closes one step for each byte of its input."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from compiled.c_programs import mpi_program
from conftest import clean_environment, kill_session
from drivers import extracts_of_run as extracts

import perfield
from perfield.run import RunError

# argv[1] is "alone" if the program itself closes its steps.
PROGRAM = mpi_program(
    """
  int64_t extent[6] = {4 * rank, 4 * rank + 4, 0, 2, 0, 0};
  double origin[3] = {0, 0, 0}, spacing[3] = {1, 1, 1}, heat[15];
  char sent[1000] = {0}, got[1000];
  int closes = argc > 1 && argv[1][0] == 'a';
  perfield_mesh_image(0, extent, origin, spacing);
  perfield_field(0, "heat", PERFIELD_POINTS, perfield_array_of(heat, PERFIELD_FLOAT64, 1, 15));
  perfield_initialize();
  for (int step = 1;; ++step) {
    char more = 0;
    for (int i = 0; i < 15; ++i) heat[i] = 100 * step + rank;
    if (rank == 0) more = read(0, &more, 1) == 1;
    MPI_Request request;  // in a blocking call MPI would spin
    MPI_Ibcast(&more, 1, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
    for (int done = 0; !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) usleep(3000);
    if (!more) break;
    work(2);
    MPI_Sendrecv(sent, step + rank, MPI_CHAR, 1 - rank, 0, got, 1000, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    int one = 1, all;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // closes a step by its call site
    if (closes) perfield_step(step, 0.5 * step);
  }
""",
    after='if (rank == 0) puts("the program is through");',
)
CLOSING_LINE = 1 + next(n for n, text in enumerate(PROGRAM.splitlines()) if "MPI_Allreduce" in text)


@pytest.fixture(autouse=True, scope="session")
def _with_paraview() -> None:
    if importlib.util.find_spec("paraview") is None:
        pytest.skip("ParaView's Python modules are not installed")


def until(condition: Callable[[], bool], seconds: float = 180) -> None:
    """Waits until the condition holds; fails the test after so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


class Running:
    """A started process in a folder; its output goes to files there."""

    def __init__(self, name: str, words: list, folder: Path, **environment: str | None):
        self.folder = folder
        self._files = [folder / f"{name}.out", folder / f"{name}.err"]
        with self._files[0].open("w") as out, self._files[1].open("w") as err:
            self.process = subprocess.Popen(
                [str(word) for word in words],
                env=clean_environment(environment),
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def out(self) -> str:
        """What it wrote to standard output until now."""
        return self._files[0].read_text(errors="replace")

    @property
    def err(self) -> str:
        """What it wrote to standard error until now."""
        return self._files[1].read_text(errors="replace")

    def steps(self, n: int) -> None:
        """Lets the program close n more steps."""
        self.process.stdin.write(b"." * n)
        self.process.stdin.flush()

    def finish(self, seconds: float = 180) -> int:
        """Closes its input and waits for its end; returns the exit code."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        return self.process.wait(timeout=seconds)

    def interrupt(self) -> None:
        """Sends what Ctrl-C sends."""
        self.process.send_signal(signal.SIGINT)

    def shown(self) -> int:
        """How many frames the last status line of `perfield follow` says."""
        return int((re.findall(r"shown (\d+) of", self.err) or [0])[-1])


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[..., Running]]:
    """start(name, words, **environment): a process that ends with the test."""
    started = []

    def begin(name: str, words: list, **environment: str | None) -> Running:
        started.append(Running(name, words, tmp_path, **environment))
        return started[-1]

    yield begin
    for running in started:
        kill_session(running.process.pid)
        running.process.wait()
        with contextlib.suppress(BrokenPipeError):
            running.process.stdin.close()


@pytest.fixture
def program(start, build_c, bin_dir) -> Callable[..., Running]:
    """program(closes=True, **environment): the program on two ranks, in its own folder's perfield-run."""

    def begin(closes: bool = True, **environment: str) -> Running:
        words = [bin_dir / "perfield", "run", "-n", 2, "--", build_c(PROGRAM), "alone" if closes else "never"]
        return start("program", words, PERFIELD_FIELDS_EVERY="1", **environment)

    return begin


@pytest.fixture
def follow(start, bin_dir) -> Callable[..., Running]:
    """follow(*options, **environment): a started `perfield follow`."""

    def begin(*options: object, **environment: str) -> Running:
        return start("follow", [bin_dir / "perfield", "follow", *options], DISPLAY=None, **environment)

    return begin


def listed(run: Path) -> list[tuple[float, str]]:
    """(time, file) of all steps in the run's geometry.pvd; each file is there and complete."""
    pvd = run / "follow/geometry.pvd"
    found = extracts.listed(pvd) if pvd.exists() else []
    for _, name in found:
        assert extracts.read_multiblock(pvd.parent / name).GetNumberOfBlocks() == 2
    return found


def n_frames(run: Path) -> int:
    """Number of frames of a run that may not have begun."""
    try:
        return len(perfield.open(run))
    except RunError:
        return 0
