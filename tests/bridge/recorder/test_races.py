# SPDX-License-Identifier: BSD-3-Clause
"""The recorder and the session under ThreadSanitizer, with threads that do everything at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from sanitized import MEASURING, sanitized

PROGRAM = Path(__file__).resolve().parent / "programs/races.cpp"


@pytest.fixture(scope="module")
def races(tmp_path_factory) -> Path:
    """The program and all of perfield, compiled for ThreadSanitizer."""
    program = sanitized(PROGRAM, MEASURING, "thread", tmp_path_factory.mktemp("races"))
    if program is None:
        pytest.skip("this compiler or kernel has no ThreadSanitizer that works")
    return program


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
