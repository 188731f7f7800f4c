# SPDX-License-Identifier: BSD-3-Clause
"""The choice of frames to write, and the times at which ParaView shows them."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import fake_run

from perfield.analysis.steps import StepKinds
from perfield.output.steps import StepsError, choose_steps, frame_times


def run_of(tmp_path, steps):
    """A run of 2 ranks."""
    return fake_run.FakeRun(tmp_path, ranks=2, steps=steps)


def test_short_run_is_written_completely(tmp_path):
    assert choose_steps(run_of(tmp_path, 20)) == list(range(20))


@pytest.mark.parametrize(("typical", "slowest"), [(None, None), (1, 0), (137, 499), (998, 999)])
def test_default_steps_include_first_last_typical_and_slowest(tmp_path, typical, slowest):
    kinds = StepKinds(np.zeros(1000, dtype=bool), typical, slowest)
    steps = choose_steps(run_of(tmp_path, 1000), kinds=kinds)
    assert len(steps) == 20
    assert steps == sorted(set(steps))
    assert {0, 999} | ({typical, slowest} - {None}) <= set(steps)
    assert max(np.diff(steps)) <= 2 * 999 / 19


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all", list(range(12))),
        ("3", [3]),
        ("7, 0,7", [0, 7]),
        ("2:8:3", [2, 5]),
        ("9:", [9, 10, 11]),
        ("0,4:6,::5", [0, 4, 5, 10]),
    ],
)
def test_steps_option_takes_numbers_and_ranges(tmp_path, text, expected):
    assert choose_steps(run_of(tmp_path, 12), text) == expected


@pytest.mark.parametrize("text", ["", "first", "1:2:0", "-1", ":", "1:2:3:4", "0,,1"])
def test_invalid_steps_option_shows_an_example(tmp_path, text):
    if text == ":":
        assert choose_steps(run_of(tmp_path, 3), text) == [0, 1, 2]
    else:
        with pytest.raises(StepsError, match=r"is not a frame; expected all, or .*0,10,20:50:5"):
            choose_steps(run_of(tmp_path, 3), text)


def test_step_beyond_the_end_names_existing_frames(tmp_path):
    with pytest.raises(StepsError, match="frame 12 is not in this run, which has frames 0 to 11"):
        choose_steps(run_of(tmp_path, 12), "12")


def test_range_without_steps_is_an_error(tmp_path):
    with pytest.raises(StepsError, match="names none of the frames 0 to 11"):
        choose_steps(run_of(tmp_path, 12), "30:40")


@pytest.mark.parametrize(
    ("state", "advice"),
    [("running", "wait for the first one, or call perfield_step"), ("killed", "before a step was measured")],
)
def test_run_without_steps_says_what_to_do(tmp_path, state, advice):
    run = run_of(tmp_path, 0)
    run.state = state
    with pytest.raises(StepsError, match=f"no finished step; .*{advice}"):
        choose_steps(run)


def test_frames_are_shown_at_program_times(tmp_path):
    assert frame_times(list(run_of(tmp_path, 3).frames())) == ([0.0, 0.5, 1.0], "time")


@pytest.mark.parametrize("times", [[0, 1, 1], [0, 2, 1], [0, np.nan, 1]])
def test_unordered_times_are_replaced_by_step_numbers(tmp_path, times):
    run = run_of(tmp_path, 3)
    for frame, time in zip(run.frames(), times):
        frame.time = time
    assert frame_times(list(run.frames())) == ([0.0, 1.0, 2.0], "step")
