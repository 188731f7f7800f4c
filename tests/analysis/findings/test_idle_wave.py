# SPDX-License-Identifier: BSD-3-Clause
"""A delay that travels is reported with its rank, step, speed and end; other waiting is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_runs.observed_runs import observed_run
from known_runs.simulated_waves import T_COMM, T_COMP, chain, simulated

from perfield.analysis.findings import answers, idle_wave, ranked
from perfield.analysis.findings.idle_wave import find

PERIOD = T_COMP + T_COMM


def observed(n_steps, n_ranks, delays=(), offsets=(1,), fields=None, **more):
    """A simulated run as findings see it. fields : more of them."""
    edges = chain(n_ranks, offsets)
    steps = simulated(n_steps, n_ranks, edges, delays, **more)
    found = observed_run(
        n_ranks,
        n_steps,
        compute_time_s=steps["compute_time_s"],
        waiting_time_s=steps["waiting_time_s"] + steps["collective_s"],
        mpi_collective_time_s=steps["collective_s"],
        step_time_s=steps["end_s"] - steps["begin_s"],
        messages=[(sender, receiver, n_steps, 8 * n_steps, 0) for receiver, sender in zip(*edges)],
        **(fields or {}),
    )
    return replace(found, begin_s=steps["begin_s"], end_s=steps["end_s"])


def test_wave_is_reported_from_its_rank_and_step_to_its_end():
    slow = T_COMP + 0.002 * (np.arange(18) == 14)
    (reported,) = find(observed(400, 18, [(5, 120, 20 * PERIOD)], compute=slow, noise=0.02))
    assert reported.kind == "idle wave"
    assert reported.words.startswith(
        "A delay began on rank 5 in step 120: it computed 200 ms (19.5 periods) longer. The delay travelled "
        "forward through 8 ranks at 1 rank per step (93"
    )
    assert reported.words.endswith(" Nearly all of it reached rank 13, and rank 14 absorbed it.")
    assert (reported.ranks.tolist(), reported.steps.tolist()) == (list(range(5, 14)), list(range(120, 128)))
    assert reported.saved_s == pytest.approx(0.2, rel=0.02)
    assert (reported.picture.kind, reported.picture.field) == ("idle_wave", "waiting_time_s")
    assert reported.chance < 1e-6


def test_wave_against_the_messages_is_reported():
    (reported,) = find(observed(120, 12, [(6, 40, 50 * PERIOD)], noise=0.02, rendezvous=True))
    assert "and backward through 6 ranks, against the messages, at 1 rank per step" in reported.words


def test_region_of_the_delay_is_named():
    slept = np.zeros((120, 8))
    slept[40, 2] = 0.5
    run = observed(
        120, 8, [(2, 40, 0.5)], noise=0.02, fields={"regions": ["read_table"], "read_table_time_s": slept}
    )
    (reported,) = find(run)
    assert "longer in read_table." in reported.words
    assert reported.regions == ("read_table",)


def test_step_has_the_number_that_the_program_gives_it():
    run = observed(120, 8, [(2, 40, 0.5)], noise=0.02)
    (reported,) = find(replace(run, label=run.index + 1001))
    assert reported.words.startswith("A delay began on rank 2 in step 1,041: it computed 500 ms")


def test_more_waves_are_counted():
    delays = [(1, 30, 0.2), (3, 70, 0.4), (4, 110, 0.1)]
    (reported,) = find(observed(200, 12, delays, offsets=(1, -1), noise=0.02))
    assert reported.words.startswith("A delay began on rank 3 in step 70")
    assert reported.words.endswith(" 2 more delays travelled the same way, of 100 ms or more each.")


def test_wave_that_costs_little_is_not_reported():
    assert not list(find(observed(4000, 8, [(2, 40, 30 * PERIOD)], noise=0.02)))
    assert not list(find(observed(100, 8, [(2, 40, 3 * PERIOD)], noise=0.02))), "a scheduler's delay"


def test_wave_of_a_step_that_writes_is_left_to_output_steps():
    written = np.zeros((120, 1))
    written[19::20] = 1e6
    delays = [(2, 39, 0.5)]
    assert list(find(observed(120, 8, delays, noise=0.02)))
    assert not list(find(observed(120, 8, delays, noise=0.02, fields={"io_write_bytes": written})))


def test_noise_alone_is_not_reported():
    for seed in range(30):
        for offsets in ((1,), (1, -1)):
            assert not list(find(observed(80, 8, offsets=offsets, noise=0.5, seed=seed)))


def test_ranks_that_wait_at_collective_calls_are_no_wave():
    assert not list(find(observed(120, 8, [(2, 40, 0.5)], noise=0.05, collective_every=1)))
    assert not list(find(observed(120, 8, noise=0.05, collective_every=5)))


def test_delay_is_reported_once():
    run = observed(120, 8, [(2, 40, 50 * PERIOD)], noise=0.02)
    assert [finding.kind for finding in ranked(answers(run))] == ["idle wave"]


def test_partners_are_those_of_most_steps():
    run = observed(120, 8, [(2, 40, 50 * PERIOD)], noise=0.02)
    rare = np.array([(0, rank, 1, 8, 0, 1) for rank in range(2, 8)], run.messages.dtype)
    run = replace(run, messages=np.concatenate([run.messages, rare]))
    receiver, sender = idle_wave.partners(run)
    assert (receiver - sender).tolist() == [1] * 7
    (reported,) = find(run)
    assert "forward through 5 ranks at 1 rank per step" in reported.words


def test_run_without_messages_is_not_asked():
    run = replace(observed(120, 8, [(2, 40, 0.5)]), messages=observed_run().messages)
    assert "messages" in next(a for a in answers(run) if a.question == idle_wave.QUESTION).missing
