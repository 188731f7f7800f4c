# SPDX-License-Identifier: BSD-3-Clause
"""Which lines of a script call, as C++ reads them without the interpreter's lock, in each Python here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MINORS = (8, 9, 10, 11, 12, 13, 14)
SCRIPT = """\
import ctypes, sys
sys.stdout.reconfigure(encoding="utf-8")
library = ctypes.CDLL(sys.argv[1])
def ask():
    out = ctypes.create_string_buffer(1 << 16)
    library.stack(out, len(out))
    print(out.value.decode(), end="---\\n")
def größe():
    for _ in range(2):
        (ask(),
         ask())
class Solver:
    def step(self): return [größe() for _ in (1,)]
Solver().step()
"""
LOOP = [(10, 1), (11, 1), (10, 2), (11, 2)]  # lines of the calls, in their order


@pytest.fixture(scope="module")
def library(build_c) -> Path:
    return build_c(
        (Path(__file__).parent / "programs/python_stack.cpp").read_text(),
        *("-shared", "-fPIC", f"-I{ROOT / 'bridge'}"),
        name="python_stack.cpp",
        mpi=False,
    )


def interpreter(minor: int) -> str:
    """A Python 3.minor of this machine; the test is skipped without one."""
    path = shutil.which(f"python3.{minor}")
    if not path or subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"no Python 3.{minor} here")
    return path


def stacks(minor: int, library: Path, folder: Path, **environment: str) -> list[list[str]]:
    """The lines that SCRIPT prints in a file with a name that is not ASCII, by call."""
    script = folder / "Strömung_流.py"
    script.write_text(SCRIPT, encoding="utf-8")
    command = [interpreter(minor), str(script), str(library)]
    result = subprocess.run(
        command, capture_output=True, encoding="utf-8", check=True, env={**os.environ, **environment}
    )
    return [text.splitlines() for text in result.stdout.split("---\n")[:-1]]


@pytest.mark.parametrize("minor", MINORS)
def test_lines_and_functions_of_the_script(minor, library, tmp_path):
    found = stacks(minor, library, tmp_path)
    assert len(found) == len(LOOP)
    for (line, _), (_, *frames) in zip(LOOP, found):
        functions, lines, files = zip(*(frame.split(" ", 2) for frame in frames))
        inner = ["<listcomp>"] if minor < 12 else []
        assert functions == ("ask", "größe", *inner, "step", "<module>")
        assert set(files) == {str(tmp_path / "Strömung_流.py")}
        assert [int(n) for n in lines] == [6, line, *[13] * len(inner), 13, 14]


@pytest.mark.parametrize("minor", MINORS)
def test_each_line_has_its_own_hash(minor, library, tmp_path):
    first, second, again, once_more = (chain for chain, *_ in stacks(minor, library, tmp_path))
    assert first == again != second == once_more
    assert "0" * 16 not in (first, second)


@pytest.mark.parametrize("said", [minor for minor in (*MINORS, 99) if minor != 11])
def test_a_layout_that_does_not_fit_is_not_used(said, library, tmp_path):
    assert stacks(11, library, tmp_path, VERSION=f"3.{said}.0") == [["0" * 16]] * len(LOOP)
