# SPDX-License-Identifier: BSD-3-Clause
"""Idle waves and phases of real programs, whose work is a timed sleep.

Many ranks share few cores, so each may sleep longer than asked; delays and limits here are longer than that.
"""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import rhythm_runs
from known_runs.simulated_waves import T_COMP, chain, simulated

import perfield
from perfield.analysis.findings import answers, idle_wave
from perfield.derived.observe import observe
from perfield.studies.rhythm import finding as wavefront
from perfield.studies.rhythm.model import order_parameter, phases, spread

DELAY = 2, 11, 60  # rank, step counted from 1, periods: as in delayed_run
DELAY_S = 1.2
RENDEZVOUS = 200_000  # bytes, beyond the eager limits of both MPIs


def run_of(rhythm_run, *options, sleep_s=0.02, steps=30, delay=DELAY):
    more = [] if delay is None else ["--delay", *delay]
    return perfield.open(rhythm_run(8, "pisolver", "--sleep", sleep_s, "--steps", steps, *more, *options))


def waves_of(run):
    return idle_wave.waves(observe(run, [*idle_wave.NEEDS, *idle_wave.LIKES]))


def wavefronts_of(path):
    return list(wavefront.find(observe(perfield.open(path), wavefront.NEEDS)))


def test_delay_of_50_periods_is_found_on_its_rank_in_its_step_at_its_speed(delayed_run):
    wave, *_ = waves_of(perfield.open(delayed_run))
    assert (wave.rank, wave.step) == (2, 10)
    assert 0.9 < wave.delay_s / DELAY_S < 1.3, "a busy machine resumes it late"
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
    wave, *_ = waves_of(run_of(rhythm_run, "--bytes", RENDEZVOUS, delay=(5, *DELAY[1:])))
    backward = next(front for front in wave.fronts if front.direction == "backward")
    assert backward.against
    assert backward.ranks.tolist() == [4, 3, 2, 1, 0]
    assert backward.speed_per_step == pytest.approx(1, rel=0.1)


def test_report_says_the_delay_and_its_region(delayed_run):
    (reported,) = idle_wave.find(observe(perfield.open(delayed_run), [*idle_wave.NEEDS, *idle_wave.LIKES]))
    assert reported.words.startswith("A delay began on rank 2 in step 11: it computed 1.")
    assert (
        "longer in injected_delay. The delay travelled forward through 5 ranks at 1 rank per step"
        in reported.words
    )


def test_ranks_that_stay_behind_one_another_are_a_wavefront(tmp_path):
    stamps = rhythm_runs.even(8, 100, 0.01, 0.015 * np.arange(8))
    (reported,) = wavefronts_of(rhythm_runs.write(tmp_path / "run", stamps))
    assert "each is 1.5 steps behind the rank before it" in reported.words


def test_pipeline_of_rows_is_a_wavefront(rhythm_run):
    # Rendezvous: no rank can be more than a step ahead of the next one, however late that one resumes.
    words = ["--sleep", 0.02, "--steps", 60, "--columns", RENDEZVOUS // 8]
    (reported,) = wavefronts_of(rhythm_run(8, "gauss_seidel", *words))
    slope = float(reported.words.split("each is ")[1].split()[0])
    assert slope == pytest.approx(1, abs=0.3), "each rank does a step after the rank before it"


def test_run_without_a_delay_says_neither_wave_nor_wavefront(rhythm_run):
    # In one direction, late sleeps would push ranks apart for good, into a true wavefront.
    run = run_of(rhythm_run, "--send-to", "1,-1", sleep_s=0.03, steps=42, delay=None)
    questions = idle_wave, wavefront
    observed = observe(
        run, [name for module in questions for name in (*module.NEEDS, *getattr(module, "LIKES", ()))]
    )
    for answer in answers(observed, questions):
        assert not answer.missing
        assert not answer.findings


def test_eager_neighbours_diverge_by_many_steps_in_one_direction(delayed_run):
    """Section 3.3.1 of the paper says that they never do by more than one period."""
    steps = perfield.open(delayed_run).steps[["begin_s", "end_s"]].compute()
    apart = np.diff(phases(steps, None)["phase"].values / (2 * np.pi), axis=0)
    assert np.nanmin(apart[1]) < -10, "rank 1 goes on while rank 2 is late, until MPI's buffers are full"
    assert np.nanmax(apart) < 2, "a receiver is not ahead of its sender"


def test_neighbours_of_both_directions_stay_within_a_step(rhythm_run):
    run = run_of(rhythm_run, "--send-to", "1,-1")
    ended = run.steps["end_s"].values
    times = np.linspace(np.nanmax(ended[0]), np.nanmin(ended[-1]), 2000)
    completed = np.array([np.searchsorted(ended[:, rank], times) for rank in range(8)])
    assert np.abs(np.diff(completed, axis=0)).max() <= 1


def test_r_comes_back_where_neighbours_are_a_step_apart():
    """Section 4.2.2 of the paper says that R declines monotonically towards a wavefront."""
    slower = T_COMP * (1 + 0.3 * np.arange(8) / 7)
    steps = simulated(120, 8, chain(8), compute=slower)  # eager: no rank waits for a later one
    stamps = {rank: list(zip(steps["begin_s"][:, rank], steps["end_s"][:, rank])) for rank in range(8)}
    phase = phases(rhythm_runs.steps_of(stamps))["phase"]
    r, periods = order_parameter(phase).values, spread(phase).values
    known = np.isfinite(phase.values).all(axis=0)
    r, periods = r[known], periods[known]
    first_low = np.flatnonzero(r < 0.4)[0]
    assert r[first_low:].max() > 0.6, "each rank is then a whole step behind the one before"
    assert periods[first_low + r[first_low:].argmax()] > 4, "and the ranks are far apart"
