# SPDX-License-Identifier: BSD-3-Clause
"""A rank that computes next to nothing: a master that hands out work is no imbalance of its workers."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.observed_runs import observed_run

from perfield.analysis.findings import answers, imbalance, imbalance_place, ranked, without_work

STAR = [(0, rank, 50, 400, 0) for rank in (1, 2, 3)] + [(rank, 0, 51, 408, 0) for rank in (1, 2, 3)]
RING = [(rank, (rank + 1) % 4, 50, 400, 0) for rank in range(4)]


def computing(costs, n_steps=60):
    """Compute time by step and rank: the costs in s, with noise of 2 %."""
    random = np.random.default_rng(3)
    return np.array(costs) * np.exp(0.02 * random.standard_normal((n_steps, len(costs))))


@pytest.mark.parametrize("n_steps", [1, 60])
def test_rank_that_exchanges_all_messages_is_a_master(n_steps):
    run = observed_run(4, n_steps, compute_time_s=computing([0.008, 0.1, 0.1, 0.1], n_steps), messages=STAR)
    (found,) = without_work.find(run)
    assert found.kind == "master rank" and found.ranks.tolist() == [0] and found.saved_s is None
    assert found.words.startswith("Rank 0 computes 8")
    assert "% of what the others do on average. No other rank stands out" in found.words
    assert "It sends or receives all of the 303 messages: it hands out work." in found.words
    assert not list(imbalance.find(run)) and not list(imbalance_place.find(run))


def test_idle_rank_among_equal_partners_was_given_no_work():
    run = observed_run(4, compute_time_s=computing([0.1, 0.1, 0.001, 0.1]), messages=RING)
    (found,) = without_work.find(run)
    assert found.kind == "rank without work" and found.ranks.tolist() == [2]
    assert found.saved_s == pytest.approx(60 * 0.1 / 4, rel=0.02)
    assert "imbalance" not in [finding.kind for finding in ranked(answers(run))]


def test_slow_worker_of_a_master_is_an_imbalance():
    run = observed_run(4, compute_time_s=computing([0.001, 0.1, 0.2, 0.1]), messages=STAR)
    assert not list(without_work.find(run))
    (found,) = imbalance.find(run)
    assert found.ranks.tolist() == [2]


@pytest.mark.parametrize("costs", [[0.001, 0.001, 0.1, 0.1], [0.02, 0.1, 0.1, 0.1], [0.001, 0.1]])
def test_several_idle_ranks_little_work_and_two_ranks_are_imbalance(costs):
    assert not list(without_work.find(observed_run(len(costs), compute_time_s=computing(costs))))
