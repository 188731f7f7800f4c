# SPDX-License-Identifier: BSD-3-Clause
"""Size and power of the test for the slowest rank, by simulated runs with fixed seeds: it names nobody where
only chance differs, and who is slower by a fifth; and what it says it would have seen, it sees."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.runs_with_imbalance import write
from scipy.stats import binom, friedmanchisquare

import perfield
from perfield import _bridge
from perfield.analysis.chance import differences
from perfield.report import report

RUNS = 1000
SIZE = 0.001  # of names where nothing was planted, at most
MOST_FALSE = int(binom.isf(1e-4, RUNS, SIZE))  # more of 1,000 runs are no accident: 6
POWER = 0.95
BEST_OF_FOUR = 0.9  # of four ranks in ten steps with 20 % noise; no test finds more than 94 %


def noise(kind, n_runs, n_steps, n_ranks, spread, seed=1):
    """Compute times of equal ranks, (n_runs, n_steps, n_ranks)."""
    random = np.random.default_rng(seed)
    times = np.exp(spread * random.standard_normal((n_runs, n_steps, n_ranks)))
    if kind == "tails":
        times = 1 + spread * random.standard_exponential(times.shape)
    elif kind == "interruptions":
        times += 10 * (random.random(times.shape) < 0.05)
    elif kind == "common":  # steps differ for all ranks
        times *= np.exp(0.5 * random.standard_normal((n_runs, n_steps, 1)))
    return times


def slow_noise(n_runs, n_steps, n_ranks, last, seed=1):
    """The same with noise that lasts for some steps: autoregressive, `last` from step to step."""
    random = np.random.default_rng(seed)
    drift = random.standard_normal((n_runs, n_steps, n_ranks))
    for step in range(1, n_steps):
        drift[:, step] = last * drift[:, step - 1] + np.sqrt(1 - last**2) * drift[:, step]
    return np.exp(0.2 * drift)


def n_named(runs, rank=None):
    """In how many runs the same ranks are slowest: any, or this one alone."""
    found = [differences(run) for run in runs]
    return sum(one.pattern == "fixed" and (rank is None or one.most == (rank,)) for one in found)


@pytest.mark.parametrize("kind", ["clean", "tails", "interruptions", "common"])
@pytest.mark.parametrize(("n_steps", "n_ranks"), [(5, 4), (10, 4), (60, 4), (60, 2), (40, 16)])
def test_noise_names_nobody(kind, n_steps, n_ranks):
    assert n_named(noise(kind, RUNS, n_steps, n_ranks, 0.2)) <= MOST_FALSE


@pytest.mark.parametrize("last", [0.5, 0.8, 0.95])
def test_noise_that_lasts_names_nobody(last):
    """Noise that lasts as long as the run looks like a slow rank, so some more names are false."""
    assert n_named(slow_noise(RUNS, 200, 4, last)) <= (MOST_FALSE if last < 0.9 else 10)


@pytest.mark.parametrize(
    ("times", "spread", "n_ranks", "power"),
    [
        *((1.2, 0.05, n_ranks, POWER) for n_ranks in (4, 16)),
        *((1.5, 0.2, n_ranks, POWER) for n_ranks in (6, 16)),
        (1.5, 0.2, 4, BEST_OF_FOUR),
    ],
)
def test_slow_rank_is_found_in_ten_steps(times, spread, n_ranks, power):
    runs = noise("clean", 200, 10, n_ranks, spread)
    runs[:, :, 1] *= times
    assert n_named(runs, 1) >= int(binom.ppf(1e-3, 200, power))


def interrupted(n_steps=599, slower=1.2, seed=5):
    """Rank 2 of 4 computes 1.2 ms, the others 1 ms; in an eighth of the steps another one loses 10 ms."""
    random = np.random.default_rng(seed)
    times = np.exp(0.03 * random.standard_normal((n_steps, 4)))
    times[:, 2] *= slower
    hit = np.flatnonzero(random.random(n_steps) < 0.12)
    times[hit, random.choice([0, 1, 3], len(hit))] += 10
    return times


def test_rank_that_is_slowest_in_most_steps_is_named_beside_interruptions():
    times = interrupted()
    n_slowest = int((times.argmax(axis=1) == 2).sum())
    assert 500 < n_slowest < 550
    found = differences(times)
    assert (found.pattern, found.most, found.n_most) == ("fixed", (2,), n_slowest)
    assert found.in_most_steps and found.usual == pytest.approx(1.2 / 1.05, rel=0.02)
    assert found.saved == pytest.approx(599 * 0.15, rel=0.07)  # not what the interruptions cost
    assert found.ratio > 1.5
    assert friedmanchisquare(*times.T).pvalue < 1e-6  # another test sees ranks differ, too


@pytest.mark.parametrize("seed", range(20))
def test_interruptions_alone_name_nobody(seed):
    assert differences(interrupted(slower=1.0, seed=seed)).pattern == "chance"


def test_summary_and_finding_name_the_same_rank_beside_interruptions(tmp_path):
    path = write(tmp_path / "run", (1e6 * interrupted()).tolist())
    line = next(text for text in _bridge.summary_lines(str(path)) if text.startswith("imbalance"))
    n_slowest = int((interrupted().argmax(axis=1) == 2).sum())
    assert f": rank 2 is slowest in {n_slowest} of 599 steps" in line and ", costs 8" in line
    assert "1.13 in most steps, 1." in line
    found = report(perfield.open(path)).findings[0]
    assert found.kind == "imbalance" and found.ranks.tolist() == [2]
    assert f"in most steps (it is slowest in {n_slowest} of 599 steps" in found.words
    assert found.saved_s == pytest.approx(599 * 0.15e-3, rel=0.07)


@pytest.mark.parametrize("seed", range(5))
def test_rank_that_changes_once_is_found_beside_interruptions(seed):
    """As slow_moving_noisy.c: rank 0 in the first half, rank 3 in the second; one step of six is hit."""
    random = np.random.default_rng(seed)
    times = np.full((60, 4), 4.0) * np.exp(0.02 * random.standard_normal((60, 4)))
    times[:30, 0] += 60
    times[30:, 3] += 60
    hit = np.flatnonzero(random.random(60) < 1 / 6)
    times[hit, random.integers(4, size=len(hit))] += 70
    found = differences(times)
    assert (found.pattern, found.n_in_turn) == ("moving", 2)
    first, second = found.turns
    assert (first.column, first.begin, second.column, second.end) == (0, 0, 3, 60)
    assert first.end == second.begin and abs(first.end - 30) <= 1
    assert found.saved == pytest.approx(60 * 45, rel=0.1)  # without what the interruptions cost
    slowest = times.argmax(axis=1)
    assert [turn.n_most for turn in found.turns] == [
        (slowest[turn.begin : turn.end] == turn.column).sum() for turn in found.turns
    ]


def likelihood(slowest, n_ranks, path):
    """The score of turns as turns.hpp defines it; path : the rank whose turn each step is."""
    hit, change = np.log(0.7 * (n_ranks - 1) / 0.3), np.log(len(slowest) * (n_ranks - 1))
    return hit * (path == slowest).sum() - change * (np.diff(path) != 0).sum()


def likeliest(slowest, n_ranks):
    """The best score of all turns, by Viterbi's algorithm as textbooks have it."""
    hit, change = np.log(0.7 * (n_ranks - 1) / 0.3), np.log(len(slowest) * (n_ranks - 1))
    score = np.zeros(n_ranks)
    for rank in slowest:
        score = np.maximum(score, score.max() - change) + hit * (np.arange(n_ranks) == rank)
    return score.max()


