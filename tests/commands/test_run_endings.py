# SPDX-License-Identifier: BSD-3-Clause
"""perfield run of programs that end badly: it returns their exit codes and prints the closing lines."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from compiled.c_programs import mpi_program
from conftest import clean_environment

import perfield

PROGRAM = mpi_program(
    """
  perfield_initialize();
  for (int s = 0; s < 8; ++s) {
    perfield_begin("work"); perfield_end("work");
    perfield_step(s, s);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    switch (argv[1][0]) {
      case 'k': raise(SIGKILL);
      case 's': raise(SIGSEGV);
      case 'a': MPI_Abort(MPI_COMM_WORLD, 9);
      case 'e': exit(5);
      case 'q': _exit(6);
    }
  }
  puts("waiting"); fflush(stdout);
  for (;;) sleep(1);
""",
    before="#include <signal.h>",
)
WAYS = {
    "kill": 128 + signal.SIGKILL,
    "segfault": 128 + signal.SIGSEGV,
    "abort": 9,
    "exit": 5,
    "quick exit": 6,
}


@pytest.mark.parametrize("way", WAYS)
def test_bad_ending_keeps_exit_code_and_frames(perfield_cli, build_c, way, tmp_path):
    program = build_c(PROGRAM)
    result = perfield_cli("run", "-n", "2", "--oversubscribe", program, way, cwd=tmp_path)
    assert result.returncode == WAYS[way], result.stderr
    assert result.stderr.count("perfield report perfield-run") == 1
    assert "8 on 2 ranks" in result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert len(run) == 8 and not run.damage
    for frame in run.frames():
        assert frame.present.all() and (frame.values["work_count"] == 1).all()


def test_interrupt_ends_the_program_and_prints_the_closing_lines(bin_dir, build_c, tmp_path):
    process = subprocess.Popen(
        [bin_dir / "perfield", "run", "-n", "2", "--oversubscribe", build_c(PROGRAM), "wait"],
        env=clean_environment(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for _ in range(2):
        assert process.stdout.readline() == "waiting\n"
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "8 on 2 ranks" in err and "Traceback" not in err
    run = perfield.open(tmp_path / "perfield-run")
    deadline = time.monotonic() + 60
    while run.state == "running" and time.monotonic() < deadline:
        time.sleep(0.1)
        run.refresh()
    assert run.state == "killed" and len(run) == 8
