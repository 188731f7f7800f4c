# SPDX-License-Identifier: BSD-3-Clause
"""PUs that a quota, other processes or a hypervisor take are a cause; what they explain comes once."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.observed_runs import observed_run, placement_at, plain_placement

from perfield.analysis.findings import Finding, answers, noise, ranked, taken_pus
from perfield.analysis.findings.late_rank import is_late_for_a_pu

STEPS = 60


def rank_without_pu(of_step: float = 0.06, n_ranks: int = 4, **fields):
    """Ranks with 0.1 s of work in each step. Rank 1 also waits for a PU for `of_step` s."""
    delayed = np.zeros(n_ranks)
    delayed[1] = of_step
    random = np.random.default_rng(1)
    compute = 0.1 * (1 + 0.02 * random.standard_normal((STEPS, n_ranks)))
    known = {"compute_time_s": compute, "run_delay_time_s": delayed, "delayed_compute_time_s": delayed}
    return observed_run(n_ranks, STEPS, **({"placement": plain_placement(n_ranks)} | known | fields))


def findings_of(observed) -> list[Finding]:
    return ranked(answers(observed))


def test_quota_is_named_and_the_slow_rank_is_not_reported_as_imbalance():
    (found,) = findings_of(rank_without_pu(throttled_time_s=[np.nan, 0.058, np.nan, np.nan]))
    assert found.words == (
        "A CPU quota stopped rank 1: it waited 3.6 s for a PU (hwloc's word for a hardware thread), 38 % of "
        "its time outside MPI and files, and the quota kept its control group from running for 3.48 s."
    )
    assert found.kind == "taken PUs"
    assert (found.ranks.tolist(), found.hosts) == ([1], ("n1",))
    assert found.saved_s == pytest.approx(3.6, rel=0.1)
    assert found.remedy.startswith("Raise the quota")


def test_quota_is_not_said_of_ranks_that_others_delay():
    delayed = np.array([0.05, 0.06, 0.05, 0.05])
    fields = {"run_delay_time_s": delayed, "delayed_compute_time_s": delayed, "compute_time_s": 0.1}
    found = list(
        taken_pus.find(rank_without_pu(**fields, throttled_time_s=[np.nan, 0.058, np.nan, np.nan]), worth=0.0)
    )
    assert [each.ranks.tolist() for each in found] == [[1], [0, 2, 3]]
    assert ["quota" in each.words for each in found] == [True, False]


def test_wait_that_a_quota_does_not_explain_is_that_of_others():
    (found,) = findings_of(rank_without_pu(throttled_time_s=[np.nan, 0.01, np.nan, np.nan]))
    assert found.words == (
        "Other processes, or more threads than PUs (hwloc's word for hardware threads), took PUs from rank 1"
        ": it waited 3.6 s for a PU, 38 % of its time outside MPI and files, and no other rank shares these "
        "PUs."
    )
    assert "quota" not in found.words + found.remedy


def test_waits_for_a_pu_in_calls_are_added_where_they_are_longer():
    in_all = np.array([0.0, 0.15, 0.0, 0.0])
    (found,) = findings_of(rank_without_pu(0.03, run_delay_time_s=in_all, step_time_s=0.2))
    assert "it waited 1.8 s for a PU" in found.words
    assert found.words.endswith(
        " With its MPI calls, it was ready to run without one for 9 s, 75 % of its steps; what that costs is "
        "not known."
    )


def test_imbalance_of_work_is_reported_beside_the_wait_for_a_pu():
    work = np.array([0.1, 0.1, 0.1, 0.16])
    found = findings_of(rank_without_pu(0.03, compute_time_s=work))[0]
    assert found.words.startswith(
        "Rank 3 computes 1.39 times as long as the mean of all ranks, apart from waiting for a PU "
    )


def test_wait_of_all_ranks_names_all():
    delayed = np.full(4, 0.05)
    fields = {"run_delay_time_s": delayed, "delayed_compute_time_s": delayed, "compute_time_s": 0.1}
    (found,) = findings_of(rank_without_pu(**fields))
    assert found.ranks.tolist() == [0, 1, 2, 3]
    assert ": they waited 12 s for a PU, 33 % of their time outside MPI and files" in found.words


def test_short_waits_are_reported_by_the_placement_only():
    observed = rank_without_pu(0.0005)
    assert not list(taken_pus.find(observed))
    assert list(taken_pus.find(observed, worth=0.0))


def test_ranks_that_share_pus_with_one_another_are_left_to_that_finding():
    shared = placement_at(*[("n", "0-1")] * 4)
    assert not list(taken_pus.find(rank_without_pu(placement=shared), worth=0.0))


def test_ranks_that_share_pus_and_sleep_wait_for_others():
    """Four ranks on two PUs, of which they use a tenth: the scheduler has no need to share it among them."""
    fields = {
        "placement": placement_at(*[("n", "0,8")] * 4),
        "cpu_user_time_s": 0.008,
        "cpu_system_time_s": 0,
    }
    (found,) = (each for each in findings_of(rank_without_pu(**fields)) if each.kind != "packed ranks")
    assert found.kind == "taken PUs"
    assert found.words.startswith(
        "Other processes took PUs (hwloc's word for hardware threads) from rank 1: "
    )
    assert found.words.endswith(", and used less than half of the CPU time of its PUs.")


def test_hypervisor_is_named():
    (found,) = taken_pus.find(
        rank_without_pu(0, stolen_time_s=[0, 0, 0.03, 0], compute_time_s=[0.1, 0.1, 0.13, 0.1])
    )
    assert found.words == (
        "The hypervisor took PUs of rank 2 for 1.8 s, 23 % of its time outside MPI and files, to run "
        "something else."
    )
    assert found.saved_s == pytest.approx(1.8)


def test_run_without_delays_has_no_finding():
    assert not list(taken_pus.find(observed_run(4, placement=plain_placement(4)), worth=0.0))


def test_rank_is_late_for_a_pu_if_it_waited_half_as_long_for_one():
    observed = rank_without_pu(0.01)
    assert is_late_for_a_pu(observed, 1, 1.19)
    assert not is_late_for_a_pu(observed, 1, 1.21)
    assert not is_late_for_a_pu(observed, 0, 0.1)


def balanced(placement, **fields) -> float:
    """s that balancing one rank of 30 ms and three of 10 ms saves in each step of 33 ms."""
    from perfield.analysis.imbalance import imbalance_of

    work = np.array([0.03, 0.01, 0.01, 0.01])
    known = {"compute_time_s": work, "compute_cpu_time_s": work, "step_time_s": 0.033}
    return imbalance_of(observed_run(4, STEPS, placement=placement, **(known | fields))).found.saved / STEPS


def test_balancing_saves_no_more_than_the_pus_leave():
    """The work needs two PUs for 30 of 33 ms, three for 20, and four, or unknown ones, for 15."""
    assert balanced(placement_at(*[("n", "0-1")] * 4)) == pytest.approx(0.003, rel=1e-3)
    assert balanced(placement_at(*[("n", "0-1")] * 3, ("n", "4"))) == pytest.approx(0.013, rel=1e-3)
    for placement in (plain_placement(4), None):
        assert balanced(placement) == pytest.approx(0.015, rel=1e-3)


def test_ranks_that_sleep_while_they_compute_leave_their_pus():
    pus = placement_at(*[("n", "0-1")] * 4)
    for unknown in (0.0005, np.nan):
        assert balanced(pus, compute_cpu_time_s=unknown) == pytest.approx(0.015, rel=1e-3)


def test_equal_ranks_that_wait_for_pus_unequally_are_balanced():
    from perfield.analysis.imbalance import imbalance_to_report

    assert imbalance_to_report(rank_without_pu(), 0.01) is None
    unknown = {"run_delay_time_s": np.nan, "delayed_compute_time_s": np.nan}
    longer = 0.1 + np.array([0, 0.06, 0, 0])
    assert imbalance_to_report(rank_without_pu(compute_time_s=longer, **unknown), 0.01) is not None


def test_wait_for_a_pu_that_may_lie_in_calls_is_reported_without_a_cost():
    """NPB LU beside other work: ranks spin in MPI without a PU; nothing shows that this delays computing."""
    ready = {"run_delay_time_s": np.full(4, 0.06), "delayed_compute_time_s": 0.0}
    (found,) = findings_of(rank_without_pu(**ready, cpu_user_time_s=0.04, cpu_system_time_s=0.0))
    assert found.kind == "taken PUs" and found.saved_s is None
    assert found.words.startswith(
        "Other processes took PUs (hwloc's word for hardware threads) from ranks 0-3: "
    )
    assert "they were ready to run without one for 14.4 s, " in found.words
    assert "of the CPU time of their PUs. What that costs is not known" in found.words
    assert not findings_of(
        rank_without_pu(**(ready | {"run_delay_time_s": np.full(4, 0.001)}), cpu_user_time_s=0.1)
    )


def test_question_that_a_taken_pu_answers_is_not_denied():
    """Ranks that lose a third of their time to other processes do not lose "no" time irregularly."""
    delayed = np.full(4, 0.05)
    made = answers(
        rank_without_pu(run_delay_time_s=delayed, delayed_compute_time_s=delayed, compute_time_s=0.1)
    )
    (irregular,) = (answer for answer in made if answer.question == noise.QUESTION)
    assert irregular.elsewhere == ("taken PUs",) and not irregular.is_no


def test_first_finding_that_mentions_pus_says_what_they_are():
    shared = placement_at(*[("n", "0,8")] * 4)
    delayed = {"run_delay_time_s": np.full(4, 0.2), "delayed_compute_time_s": np.full(4, 0.2)}
    quiet = {"placement": shared, "compute_time_s": 0.1, "cpu_user_time_s": 0.008, "cpu_system_time_s": 0}
    first, second = (each.words for each in findings_of(rank_without_pu(**quiet, **delayed))[:2])
    assert first.startswith("Other processes took PUs (hwloc's word for hardware threads) from ranks 0-3: ")
    assert second.startswith("Too few PUs for the ranks: 4 ranks on 2 PUs, unbound, so their times include ")
    assert second.endswith("; other processes used these PUs, too.")


def test_hot_spot_that_moves_is_not_explained_by_taken_pus_if_cpu_time_shows_it():
    delayed = np.full(4, 0.1)
    turn = np.arange(STEPS) // 10 % 4
    noisy = 1 + 0.02 * np.random.default_rng(1).standard_normal((STEPS, 4))
    work = 0.02 * (1 + 9 * (np.arange(4) == turn[:, None])) * noisy
    hot = {"compute_time_s": work, "run_delay_time_s": delayed, "delayed_compute_time_s": delayed}
    kinds = [each.kind for each in findings_of(rank_without_pu(**hot, compute_cpu_time_s=work))]
    assert sorted(kinds) == ["imbalance that moves", "taken PUs"]
    assert [each.kind for each in findings_of(rank_without_pu(**hot))] == ["taken PUs"]
