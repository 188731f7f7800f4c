# SPDX-License-Identifier: BSD-3-Clause
"""The recorder and the session under ThreadSanitizer, with threads that do everything at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from sanitizers import MEASURING, compiled, has_sanitizer, linked, sources

PROGRAMS = Path(__file__).resolve().parent / "programs"


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    """Links a program with all of perfield, compiled for ThreadSanitizer."""
    folder = tmp_path_factory.mktemp("races")
    if not has_sanitizer("thread", folder):
        pytest.skip("this compiler or kernel has no ThreadSanitizer that works")
    objects = compiled(sources(*MEASURING), "thread", folder)
    return lambda program: linked(PROGRAMS / f"{program}.cpp", objects, "thread", folder)


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
    objects = compiled(sources("recorder"), "", tmp_path)
    objects += compiled(sources("platform", "format", "configuration"), "", tmp_path, optimised=False)
    result = execute(linked(PROGRAMS / "open_calls.cpp", objects, "", tmp_path))
    assert (result.returncode, result.stdout) == (0, "exact\n")
