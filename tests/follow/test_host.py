# SPDX-License-Identifier: BSD-3-Clause
"""A program is followed while it runs, whatever closes its steps."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from drivers import extracts_of_run as extracts
from follow.conftest import CLOSING_LINE, listed, n_frames, until

import perfield


def test_steps_are_shown_while_the_program_runs_and_equal_those_made_afterwards(program, follow, tmp_path):
    run = tmp_path / "perfield-run"
    following = follow(run)  # before the run exists
    running = program(PERFIELD_FOCUS_RANKS="0")
    running.steps(2)
    until(lambda: len(listed(run)) == 2)
    running.steps(3)
    until(lambda: len(listed(run)) == 5)
    assert running.process.poll() is None and following.process.poll() is None
    assert running.finish() == 0 and "the program is through" in running.out
    assert following.finish() == 0, following.err
    assert "the run has finished; shown 5 of 5 frames; up to date." in following.err
    assert listed(run) == [(0.5 * (n + 1), f"geometry_{n:06d}.vtm") for n in range(5)]
    extracts.assert_as_afterwards(run, [4], focus=(0,), place="follow")
    for index in range(5):
        pieces = [extracts.arrays(piece) for piece in extracts.pieces(run, index, "follow")]
        for rank, piece in enumerate(pieces):
            assert set(piece["point heat"]) == {100 * (index + 1) + rank}
        assert set(pieces[1]["point sendrecv_bytes_to_0"]) == {index + 2}


def of_clock(program) -> tuple[str, dict[str, str]]:
    """The clock closes steps. Returns the run's name and the environment."""
    return "perfield-run", {"PERFIELD_STEP_SECONDS": "0.2"}


def of_call_site(program) -> tuple[str, dict[str, str]]:
    """The return of a call in the source closes steps; an earlier run says where it is."""
    first = program(closes=False)
    first.steps(5)
    assert first.finish() == 0, first.err
    return "perfield-run-2", {"PERFIELD_STEP_CALL": f"Allreduce@source.c:{CLOSING_LINE}"}


@pytest.mark.parametrize("closing", [of_clock, of_call_site])
def test_steps_that_the_program_does_not_close_are_shown_while_it_runs(closing, program, follow, tmp_path):
    name, environment = closing(program)
    run, running = tmp_path / name, program(closes=False, **environment)
    following = follow(run, "--every", 2)
    running.steps(12)
    until(lambda: listed(run))
    assert running.process.poll() is None and following.process.poll() is None
    assert running.finish() == 0, running.err
    assert following.finish() == 0, following.err
    frames = list(perfield.open(run).frames())[::2]
    assert len(frames) > 1 and f"shown {len(frames)} of {len(frames)} frames" in following.err
    for frame in frames:
        pieces = extracts.pieces(run, frame.index, "follow")
        shown = [float(extracts.arrays(piece)["point step_time_s"][0]) for piece in pieces]
        assert shown == frame.values["step_time_s"][frame.present].tolist()


@pytest.mark.skipif(shutil.which("scorep") is None, reason="scorep is not on PATH")
def test_steps_of_a_score_p_region_are_shown(with_scorep, perfield_flags, start, follow, tmp_path, bin_dir):
    source = Path(__file__).parents[1] / "bridge/sources/programs/nested_regions.c"
    built = with_scorep(source, *perfield_flags("--cflags"))
    words = ["mpirun", "--oversubscribe", "-n", 2, bin_dir / "perfield-exec", built]
    quiet = {"SCOREP_ENABLE_PROFILING": "false", "SCOREP_ENABLE_TRACING": "false"}
    running = start("program", words, PERFIELD_STEP_REGION="time_step", **quiet)
    following = follow(tmp_path / "perfield-run")
    assert running.finish() == 0, running.err
    assert following.finish() == 0, following.err
    n = n_frames(tmp_path / "perfield-run")
    assert n > 1 and f"shown {n} of {n} frames" in following.err


def test_ctrl_c_leaves_complete_files_and_the_program_alone(program, follow, tmp_path):
    run, running = tmp_path / "perfield-run", program()
    running.steps(3)
    following = follow(run)
    until(lambda: listed(run))
    following.interrupt()
    assert following.finish() == 0
    assert "ended on request; shown" in following.err
    assert len(listed(run)) == following.shown()
    running.steps(1)
    assert running.finish() == 0 and n_frames(run) == 4
