# SPDX-License-Identifier: BSD-3-Clause
"""The recorder and the session under ThreadSanitizer, with threads that do everything at once."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

BRIDGE = Path(__file__).resolve().parents[3] / "bridge"
PROGRAM = Path(__file__).resolve().parent / "programs/races.cpp"
LIBRARY = ("platform", "format", "configuration", "fields", "run_directory", "summary")
SKIPPED = {"older_glibc.cpp"}  # for linking with old C libraries only


def sources():
    """What libperfield.so is made of, and the program."""
    rooms = [
        file for room in (*LIBRARY, "recorder", "session") for file in sorted((BRIDGE / room).glob("*.cpp"))
    ]
    return [file for file in rooms if file.name not in SKIPPED] + [BRIDGE / "api/api.cpp", PROGRAM]


@pytest.fixture(scope="module")
def races(tmp_path_factory) -> Path:
    """The program and all of perfield, compiled for ThreadSanitizer."""
    folder = tmp_path_factory.mktemp("races")
    words = ["g++", "-std=c++17", "-O1", "-g", "-fsanitize=thread"]
    probe = subprocess.run(
        [*words, "-x", "c++", "-", "-o", folder / "probe"], input="int main() {}", text=True, check=False
    )
    if probe.returncode or subprocess.run([folder / "probe"], check=False, capture_output=True).returncode:
        pytest.skip("this compiler or kernel has no ThreadSanitizer that works")

    def compiled(file: Path) -> Path:
        made = folder / f"{file.parent.name}-{file.stem}.o"
        flags = ['-DPERFIELD_VERSION="0"', f"-I{BRIDGE}", f"-I{BRIDGE / 'include'}"]
        subprocess.run([*words, *flags, "-c", file, "-o", made], check=True, timeout=300)
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sources()))
    subprocess.run([*words, *objects, "-o", folder / "races", "-ldl", "-lpthread"], check=True, timeout=300)
    return folder / "races"


@pytest.mark.long
@pytest.mark.parametrize("tables", ["small", "large"])
def test_threads_and_step_ends_have_no_data_race(races, execute, tables):
    sizes = {"small": ("20", "200"), "large": ("4096", "4096")}[tables]
    environment = dict(zip(("PERFIELD_MAX_PEERS", "PERFIELD_MAX_REGIONS"), sizes))
    environment["PERFIELD_COUNTERS"] = "page_faults,task_clock"
    result = execute(races, env={**environment, "TSAN_OPTIONS": "exitcode=66 die_after_fork=0"})
    assert "WARNING: ThreadSanitizer" not in result.stderr, result.stderr[:8000]
    assert (result.returncode, result.stdout) == (0, "done\n")
    assert "steps" in result.stderr
