# SPDX-License-Identifier: BSD-3-Clause
"""Following a program while it runs: perfield.open, perfield info and perfield render."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from compiled.c_programs import mpi_program
from conftest import clean_environment, kill_session

import perfield
from perfield.run import RunError

# Closes one step for each byte of its input, and ends with it.
PROGRAM = mpi_program(
    """
  int64_t e[6] = {2 * rank, 2 * rank + 2, 0, 2, 0, 2};
  double o[3] = {0}, d[3] = {1, 1, 1};
  perfield_initialize();
  perfield_mesh_image(0, e, o, d);
  for (int s = 0;; ++s) {
    char more = 0;
    if (rank == 0) more = read(0, &more, 1) == 1;
    MPI_Bcast(&more, 1, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (!more) break;
    perfield_begin(s < 3 ? "early" : "late"); perfield_end(s < 3 ? "early" : "late");
    perfield_step(s, 0.1 * s);
  }
""",
    after='if (rank == 0) puts("the answer is 42");',
)


@pytest.fixture
def live(build_c, bin_dir, tmp_path):
    """A running program of two ranks: (its process, its run directory, which need not exist yet)."""
    process = subprocess.Popen(
        ["mpirun", "--oversubscribe", "-n", "2", bin_dir / "perfield-exec", build_c(PROGRAM)],
        env=clean_environment(),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    yield process, tmp_path / "perfield-run"
    if process.poll() is None:
        kill_session(process.pid)
        process.communicate()


def steps(process, n):
    """Lets the program go on for n steps."""
    process.stdin.write(b"." * n)
    process.stdin.flush()


def until(condition):
    """Waits until the condition holds; fails the test after a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def opened(path):
    """The run, once both ranks have checked in."""
    found = []

    def ready():
        try:
            run = perfield.open(path)
        except RunError:
            return False
        found[:] = [run]
        return all(run.rank_entries)

    until(ready)
    return found[0]


def grows_to(run, n):
    """Refreshes the run; returns whether it has n complete frames."""
    run.refresh()
    return len(run) == n and run.frame(n - 1).present.all()


def test_frames_arrive_while_the_program_runs_and_after(live):
    process, path = live
    run = opened(path)
    assert run.state == "running"
    steps(process, 3)
    until(lambda: grows_to(run, 3))
    assert [frame.values["early_count"].tolist() for frame in run.frames()] == [[1, 1]] * 3
    assert "late_count" not in run.frame(0).values
    steps(process, 2)
    until(lambda: grows_to(run, 5))
    assert run.state == "running" and not run.damage
    assert run.frame(4).values["late_count"].tolist() == [1, 1]
    assert len(run.mesh(1, 1)) == 1
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, b"the answer is 42\n"), err
    run.refresh()
    assert run.state == "finished" and len(run) == 5 and not run.damage


def test_info_and_render_show_a_running_program(live, perfield_cli):
    process, path = live
    run = opened(path)
    steps(process, 4)
    until(lambda: grows_to(run, 4))
    info = perfield_cli("info", path)
    assert info.returncode == 0, info.stderr
    assert info.stdout.startswith(f"{path}: running")
    assert "4 on 2 ranks" in info.stdout
    rendered = perfield_cli("render", path, timeout=300)
    assert rendered.returncode == 0, rendered.stderr
    assert (path / "pictures/geometry.pvd").is_file() and (path / "pictures/topology.pvd").is_file()
    steps(process, 1)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, b"the answer is 42\n"), err
    assert len(perfield.open(path)) == 5


def test_killed_program_keeps_its_frames(live):
    process, path = live
    run = opened(path)
    steps(process, 6)
    until(lambda: grows_to(run, 6))
    for rank in run.rank_entries:
        os.kill(rank["pid"], signal.SIGKILL)
    process.communicate(timeout=60)
    run.refresh()
    assert run.state == "killed" and len(run) == 6 and run.frame(5).present.all()
