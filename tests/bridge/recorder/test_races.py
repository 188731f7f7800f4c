# SPDX-License-Identifier: BSD-3-Clause
"""The recorder and the session under ThreadSanitizer, with threads that do everything at once."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

BRIDGE = Path(__file__).resolve().parents[3] / "bridge"
PROGRAMS = Path(__file__).resolve().parent / "programs"
LIBRARY = ("platform", "format", "configuration", "fields", "run_directory", "summary")
SKIPPED = {"older_glibc.cpp"}  # for linking with old C libraries only


def sources(*rooms: str):
    """The C++ files of these rooms of the bridge."""
    files = [file for room in rooms for file in sorted((BRIDGE / room).glob("*.cpp"))]
    return [file for file in files if file.name not in SKIPPED]


def compiled(folder: Path, files, *flags: str) -> list[Path]:
    """The objects of these files."""

    def compile_one(file: Path) -> Path:
        made = folder / f"{file.parent.name}-{file.stem}.o"
        words = [*flags, '-DPERFIELD_VERSION="0"', f"-I{BRIDGE}", f"-I{BRIDGE / 'include'}"]
        subprocess.run(["g++", "-std=c++17", *words, "-c", file, "-o", made], check=True, timeout=300)
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, files))


def linked(folder: Path, program: str, objects, *flags: str) -> Path:
    """The program of that name in programs/, linked with these objects."""
    [own] = compiled(folder, [PROGRAMS / f"{program}.cpp"], *flags)
    words = ["g++", *flags, own, *objects, "-o", folder / program, "-ldl", "-lpthread"]
    subprocess.run(words, check=True, timeout=300)
    return folder / program


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    """Links a program with all of perfield, compiled for ThreadSanitizer."""
    folder = tmp_path_factory.mktemp("races")
    flags = ["-O1", "-g", "-fsanitize=thread"]
    probe = subprocess.run(
        ["g++", *flags, "-x", "c++", "-", "-o", folder / "probe"],
        input="int main() {}",
        text=True,
        check=False,
    )
    if probe.returncode or subprocess.run([folder / "probe"], check=False, capture_output=True).returncode:
        pytest.skip("this compiler or kernel has no ThreadSanitizer that works")
    files = [*sources(*LIBRARY, "recorder", "session"), BRIDGE / "api/api.cpp"]
    objects = compiled(folder, files, *flags)
    return lambda program: linked(folder, program, objects, *flags)


@pytest.mark.long
@pytest.mark.parametrize("tables", ["small", "large"])
def test_threads_and_step_ends_have_no_data_race(sanitized, execute, tables):
    sizes = {"small": ("20", "200"), "large": ("4096", "4096")}[tables]
    environment = dict(zip(("PERFIELD_MAX_PEERS", "PERFIELD_MAX_REGIONS"), sizes))
    environment["PERFIELD_COUNTERS"] = "page_faults,task_clock"
    result = execute(sanitized("races"), env={**environment, "TSAN_OPTIONS": "exitcode=66 die_after_fork=0"})
    assert "WARNING: ThreadSanitizer" not in result.stderr, result.stderr[:8000]
    assert (result.returncode, result.stdout) == (0, "done\n")
    assert "steps" in result.stderr


@pytest.mark.long
def test_open_calls_and_step_ends_have_no_data_race(sanitized, execute):
    result = execute(sanitized("open_calls"), env={"TSAN_OPTIONS": "exitcode=66"})
    assert "WARNING: ThreadSanitizer" not in result.stderr, result.stderr[:8000]
    assert (result.returncode, result.stdout) == (0, "exact\n")


def test_each_call_counts_once_however_many_steps_close_meanwhile(tmp_path, execute):
    objects = compiled(tmp_path, sources("platform", "format", "configuration", "recorder"), "-O1")
    result = execute(linked(tmp_path, "open_calls", objects, "-O1"))
    assert (result.returncode, result.stdout) == (0, "exact\n")
