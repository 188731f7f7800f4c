# SPDX-License-Identifier: BSD-3-Clause
"""The recorder and the session under sanitizers, with threads that do everything at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled.built import of_the_wheel
from compiled.sanitizers import MEASURING, compiled, has_sanitizer, linked, sources

PROGRAMS = Path(__file__).resolve().parent / "programs"


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    """Links a program with all of perfield, compiled for ThreadSanitizer."""
    folder = tmp_path_factory.mktemp("races")
    if not has_sanitizer("thread", folder):
        pytest.skip("this compiler or kernel has no ThreadSanitizer that works")
    objects = compiled(sources(*MEASURING), "thread")
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


@pytest.fixture(scope="module")
def linked_plainly(tmp_path_factory):
    """Links a program with the recorder of the wheel."""
    folder = tmp_path_factory.mktemp("recorder")
    rooms = "recorder", "format", "configuration", "platform"  # each uses those after it
    libraries = [of_the_wheel(f"{room}/*.a") for room in rooms]
    return lambda program: linked(PROGRAMS / f"{program}.cpp", libraries, "", folder)


@pytest.mark.long
@pytest.mark.parametrize("program", ["open_calls", "dirty_rows"])
def test_counting_and_step_ends_have_no_data_race(sanitized, execute, program):
    result = execute(sanitized(program), env={"TSAN_OPTIONS": "exitcode=66"})
    assert "WARNING: ThreadSanitizer" not in result.stderr, result.stderr[:8000]
    assert (result.returncode, result.stdout) == (0, "exact\n")


@pytest.fixture(scope="module")
def linked_for_addresses(tmp_path_factory):
    """Links a program with the recorder, compiled for AddressSanitizer and UBSan."""
    folder, kinds = tmp_path_factory.mktemp("addresses"), "address,undefined"
    if not has_sanitizer(kinds, folder):
        pytest.skip("this compiler or kernel has no AddressSanitizer that works")
    objects = compiled(sources("recorder", "platform", "format", "configuration"), kinds)
    return lambda program: linked(PROGRAMS / f"{program}.cpp", objects, kinds, folder)


@pytest.mark.long
@pytest.mark.parametrize(
    "words, said",
    [
        (("open_calls",), "exact\n"),
        (("dirty_rows",), "exact\n"),
        (("fast_path",), "the same\n"),
        (("paths", "100"), "exact\n"),
    ],
)
def test_recorder_stays_in_its_memory(linked_for_addresses, execute, words, said):
    program, *arguments = words
    options = {"ASAN_OPTIONS": "detect_leaks=0"}  # the programs keep their recorder to the end
    result = execute(linked_for_addresses(program), *arguments, env=options)
    assert "Sanitizer" not in result.stderr and "runtime error" not in result.stderr, result.stderr[:8000]
    assert (result.returncode, result.stdout) == (0, said)


def test_each_call_counts_once_however_many_steps_close_meanwhile(linked_plainly, execute):
    result = execute(linked_plainly("open_calls"))
    assert (result.returncode, result.stdout) == (0, "exact\n")


def test_rows_touched_while_steps_close_lose_nothing(linked_plainly, execute):
    result = execute(linked_plainly("dirty_rows"))
    assert (result.returncode, result.stdout) == (0, "exact\n")


def test_short_way_of_regions_counts_as_the_long_one(linked_plainly, execute):
    result = execute(linked_plainly("fast_path"))
    assert (result.returncode, result.stdout) == (0, "the same\n")


@pytest.mark.parametrize("max_paths", ["100000", "100", "1"], ids=["all have room", "100", "none"])
def test_paths_have_exactly_what_was_spent_on_them(linked_plainly, execute, max_paths):
    result = execute(linked_plainly("paths"), max_paths)
    assert (result.returncode, result.stdout) == (0, "exact\n")