@pytest.mark.parametrize("seed", range(10))
def test_turns_are_the_likeliest(seed):
    random = np.random.default_rng(seed)
    n_ranks, shown = int(random.integers(2, 9)), 0.8
    turns = np.repeat(random.permutation(n_ranks)[: random.integers(2, 5)], random.integers(20, 40))
    slowest = np.where(random.random(len(turns)) < shown, turns, random.integers(n_ranks, size=len(turns)))
    times = np.exp(0.01 * random.standard_normal((len(turns), n_ranks)))
    times[np.arange(len(turns)), slowest] += 5
    found = differences(times)
    assert found.pattern == "moving"
    path = np.repeat([turn.column for turn in found.turns], [turn.end - turn.begin for turn in found.turns])
    assert likelihood(slowest, n_ranks, path) == pytest.approx(likeliest(slowest, n_ranks))


def test_ranks_that_alternate_are_not_slow_together():
    times = np.exp(0.02 * np.random.default_rng(0).standard_normal((60, 4)))
    times[::2, 0] += 1
    times[1::2, 3] += 1
    found = differences(times)
    assert (found.pattern, found.period, found.turns) == ("moving", 2, ())


def test_ranks_that_are_slow_together_do_not_alternate():
    """Which of them is slowest changes by chance, or by little."""
    runs = noise("clean", 100, 60, 4, 0.2)
    runs[:, :, [0, 3]] *= 1.5
    assert all(differences(run).pattern == "fixed" for run in runs)
    runs[:, ::2, 0] *= 1.02
    runs[:, 1::2, 3] *= 1.02
    assert all(differences(run).pattern == "fixed" for run in runs)


@pytest.mark.parametrize(("n_steps", "n_ranks", "spread"), [(10, 4, 0.05), (40, 8, 0.2), (200, 4, 0.1)])
def test_size_that_is_called_visible_is_found(n_steps, n_ranks, spread):
    runs = noise("clean", 200, n_steps, n_ranks, spread)
    visible = np.median([differences(run).visible for run in runs])
    assert 0 < visible < 0.3
    runs[:, :, 0] *= 1 + max(visible, 0.08)
    assert n_named(runs) >= int(binom.ppf(1e-3, 200, POWER))


def test_single_step_makes_nothing_visible():
    assert differences(noise("clean", 1, 1, 4, 0.1)[0]).visible == np.inf
