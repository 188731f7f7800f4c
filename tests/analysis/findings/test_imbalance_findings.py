# SPDX-License-Identifier: BSD-3-Clause
"""Findings about imbalance name what was planted, with its reason, and nobody where only chance differs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_runs.observed_runs import observed_run

from perfield.analysis.chance import differences
from perfield.analysis.findings import (
    answers,
    imbalance,
    ranked,
    waited_for,
)
from perfield.analysis.observed import SampledFunctions

CELLS = np.full(8, 512.0)


def computing(costs, *, n_steps=60, noise=0.02, seed=0) -> np.ndarray:
    """Compute time by step and rank: the costs in s, with noise."""
    random = np.random.default_rng(seed)
    return np.array(costs, float) * np.exp(noise * random.standard_normal((n_steps, np.shape(costs)[-1])))


def only(found):
    """The one finding."""
    (one,) = found
    return one


def test_cells_explain_a_rank_with_twice_the_cells():
    cells = CELLS * [1, 2, 1, 1, 1, 1, 1, 1]
    found = only(imbalance.find(observed_run(compute_time_s=computing(cells / 5e3), cells=cells)))
    assert found.kind == "imbalance by cells" and found.ranks.tolist() == [1]
    assert found.words.startswith(
        "Rank 1 computes 1.78 times as long as the mean of all ranks: cell counts explain a factor of 1.7"
    )
    assert "(it has 1,024, the mean is 576: 78 % more)" in found.words
    assert found.saved_s == pytest.approx(60 * 448 / 5e3, rel=0.1)
    assert found.chance < 1e-3 and found.picture.kind == "mesh" and "partition" in found.remedy


def test_counts_prove_in_five_steps_what_times_alone_do_not():
    cells = np.array([100.0, 160, 120, 180, 140, 110])
    compute = computing(cells / 1e3, n_steps=5, noise=0.2, seed=6)
    assert differences(compute).pattern == "chance"
    found = only(imbalance.find(observed_run(6, 5, compute_time_s=compute, cells=cells)))
    assert found.kind == "imbalance by cells" and found.ranks.tolist() == [3] and found.chance < 5e-4
    assert "(it has 180, the mean is 135: 33 % more)" in found.words
    of_rank = compute.sum(axis=0)
    assert found.saved_s == pytest.approx(of_rank[3] - of_rank.mean())


def test_calls_of_a_region_prove_it_and_are_the_reason():
    counts = np.array([100.0, 160, 120, 180, 140, 110])
    compute = computing(counts / 1e3, n_steps=5, noise=0.2, seed=6)
    run = observed_run(
        6,
        5,
        compute_time_s=compute,
        solve_count=counts,
        solve_time_s=compute,
        regions={"solve": "Foam::solve"},
    )
    found = only(imbalance.find(run))
    assert found.kind == "imbalance" and found.ranks.tolist() == [3]
    assert ": calls of Foam::solve explain a factor of 1." in found.words
    assert "(it has 180, the" in found.words
    assert found.remedy.startswith("Look for what makes Foam::solve run more often")


def test_costly_cells_are_reported_with_their_cost():
    run = observed_run(compute_time_s=computing([0.1] * 5 + [0.3] * 2 + [0.1]), cells=CELLS)
    found = only(imbalance.find(run))
    assert found.kind == "imbalance by cost per cell" and found.ranks.tolist() == [5, 6]
    assert ": each has as many cells as others, but each costs 2.9" in found.words


def test_two_ranks_are_too_few_to_blame_cells():
    run = observed_run(2, compute_time_s=computing([0.1, 0.2]), cells=[[512, 1024]])
    found = only(imbalance.find(run))
    assert found.kind == "imbalance" and "two ranks are too few" in found.words


def test_more_cells_that_cost_no_more_are_no_reason_to_weigh_them():
    cells = np.array([1, 1, 1, 1.7]) * 300
    compute = computing([0.043, 0.036, 0.033, 0.056], noise=0.1)
    found = only(imbalance.find(observed_run(4, compute_time_s=compute, cells=cells)))
    assert found.kind == "imbalance" and found.ranks.tolist() == [3]
    assert "45 % more cells than the mean, which may be chance." in found.words
    assert found.remedy.startswith("Divide the mesh so that every rank gets equally many")


def test_imbalance_without_a_mesh_is_reported_without_a_reason():
    found = only(imbalance.find(observed_run(compute_time_s=computing([0.1] * 7 + [0.2]))))
    assert found.kind == "imbalance" and found.ranks.tolist() == [7]
    assert found.picture.kind == "heat_map"


def test_imbalance_that_moves_names_no_rank():
    costs = np.full((64, 8), 0.1)
    costs[np.arange(64), np.arange(64) // 4 % 8] = 0.3
    found = only(imbalance.find(observed_run(n_steps=64, compute_time_s=computing(costs, n_steps=64))))
    assert found.kind == "imbalance that moves" and not len(found.ranks)
    assert "8 of 8 ranks are slowest in turn, for 4 steps on average, and compute 2." in found.words


def test_imbalance_that_moves_says_which_rank_is_slowest_when():
    costs = np.full((60, 4), 0.1)
    costs[:25, 1] = costs[25:, 3] = 0.3
    costs[10] = [0.9, 0.1, 0.1, 0.1]  # an interruption
    run = observed_run(4, n_steps=60, compute_time_s=computing(costs, n_steps=60))
    found = only(imbalance.find(replace(run, label=np.arange(60) + 1)))
    assert found.ranks.tolist() == [1, 3] and found.saved_s == pytest.approx(60 * 0.15, rel=0.1)
    assert found.words.endswith(
        "2 of 4 ranks are slowest in turn, for 30 steps on average, and compute 1.95 times as long as the "
        "mean. Rank 1 is slowest in steps 1 to 25 (24 of 25), then rank 3 in steps 26 to 60 (35 of 35)."
    )


def test_imbalance_that_alternates_says_after_how_many_steps():
    costs = np.full((60, 4), 0.1)
    costs[::3, 1] = costs[1::3, 3] = costs[2::3, 0] = 0.3
    found = only(imbalance.find(observed_run(4, compute_time_s=computing(costs))))
    assert "It alternates: the slowest rank is the same as 3 steps before in 57 of 57 steps." in found.words
    assert found.remedy.startswith("Look for what the program does again")


def test_imbalance_that_grows_says_so_and_one_that_stays_does_not():
    slower = np.ones((60, 4))
    slower[:, 2] += np.linspace(0, 1, 60)
    run = observed_run(4, compute_time_s=computing(0.1 * slower))
    found = only(imbalance.find(run))
    assert found.ranks.tolist() == [2] and found.remedy.startswith("Look for what grows on these ranks")
    assert " The difference grows: from 1.0" in found.words and " to 1.62 at the end." in found.words
    stays = observed_run(4, compute_time_s=computing([0.1, 0.1, 0.15, 0.1], noise=0.1))
    assert "grows" not in only(imbalance.find(stays)).words


def test_the_regions_in_which_ranks_differ_most_are_named():
    solve, assemble = computing([0.1] * 3 + [0.4] + [0.1] * 4), computing([0.05] * 8, seed=1)
    run = observed_run(
        compute_time_s=solve + assemble,
        regions={"solve": "Foam::solve", "assemble": "assemble"},
        solve_time_s=solve,
        assemble_time_s=assemble,
    )
    found = only(imbalance.find(run))
    assert (
        found.regions == ("Foam::solve",)
        and "Ranks differ most in Foam::solve (balancing it would save 1" in found.words
    )


def sampled(run, **count):
    """The run with functions that were sampled so often, by rank, each time for 5 ms."""
    count = {name: np.broadcast_to(of_rank, run.n_ranks) for name, of_rank in count.items()}
    times = np.array(list(count.values())) * 5e-3
    return replace(run, functions=SampledFunctions(tuple(count), times, times * 5e-3))


def test_the_functions_in_which_a_costly_rank_computes_longer_are_named():
    run = observed_run(compute_time_s=computing([0.1] * 3 + [0.4] + [0.1] * 4))
    costly = np.array([100] * 3 + [900] + [100] * 4)
    others = {"exp": costly // 4, "rare": costly // 100, "sched_yield": costly}  # the last one is waiting
    found = only(imbalance.find(sampled(run, relax=costly, assemble=300, **others)))
    assert "By samples, 79 % of the difference is in relax and 20 % in exp." in found.words


def test_functions_in_which_samples_may_differ_by_chance_are_not_named():
    run = observed_run(compute_time_s=computing([0.1] * 3 + [0.4] + [0.1] * 4))
    found = only(imbalance.find(sampled(run, relax=np.array([4] * 3 + [9] + [4] * 4))))
    assert "By samples" not in found.words


def test_work_of_one_rank_alone_is_reported_as_what_all_wait_for():
    control = computing([0.001, 0.001, 0.05] + [0.001] * 5)
    run = observed_run(
        compute_time_s=control + computing([0.1] * 8),
        cells=CELLS,
        regions=["control"],
        control_time_s=control,
    )
    found = only(imbalance.find(run))
    assert found.kind == "rank that all wait for" and found.ranks.tolist() == [2]
    assert found.regions == ("control",) and ": it alone computes in control (2.9" in found.words
    assert "The others wait for 3" in found.words


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n_ranks, n_steps", [(2, 20), (8, 60), (64, 100)])
def test_noise_finds_no_imbalance(n_ranks, n_steps, seed):
    run = observed_run(
        n_ranks, n_steps, compute_time_s=computing([0.1] * n_ranks, n_steps=n_steps, noise=0.3, seed=seed)
    )
    assert not list(imbalance.find(run))


def test_imbalance_of_less_than_a_hundredth_of_the_time_is_not_reported():
    compute = computing([0.1] * 7 + [0.12])
    assert not list(imbalance.find(observed_run(compute_time_s=compute, step_time_s=10.0)))


WAITS = [(rank, 2, 60, 0.9) for rank in range(8) if rank != 2]


def waiting_for_two(waits=WAITS, **fields):
    """Others wait 15 ms in each step for rank 2."""
    waited = computing([0, 0, 0.105, 0, 0, 0, 0, 0])
    waiting = [0.02] * 2 + [0.005] + [0.02] * 5
    return observed_run(waits=waits, waited_for_time_s=waited, waiting_time_s=waiting, **fields)


def test_a_rank_that_others_wait_for_is_named():
    found = only(waited_for.find(waiting_for_two()))
    assert found.kind == "rank that all wait for" and found.ranks.tolist() == [2]
    assert found.words.startswith("7 ranks wait 6.3 s in all for rank 2, 7")
    assert found.saved_s == pytest.approx(0.9)


def test_a_rank_that_waits_as_long_itself_passes_on_what_others_cause():
    assert not list(waited_for.find(waiting_for_two(waits=[*WAITS, (2, 3, 60, 0.95)])))
    assert only(waited_for.find(waiting_for_two(waits=[*WAITS, (2, 3, 60, 0.2)]))).ranks.tolist() == [2]


def test_a_rank_that_computes_longer_is_reported_once():
    run = waiting_for_two(compute_time_s=computing([0.1, 0.1, 0.12] + [0.1] * 5))
    assert not list(waited_for.find(run)) and only(imbalance.find(run)).ranks.tolist() == [2]


def test_a_rank_that_works_on_files_is_left_to_what_is_said_of_files():
    assert not list(waited_for.find(waiting_for_two(io_time_s=[0, 0, 0.014, 0, 0, 0, 0, 0])))


HALO = [(a, b, 600, 10**7, 0) for a in range(8) for b in (a - 1, a + 1) if 0 <= b < 8]


def with_messages_to_two(count, n_bytes, empty):
    """Rank 1 sends so many messages to rank 2, beside a halo of 10 messages per step and pair."""
    messages = [*HALO, (1, 2, count, n_bytes, empty)]
    return waiting_for_two(
        messages=messages, sent_count=10.0, received_count=10.0, empty=empty / 60, mpi_p2p_time_s=1e-6
    )


@pytest.mark.parametrize(
    ("message", "what"),
    [((3600, 0, 3600), "empty"), ((3600, 28800, 0), "tiny")],
)
def test_rank_that_needless_messages_make_late_is_reported_with_them(message, what):
    run = with_messages_to_two(*message)
    finding = ranked(answers(run))
    assert [found.kind for found in finding] == [f"{what} messages"]
    assert finding[0].words.endswith(
        f" 7 ranks wait 6.3 s in all for rank 2, most of whose messages are {what}."
    )
    assert finding[0].saved_s == pytest.approx(0.9) and finding[0].pairs.tolist() == [[1, 2]]


@pytest.mark.parametrize("message", [(1200, 0, 1200), (1200, 9600, 0), (3600, 10**7, 0)])
def test_rank_with_other_messages_mostly_is_still_named(message):
    assert only(waited_for.find(with_messages_to_two(*message))).ranks.tolist() == [2]


def test_waiting_for_another_rank_than_that_of_empty_messages_stays():
    messages = [*HALO, (5, 6, 3600, 0, 3600)]
    run = waiting_for_two(messages=messages, sent_count=10.0, empty=60.0)
    assert [found.kind for found in ranked(answers(run))] == ["rank that all wait for", "empty messages"]


def test_empty_messages_to_ranks_beyond_the_world_harm_nothing():
    run = waiting_for_two(messages=[*HALO, (5, 1000, 3600, 0, 3600)], sent_count=10.0, empty=60.0)
    assert "rank that all wait for" in [found.kind for found in ranked(answers(run))]


def test_waiting_that_mostly_names_nobody_accuses_nobody():
    run = waiting_for_two()
    run.tables["waiting_time_s"][:] = 0.2
    assert not list(waited_for.find(run))


def run_with_a_region(part, rest, **fields):
    """A run whose ranks compute so long in region "push", and so long elsewhere."""
    return observed_run(
        compute_time_s=part + rest, regions=["push", "rest"], push_time_s=part, rest_time_s=rest, **fields
    )


def test_a_difference_in_one_region_that_others_hide_is_reported_of_that_region():
    part = computing([0.03, 0.03, 0.036] + [0.03] * 5, n_steps=200)
    run = run_with_a_region(
        part, computing([0.07] * 8, n_steps=200, noise=0.3, seed=1), cells=CELLS, n_steps=200
    )
    found = only(imbalance.find(run))
    assert (
        found.kind == "imbalance by cost per cell"
        and found.ranks.tolist() == [2]
        and found.regions == ("push",)
    )
    assert "as long as the mean of all ranks in push: it has as many cells as others" in found.words


def test_a_slowest_rank_that_moves_in_one_region_is_reported_of_that_region():
    part = np.full((64, 8), 0.05)
    part[np.arange(64), np.arange(64) // 4 % 8] = 0.08
    run = run_with_a_region(part, computing([0.05] * 8, n_steps=64, noise=0.3), n_steps=64)
    found = only(imbalance.find(run))
    assert (
        found.kind == "imbalance that moves"
        and found.regions == ("push",)
        and " the mean in push." in found.words
    )


def test_a_small_difference_in_one_region_is_not_reported():
    part = computing([0.004, 0.004, 0.006] + [0.004] * 5)
    assert not list(imbalance.find(run_with_a_region(part, computing([0.1] * 8, noise=0.2, seed=1))))


def test_costly_rank_that_makes_all_calls_on_files_is_reported_with_them():
    compute = computing([0.15] + [0.1] * 7)
    run = observed_run(compute_time_s=compute, io_write_count=[1700] + [0] * 7)
    found = only(imbalance.find(run))
    assert found.words.startswith(
        "Rank 0 computes 1.41 times as long as the mean of all ranks: it also makes all of the 102,000 calls "
        "on files. The others wait"
    )
    assert found.remedy.startswith("Look at how this rank prepares output")


@pytest.mark.parametrize("calls", [[99] + [0] * 7, [1700] * 8, [0] + [1700] + [0] * 6])
def test_few_calls_on_files_or_those_of_others_go_with_no_imbalance(calls):
    run = observed_run(compute_time_s=computing([0.15] + [0.1] * 7), io_write_count=calls)
    assert "on files" not in only(imbalance.find(run)).words


def test_a_region_that_runs_more_often_on_costly_ranks_explains_its_time():
    counts = np.where(np.arange(8) % 6 == 0, 300, 100)
    part = computing(counts * 1e-3)
    run = run_with_a_region(part, computing([0.05] * 8, seed=1), push_count=counts)
    found = only(imbalance.find(run))
    assert found.kind == "imbalance" and found.ranks.tolist() == [0, 6]
    assert found.words.endswith(
        " Counts explain that: push runs 300 times in a step there, and 150 in the mean."
    )
    assert found.remedy.startswith("Look for what makes push run more often on these ranks: ")


def test_a_rank_that_is_a_little_costlier_in_one_region_is_not_reported():
    """Ranks that share cores differ by as much: 7 % in a region, and much more from step to step."""
    part = computing([0.1, 0.1, 0.107] + [0.1] * 5, n_steps=200, noise=0.1)
    run = run_with_a_region(part, computing([0.05] * 8, n_steps=200, noise=0.8, seed=1), n_steps=200)
    assert not list(imbalance.find(run))
