# SPDX-License-Identifier: BSD-3-Clause
"""`make man` writes a page for perfield, each of its commands and perfield-exec, which troff reads."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perfield.commands import COMMANDS

SCRIPT = Path(__file__).resolve().parents[2] / ".ci/man_pages.py"


def test_each_command_has_a_page_that_troff_shows_whole(tmp_path):
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    subprocess.run([sys.executable, SCRIPT, tmp_path], check=True)
    pages = {path.stem: path for path in (tmp_path / "man1").iterdir()}
    of_commands = {"-".join(["perfield", *name.split()]) for name in COMMANDS}
    assert pages.keys() == {"perfield", "perfield-exec", *of_commands}
    command = ["groff", "-ww", "-man", "-Tutf8", "-P-cbou", *sorted(pages.values())]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert shown.stderr == ""
    assert "--fail-if CONDITION   exit with 1" in shown.stdout.replace("\u2010", "-")
