# SPDX-License-Identifier: BSD-3-Clause
"""perfield run says beforehand that a Python program's own Python has no perfield."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = "def solve():\n    return 1\n\n\nsolve()\nprint('done')\n"
IMPORTING = "try:\n    import perfield\nexcept ImportError:\n    pass\nprint('done')\n"


@pytest.fixture(scope="session")
def bare(tmp_path_factory):
    """A Python without perfield, as a user has one."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=120)
    return folder / "bin/python3"


@pytest.fixture
def said(perfield_cli, tmp_path):
    """said(*words, set=...): what `perfield run` says on stderr before the program's closing lines."""

    def run(*words, settings=(), path=""):
        options = [word for setting in settings for word in ("--set", setting)]
        env = {"PATH": path} if path else {}
        result = perfield_cli("run", "--launcher", "", *options, "--", *words, cwd=tmp_path, env=env)
        assert result.stdout == "done\n", result.stderr
        return [line for line in result.stderr.splitlines() if "has no perfield" in line]

    return run


@pytest.fixture
def script(tmp_path):
    """script(text): the path of a Python program."""

    def write(text):
        path = tmp_path / "solver.py"
        path.write_text(text)
        path.chmod(0o755)
        return path

    return write


def test_python_without_perfield_measures_no_function_and_is_reported(said, bare, script):
    (line,) = said(bare, script(SCRIPT), settings=["regions=solve", "step_region=advance"])
    assert line == (
        f"perfield: {bare} has no perfield, so no Python function becomes a region (solve, advance); install "
        f"perfield there ({bare} -m pip install, in perfield's repository), or start the program with "
        f"{sys.executable}"
    )


def test_program_that_imports_perfield_is_reported_of_a_python_without_it(said, bare, script):
    (line,) = said(bare, "-u", "-W", "error", script(IMPORTING))
    assert f"{bare} has no perfield, so the program cannot import it; install" in line


def test_script_with_its_interpreter_in_the_first_line_is_seen(said, bare, script):
    (line,) = said(script(f"#!{bare}\n{IMPORTING}"))
    assert f"{bare} has no perfield" in line


def test_text_of_the_command_line_is_seen(said, bare):
    (line,) = said(bare, "-c", "try:\n  import perfield\nexcept ImportError: print('done')")
    assert "the program cannot import it" in line


@pytest.mark.parametrize("settings", [[], ["regions=*"], ["regions="]])
def test_python_that_needs_no_perfield_is_not_reported(said, bare, script, settings):
    assert said(bare, script(SCRIPT), settings=settings) == []


def test_python_with_perfield_is_not_reported(said, script):
    assert said(sys.executable, script(SCRIPT), settings=["regions=solve"]) == []


def test_other_programs_are_not_reported(said):
    assert said("echo", "done", settings=["regions=solve"]) == []
