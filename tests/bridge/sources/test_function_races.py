# SPDX-License-Identifier: BSD-3-Clause
"""The functions source under ThreadSanitizer, while threads open and close libraries that it follows."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BRIDGE = HERE.parents[2] / "bridge"
SOURCES = [
    HERE / "programs/function_races.cpp",
    *(BRIDGE / "sources/functions" / name for name in ("functions.cpp", "choice.cpp", "symbols.cpp")),
]
WATCHED = ["g++", "-std=c++17", "-O1", "-g", "-fsanitize=thread"]


@pytest.fixture
def races(tmp_path) -> Path:
    """The program and the source in one binary, in a folder with the libraries that it opens."""
    probe = tmp_path / "probe"
    words = [*WATCHED, "-x", "c++", "-", "-o", probe]
    made = subprocess.run(words, input="int main() {}", text=True, check=False, capture_output=True)
    if made.returncode or subprocess.run([probe], check=False, capture_output=True).returncode:
        pytest.skip("ThreadSanitizer does not work with this compiler or kernel")
    (tmp_path / "one.c").write_text("static void helper(void) {} void one(void) { helper(); }")
    words = ["gcc", "-shared", "-fPIC", "-finstrument-functions", "one.c", "-o", "lib0.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    for number in range(1, 32):
        shutil.copy(tmp_path / "lib0.so", tmp_path / f"lib{number}.so")
    include = [f"-I{BRIDGE}", f"-I{BRIDGE / 'include'}"]
    words = [*WATCHED, *include, *SOURCES, "-rdynamic", "-o", tmp_path / "races", "-ldl", "-lpthread"]
    subprocess.run(words, check=True, timeout=300)
    return tmp_path / "races"


def test_64_threads_opening_libraries_have_no_race(races, execute):
    # ThreadSanitizer does not see the loader's own lock. Without symbols, the loader appears as its file.
    loader = races.with_name("suppressions")
    loader.write_text("race:ld-linux\nrace:^_dl_\n")
    result = execute(races, env={"TSAN_OPTIONS": f"exitcode=66 suppressions={loader}"})
    assert "WARNING: ThreadSanitizer" not in result.stderr, result.stderr[:8000]
    assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "right"), result.stdout
