# SPDX-License-Identifier: BSD-3-Clause
"""What a rank asks of the file system while the program works: nothing by path, as strace shows."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from compiled.c_programs import mpi_program

# Ranks mark the steps in the trace by looking for a file of that name.
MARK = "/a-mark-of-the-test"
PROGRAM = mpi_program(f"""
  int64_t e[6] = {{0, 8, 0, 0, 0, 0}}; double o[3] = {{0}}, d[3] = {{1, 1, 1}}; static double x[8];
  perfield_initialize();
  perfield_mesh_image(0, e, o, d);
  perfield_field(0, "x", PERFIELD_CELLS, perfield_array_of(x, PERFIELD_FLOAT64, 1, 8));
  for (int s = 0; s <= 2048; ++s) {{
    if (s == 1024 || s == 2048) access("{MARK}", F_OK);
    perfield_begin("work"); usleep(100); perfield_end("work");
    MPI_Barrier(MPI_COMM_WORLD);
    perfield_pipeline_next();  // a mistake with a warning
    perfield_step(s, s);
  }}
""")


@pytest.fixture
def calls_on_paths(build_c, bin_dir, mpirun, execute, tmp_path):
    """calls_on_paths(env): the system calls on a path of each of two ranks in steps 1024 to 2047."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    if execute("strace", "-o", "/dev/null", "true").returncode:
        pytest.skip("ptrace is forbidden here")

    def run(env: dict[str, str]) -> list[list[str]]:
        words = "strace", "-f", "-ff", "-o", tmp_path / "trace", "-e", "trace=%file", "-e", "signal=none"
        result = mpirun(2, *words, bin_dir / "perfield-exec", build_c(PROGRAM), cwd=tmp_path, env=env)
        assert result.returncode == 0, result.stderr
        found = [between_marks(path) for path in sorted(tmp_path.glob("trace.*"))]
        return [calls for calls in found if calls is not None]

    return run


def between_marks(trace: Path) -> list[str] | None:
    """The calls between the two marks of a thread; None if it has none. fstat of a descriptor is no path."""
    lines = trace.read_text(errors="replace").splitlines()
    marks = [i for i, line in enumerate(lines) if f'"{MARK}"' in line]
    if not marks:
        return None
    return [line for line in lines[marks[0] + 1 : marks[1]] if not re.match(r'newfstatat\(\d+, "", ', line)]


def test_steps_ask_nothing_of_a_path(calls_on_paths):
    """What is asked with each doubling of the steps alone is allowed: it is the last of them here."""
    ranks = calls_on_paths({"PERFIELD_FIELDS_EVERY": "0"})
    assert len(ranks) == 2
    for calls in ranks:
        assert len(calls) <= 1, calls
        assert all('"/proc/self/maps"' in call for call in calls)


def test_ranks_seldom_look_whether_fields_are_stored_more_rarely(calls_on_paths):
    """Four looks of three calls in a doubling of the steps, which store fields 16 times."""
    for calls in calls_on_paths({}):
        assert len(calls) <= 1 + 4 * 3, calls
