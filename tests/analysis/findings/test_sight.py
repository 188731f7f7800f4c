# SPDX-License-Identifier: BSD-3-Clause
"""A question without findings is answered by what would have been found, or by "not proven"."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from known_runs.observed_runs import observed_run, plain_placement

import perfield
from perfield.analysis.findings import (
    QUESTIONS,
    Answer,
    answers,
    bursts,
    imbalance,
    imbalance_place,
    late_rank,
    memory_growth,
    noise,
    output_steps,
    shared_cores,
    slow_nodes,
    steps_get_slower,
    without_work,
)
from perfield.analysis.findings.sight import Sight
from perfield.report import report
from perfield.report.facts import facts
from perfield.report.sections import asked, nothing_found
from perfield.report.text import as_text
from twins import twin


def noisy(n_steps=40, n_ranks=8, spread=0.02, seed=1):
    """Compute times of equal ranks."""
    random = np.random.default_rng(seed)
    return 0.1 * np.exp(spread * random.standard_normal((n_steps, n_ranks)))


def size_in(sight: Sight) -> float:
    """The size that would have been found, relative."""
    return float(re.search(r"([\d.]+) %", sight.words)[1]) / 100


def test_each_question_without_a_finding_says_what_it_would_have_found():
    fields = {"io_write_bytes": 0.0, "io_time_s": 0.0, "sent_count": 1.0, "resident_bytes": 1e8, "pu_id": 1.0}
    run = observed_run(compute_time_s=noisy(60), placement=plain_placement(), **fields)
    for answer in answers(run):
        assert bool(answer.sight) == (not answer.missing and not answer.findings)
        assert not answer.sight or re.fullmatch(r"[A-Z0-9].*\.", answer.sight.words)
    assert len([answer for answer in answers(run) if answer.sight]) > len(QUESTIONS) / 2


@pytest.mark.parametrize(("n_steps", "spread"), [(10, 0.05), (40, 0.05), (40, 0.1)])
def test_imbalance_that_would_have_been_found_is_found(n_steps, spread):
    quiet = [noisy(n_steps, spread=spread, seed=seed) for seed in range(20)]
    sights = [imbalance.sees(observed_run(n_steps=n_steps, compute_time_s=compute)) for compute in quiet]
    assert all(sight.is_enough for sight in sights)
    size = np.mean([size_in(sight) for sight in sights])
    assert 0.05 < size < 10 * spread / np.sqrt(n_steps) + 0.06
    slower = np.where(np.arange(8) == 3, 1 + size, 1.0)
    runs = [observed_run(n_steps=n_steps, compute_time_s=compute * slower) for compute in quiet]
    assert sum(any(imbalance.find(run)) for run in runs) >= 17


def test_rank_that_is_far_slower_in_three_steps_alone_is_not_denied():
    compute = np.where(np.arange(192)[:, None] % 64 == 0, 0.01, 0.002) * noisy(192, 4)
    run = observed_run(4, compute_time_s=compute.copy(), n_steps=192)
    assert imbalance.sees(run).is_enough
    compute[::64, 1] *= 4
    run = observed_run(4, compute_time_s=compute, n_steps=192)
    assert not list(imbalance.find(run))
    seen = imbalance.sees(run)
    assert seen.words.startswith("Rank 1 computes 2") and not seen.is_enough
    assert "longer than the others in all steps together, but in a few steps alone" in seen.words


def test_noise_that_hides_half_as_long_again_proves_nothing():
    sight = imbalance.sees(observed_run(4, 4, compute_time_s=noisy(4, 4, 0.5)))
    assert (
        not sight.is_enough and size_in(sight) > 0.5 and sight.words.startswith("Only a rank that computes")
    )
    wild = imbalance.sees(observed_run(4, 4, compute_time_s=noisy(4, 4, 5.0)))
    assert wild == Sight("What was measured scatters too much for a test.", False)


def test_one_rank_has_nobody_to_differ_from():
    assert imbalance.sees(observed_run(1, compute_time_s=noisy(60, 1))) == Sight("The run has one rank.")


def test_single_step_proves_nothing():
    sight = imbalance.sees(observed_run(4, 1, compute_time_s=noisy(1, 4)))
    assert sight == Sight("One number per rank allows no test against chance.", False)


def test_slow_node_that_would_have_been_found_is_found():
    placement = plain_placement(12)
    compute = noisy(60, 12, 0.02) * np.exp(0.02 * np.random.default_rng(2).standard_normal(12))
    sight = slow_nodes.sees(observed_run(12, compute_time_s=compute, placement=placement))
    assert sight.is_enough
    slow = compute * np.where(np.arange(12) // 4 == 1, 1 + 1.1 * size_in(sight), 1.0)
    (found,) = slow_nodes.find(observed_run(12, compute_time_s=slow, placement=placement))
    assert found.hosts == ("n2",)
    assert slow_nodes.sees(observed_run(4, placement=plain_placement(4))) == Sight(
        "All ranks ran on one node."
    )


def test_place_of_few_slowest_ranks_is_not_proven():
    slow = noisy(60, 4) * [1, 1, 2, 1]
    assert not imbalance_place.sees(observed_run(4, compute_time_s=slow)).is_enough
    of_many = noisy(60, 64) * np.where(np.isin(np.arange(64), [3, 17, 22, 41]), 2, 1)
    assert imbalance_place.sees(observed_run(64, compute_time_s=of_many)).is_enough


def test_output_that_is_no_longer_says_how_much_longer_it_would_have_to_be():
    writes = (np.arange(60) % 20 == 19)[:, None] * 1e8
    run = observed_run(compute_time_s=noisy(60), io_write_bytes=writes)
    sight = output_steps.sees(run)
    assert sight.is_enough and sight.words.startswith("3 such steps ")
    assert output_steps.sees(observed_run(io_write_bytes=0.0)).words.startswith("No step writes 4 kB or more")
    once = output_steps.sees(observed_run(io_write_bytes=(np.arange(60) == 9)[:, None] * 1e8))
    assert once == Sight("1 step like that allows no test against chance.", False)


def test_bursts_are_counted_exactly():
    sight = bursts.sees(observed_run(sent_count=4.0))
    assert sight == Sight("No step sends 3 times as many messages as the median step.")


def test_growth_that_would_have_been_found_is_found():
    sight = steps_get_slower.sees(observed_run(n_steps=200, compute_time_s=noisy(200, 8, 0.2)))
    assert sight.is_enough and 0.1 <= size_in(sight) < 0.5
    grows = noisy(200, 8, 0.2) * np.linspace(1, 1 + 1.1 * size_in(sight), 200)[:, None]
    assert any(steps_get_slower.find(observed_run(n_steps=200, compute_time_s=grows)))
    assert not steps_get_slower.sees(observed_run(n_steps=10)).is_enough


@pytest.mark.parametrize(("module", "few"), [(memory_growth, 8), (noise, 19)])
def test_too_few_steps_prove_nothing(module, few):
    assert not module.sees(observed_run(n_steps=few, resident_bytes=1e8)).is_enough
    assert module.sees(observed_run(n_steps=60, resident_bytes=1e8)).is_enough


def test_rank_that_is_waited_for_must_stand_out():
    waited = 1 + 0.1 * np.random.default_rng(1).random((60, 4))
    sight = late_rank.sight(observed_run(4), waited)
    assert sight.is_enough and size_in(sight) >= 0.8  # 1.5 times an even share of four


def test_unknown_places_are_not_proven():
    assert not shared_cores.sees(observed_run()).is_enough
    assert shared_cores.sees(observed_run(placement=plain_placement())).is_enough


def test_rank_with_least_work_is_measured():
    sight = without_work.sees(observed_run(4, compute_time_s=noisy(60, 4) * [1, 0.5, 1, 1]))
    assert sight.words == "The rank that computes least has 50 % of the others' median."


def test_rank_without_work_beside_others_that_differ_is_not_denied():
    sight = without_work.sees(observed_run(4, compute_time_s=noisy(60, 4) * [0.01, 1, 1, 2]))
    assert "Rank 0 computes 1 % of the others' median, but the others differ" in sight.words
    assert not sight.is_enough


def test_report_says_no_and_not_proven_apart(tmp_path):
    made = report(perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=5)))
    text, words = " ".join(as_text(made).split()), asked(made)
    assert all(" No. " in one or " Not proven. " in one for one in words)
    assert sorted(words, key=lambda one: " Not proven. " in one) == words
    assert f"{noise.QUESTION} Not proven. It takes 20 steps to see that; the run has 5." in text
    found = {each["question"]: each for each in facts(made)["questions"]}
    assert found[noise.QUESTION]["answer"] == "not proven"
    assert found[imbalance.QUESTION]["answer"] == "yes" and not found[imbalance.QUESTION]["would_have_found"]


def test_nothing_costs_time_only_where_all_is_proven(tmp_path):
    made = report(perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=5)))
    sure = replace(made, findings=(), answers=(Answer("Is it?", (), (), Sight("It would.")),))
    assert nothing_found(sure).startswith("Nothing that perfield checks for costs this run time.")
    unsure = replace(sure, answers=(Answer("Is it?", (), (), Sight("Nobody knows.", False)),))
    assert nothing_found(unsure).startswith("perfield found nothing that costs this run time. Some answers")
