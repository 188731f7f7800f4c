# SPDX-License-Identifier: BSD-3-Clause
"""The programs of testcase/rhythm: their numbers, their messages, their delays, and bad input."""

from __future__ import annotations

import numpy as np
import pytest

import perfield

SLEEP_S = 0.02
STEPS = 25
DELAY = 5, 10, 10  # rank, step, periods


def delayed(rhythm_run, n_ranks: int, *options: object):
    """Steps of a sleeping pisolver with DELAY; waiting times have the shape (step, rank)."""
    words = ["--sleep", SLEEP_S, "--steps", STEPS, "--delay", *DELAY, *options]
    return perfield.open(rhythm_run(n_ranks, "pisolver", *words)).steps


def steps_hit(steps) -> dict[int, int]:
    """Rank -> the step, counted from 1, in which it waited for most of DELAY."""
    waits = steps.waiting_time_s.values
    return {
        rank: int(waits[:, rank].argmax()) + 1
        for rank in range(waits.shape[1])
        if waits[:, rank].max() > 0.5 * DELAY[2] * SLEEP_S
    }


def test_pisolver_finds_pi(mpirun, rhythm_programs):
    result = mpirun(4, rhythm_programs / "pisolver", "--steps", 3, "--size", 1000)
    assert result.returncode == 0, result.stderr
    pi = float(result.stdout.split("pi is ")[1].split(",")[0])
    # The midpoint rule with 4,000 intervals is off by width^2 / 12.
    np.testing.assert_allclose(pi - np.pi, 1 / 4000**2 / 12, rtol=0.01)


def test_a_delay_sleeps_on_its_rank_in_its_step(rhythm_run):
    steps = delayed(rhythm_run, 8)
    slept = steps.region_time_s.sel(region="injected_delay").values
    rank, step, periods = DELAY
    assert np.argwhere(slept > 0).tolist() == [[step - 1, rank]]
    assert slept[step - 1, rank] >= periods * SLEEP_S


def test_a_delay_hits_one_rank_per_step_in_one_direction(rhythm_run):
    assert steps_hit(delayed(rhythm_run, 8)) == {6: 10, 7: 11}


def test_a_run_tells_that_its_work_was_a_sleep(rhythm_run):
    steps = delayed(rhythm_run, 8)
    assert "work" not in steps.region
    assert (steps.region_time_s.sel(region="timed_sleep").values >= SLEEP_S).all()
    counts = steps.region_count.sel(region="timed_sleep").values
    assert (counts == 1).all()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--nosuch"], "'--nosuch' is no option; --help lists them."),
        (["--delay", 2, 1, 5, "--sleep", 1], "--delay names rank 2, but the ranks are 0 to 1."),
        (["--delay", 1, 3, 5], "must name one of 4 to 100 (the steps before it tell how long a period is)."),
        (["--delay", 1, 3], "--delay needs PERIODS, too, but the command ends there."),
        (["--send-to", "2"], "--send-to reaches no other rank of 2; use smaller offsets, more ranks, or"),
        (["--unequal", 1], "--unequal needs --sleep SECONDS"),
    ],
)
def test_a_wrong_option_is_told_in_a_sentence(words, sentence, mpirun, rhythm_programs):
    result = mpirun(2, rhythm_programs / "pisolver", *words)
    assert result.returncode == 2
    assert result.stderr.startswith("pisolver: ") and sentence in result.stderr
