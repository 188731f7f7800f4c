# SPDX-License-Identifier: BSD-3-Clause
"""A fork of a warm Python acts as a process of its own."""

from __future__ import annotations

import os
import subprocess

import pytest
from drivers.warm_python import Fork, WarmPython

LOOK_AND_CHANGE = """
import atexit, builtins, os, sys
print(sys.argv, os.getcwd(), os.environ.get("A"), builtins.value, os.getsid(0) == os.getpid())
print(repr(sys.stdin.read()), file=sys.stderr)
builtins.value, os.environ["A"] = 2, "left"
os.chdir("/")
atexit.register(print, "the end")
sys.exit(3)
"""


@pytest.fixture(scope="module")
def warm():
    return WarmPython("import builtins; builtins.value = 1")


def test_fork_begins_anew_and_ends_as_a_process_does(warm, tmp_path):
    for value in ("x", "y"):
        fork = warm.start(LOOK_AND_CHANGE, ["a", "b c"], {"A": value}, tmp_path)
        said = f"['a', 'b c'] {tmp_path} {value} 1 True\nthe end\n"
        assert (fork.communicate(60), fork.returncode) == ((said, "''\n"), 3)


@pytest.mark.parametrize(
    ("code", "status", "last_line"),
    [
        ("import os; os.kill(os.getpid(), 9)", -9, ""),
        ("import sys; sys.exit('why')", 1, "why\n"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
        ("pass", 0, ""),
    ],
)
def test_how_a_fork_ends_is_known(warm, tmp_path, code, status, last_line):
    fork = warm.start(code, [""], {}, tmp_path)
    _, err = fork.communicate(60)
    assert (fork.returncode, err.splitlines(keepends=True)[-1:]) == (status, [last_line] * bool(last_line))


def test_fork_that_lasts_can_be_stopped_and_is_counted(warm, tmp_path):
    before = Fork.used_s
    fork = warm.start("while True: pass", [""], {}, tmp_path)
    with pytest.raises(subprocess.TimeoutExpired):
        fork.communicate(0.2)
    os.kill(fork.pid, 15)
    assert fork.communicate(60) == ("", "") and fork.returncode == -15
    assert Fork.used_s > before


def test_variables_that_python_reads_at_its_start_need_a_process_of_their_own(warm):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PERFIELD_")}
    assert warm.can_have({**plain, "DISPLAY": ":77", "PATH": "/nowhere", "PERFIELD_SUMMARY": "false"})
    assert not warm.can_have({**plain, "PYTHONPATH": "/nowhere"})
    assert not warm.can_have({**plain, "LC_ALL": "C" if plain.get("LC_ALL") != "C" else "POSIX"})
