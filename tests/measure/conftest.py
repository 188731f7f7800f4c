# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures for measured Python programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Completed, run_command

import perfield
from perfield.run import AnyRun


@pytest.fixture
def measured_python(bin_dir: Path, tmp_path: Path) -> Callable[..., tuple[AnyRun, Completed]]:
    """measured_python(text, env={}, alone=False, python=sys.executable): runs a program in Python.

    alone : without perfield-exec. Returns the run and the finished process.
    """

    def run(text: str, env=None, alone: bool = False, python: object = sys.executable):
        program = tmp_path / "program.py"
        program.write_text(text)
        command = [*([] if alone else [bin_dir / "perfield-exec"]), python, program]
        result = run_command(command, env, tmp_path, 120)
        assert result.returncode == 0, result.stderr
        return perfield.open(tmp_path / "perfield-run"), result

    return run
