# SPDX-License-Identifier: BSD-3-Clause
"""The choice of frames to write, and the times at which ParaView shows them."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import fake_run

import perfield
from perfield.analysis.steps import StepKinds
from perfield.output.steps import StepsError, choose_steps, frame_times
from twins import twin


def run_of(tmp_path, steps):
    """A run of 2 ranks."""
    return fake_run.FakeRun(tmp_path, ranks=2, steps=steps)


@pytest.fixture(scope="module")
def numbered(tmp_path_factory) -> perfield.Run:
    """A run whose program numbers its 12 steps from 1."""
    return perfield.open(twin.write_run(tmp_path_factory.mktemp("numbered") / "run", ranks=2, steps=12))


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
        ("3", [2]),
        ("7, 1,7", [0, 6]),
        ("2:8:3", [1, 4]),
        ("9:", [8, 9, 10, 11]),
        ("1,4:6,::5", [0, 3, 4, 5, 10]),
        (":", list(range(12))),
    ],
)
def test_steps_option_takes_the_programs_numbers_and_ranges(numbered, text, expected):
    assert choose_steps(numbered, text) == expected


def test_step_inside_of_a_longer_frame_chooses_it(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=12)
    run = perfield.open(path).at_span(5)  # frames of steps 1 to 5, 6 to 10, 11 and 12
    assert [choose_steps(run, text) for text in ("1", "5", "6,7", "12")] == [[0], [0], [1], [2]]


@pytest.mark.parametrize("text", ["", "first", "1:2:0", "-1", "1:2:3:4", "1,,2", "1:2:-1"])
def test_invalid_steps_option_shows_an_example(numbered, text):
    with pytest.raises(StepsError, match=r"is not a step; expected all, or .*0,10,20:50:5"):
        choose_steps(numbered, text)


def test_step_that_was_not_measured_names_those_that_were(numbered):
    with pytest.raises(StepsError, match="step 0 is not in this run, which has steps 1 to 12; "):
        choose_steps(numbered, "0")
    with pytest.raises(StepsError, match=r"the nearest is 12\."):
        choose_steps(numbered, "1,99")


def test_range_without_steps_is_an_error(numbered):
    with pytest.raises(StepsError, match="names none of the steps 1 to 12"):
        choose_steps(numbered, "30:40")


@pytest.mark.parametrize(
    ("state", "advice"),
    [
        ("running", "wait for the first one, or call perfield_step"),
        ("killed", "before its first measured step"),
    ],
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
