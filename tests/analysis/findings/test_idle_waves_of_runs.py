# SPDX-License-Identifier: BSD-3-Clause
"""Idle waves and phases of real programs, whose work is a timed sleep: many ranks share few cores there."""

from __future__ import annotations

import numpy as np
import pytest

import perfield
from perfield.analysis.findings import answers, idle_wave, wavefront
from perfield.analysis.rhythm import order_parameter, phases, spread
from perfield.run.observe import observe

SLEEP_S = 0.005
DELAY = 2, 41, 50  # rank, step counted from 1, periods
RENDEZVOUS = 200_000  # bytes, beyond the eager limits of both MPIs


def run_of(rhythm_run, *options, sleep_s=SLEEP_S, steps=120, delay=DELAY):
    more = [] if delay is None else ["--delay", *delay]
    return perfield.open(rhythm_run(8, "pisolver", "--sleep", sleep_s, "--steps", steps, *more, *options))


def waves_of(run):
    return idle_wave.waves(observe(run, [*idle_wave.NEEDS, *idle_wave.LIKES]))


def differences(run):
    """Phase of each rank minus that of the rank before it, in steps, (rank, time)."""
    found = phases(run.steps[["begin_s", "end_s"]].compute(), None)["phase"].values / (2 * np.pi)
    return np.diff(found, axis=0)


def test_delay_of_50_periods_is_found_on_its_rank_in_its_step_at_its_speed(rhythm_run):
    wave, *_ = waves_of(run_of(rhythm_run))
    assert wave.rank == 2
    assert abs(wave.step - 40) <= 1
    assert 0.9 < wave.delay_s / (50 * SLEEP_S) < 1.5, "a busy machine wakes it late"
    (front,) = wave.fronts
    assert (front.direction, front.ranks.tolist()) == ("forward", [3, 4, 5, 6, 7])
    assert front.speed_per_step == pytest.approx(1, rel=0.1)
    assert front.ending == "edge"


def test_delay_travels_both_ways_where_messages_do(rhythm_run):
    wave, *_ = waves_of(run_of(rhythm_run, "--send-to", "1,-1"))
    forward, backward = wave.fronts
    assert (wave.rank, forward.ranks[-1], backward.ranks[-1]) == (2, 7, 0)
    assert not backward.against
    for front in wave.fronts:
        assert front.speed_per_step == pytest.approx(1, rel=0.1)


def test_rendezvous_sends_a_wave_back_to_the_senders(rhythm_run):
    wave, *_ = waves_of(run_of(rhythm_run, "--bytes", RENDEZVOUS, delay=(5, 41, 50)))
    backward = next(front for front in wave.fronts if front.direction == "backward")
    assert backward.against
    assert backward.ranks.tolist() == [4, 3, 2, 1, 0]
    assert backward.speed_per_step == pytest.approx(1, rel=0.1)


def test_report_tells_the_delay_and_its_region(rhythm_run):
    run = run_of(rhythm_run)
    observed = observe(run, [*idle_wave.NEEDS, *idle_wave.LIKES])
    (told,) = idle_wave.find(observed)
    assert told.words.startswith("A delay began on rank 2 in step 41 (frame 40): it computed 25")
    assert (
        "longer in injected_delay. The delay travelled forward through 5 ranks at 1 rank per step"
        in told.words
    )


def test_ranks_that_stay_behind_one_another_are_a_wavefront(rhythm_run):
    late = [word for rank in range(1, 8) for word in ("--delay", rank, 20, 1.5 * rank)]
    path = rhythm_run(8, "pisolver", "--sleep", 0.01, "--steps", 100, *late)
    (told,) = wavefront.find(observe(perfield.open(path), wavefront.NEEDS))
    slope = float(told.words.split("each is ")[1].split()[0])
    assert slope == pytest.approx(1.5, rel=0.25)
    assert " steps behind the rank before it" in told.words


def test_pipeline_of_rows_is_a_wavefront(rhythm_run):
    path = rhythm_run(8, "gauss_seidel", "--sleep", 0.02, "--steps", 60, "--columns", 30)
    (told,) = wavefront.find(observe(perfield.open(path), wavefront.NEEDS))
    slope = float(told.words.split("each is ")[1].split()[0])
    assert slope == pytest.approx(1.1, abs=0.3), "each rank does a step after the rank before it"


@pytest.mark.parametrize("send_to", ["1", "1,-1"])
def test_run_without_a_delay_tells_neither_wave_nor_wavefront(rhythm_run, send_to):
    run = run_of(
        rhythm_run, "--send-to", send_to, sleep_s=0.02, steps=60, delay=None
    )  # a scheduler's turn is short
    questions = idle_wave, wavefront
    observed = observe(
        run, [name for module in questions for name in (*module.NEEDS, *getattr(module, "LIKES", ()))]
    )
    for answer in answers(observed, questions):
        assert not answer.missing
        assert not answer.findings


def test_eager_neighbours_diverge_by_many_steps_in_one_direction(rhythm_run):
    """Section 3.3.1 of the paper says that they never do by more than one period."""
    apart = differences(run_of(rhythm_run))
    assert np.nanmin(apart[1]) < -10, "rank 1 goes on while rank 2 is late, until MPI's buffers are full"
    assert np.nanmax(apart) < 2, "a receiver is not ahead of its sender"


def test_neighbours_of_both_directions_stay_within_a_step(rhythm_run):
    run = run_of(rhythm_run, "--send-to", "1,-1")
    ended = run.steps["end_s"].values
    times = np.linspace(np.nanmax(ended[0]), np.nanmin(ended[-1]), 2000)
    completed = np.array([np.searchsorted(ended[:, rank], times) for rank in range(8)])
    assert np.abs(np.diff(completed, axis=0)).max() <= 1


def test_r_comes_back_where_neighbours_are_a_step_apart(rhythm_run):
    """Section 4.2.2 of the paper says that R declines monotonically towards a wavefront."""
    run = run_of(rhythm_run, "--unequal", 0.3, delay=None)
    phase = phases(run.steps[["begin_s", "end_s"]].compute())["phase"]
    r, periods = order_parameter(phase).values, spread(phase).values
    known = np.isfinite(phase.values).all(axis=0)
    r, periods = r[known], periods[known]
    first_low = np.flatnonzero(r < 0.4)[0]
    assert r[first_low:].max() > 0.6, "each rank is then a whole step behind the one before"
    assert periods[first_low + r[first_low:].argmax()] > 4, "and the ranks are far apart"
