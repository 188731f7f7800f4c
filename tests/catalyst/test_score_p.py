# SPDX-License-Identifier: BSD-3-Clause
"""Pictures inside programs built with Score-P, if scorep is on PATH."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from drivers import extracts_of_run as extracts

pytestmark = pytest.mark.skipif(shutil.which("scorep") is None, reason="scorep is not on PATH")


def test_score_p_program_arrays_are_equal_inside_and_afterwards(
    in_process, perfield_flags, program_text, tmp_path
):
    (tmp_path / "program.c").write_text(program_text)
    flags = perfield_flags("--cflags")
    subprocess.run(["scorep", "mpicc", *flags, "program.c", "-o", "program"], cwd=tmp_path, check=True)
    # Without main: it writes a file after the last step, so pictures inside do not have its fields.
    quiet = {
        "SCOREP_ENABLE_PROFILING": "false",
        "PERFIELD_FIELDS_EVERY": "1",
        "PERFIELD_REGIONS": "solve",
    }
    result = in_process("./program", env=quiet, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "perfield: " not in result.stderr
    extracts.assert_as_afterwards(result.cwd / "perfield-run", range(3))
