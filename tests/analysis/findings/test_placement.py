# SPDX-License-Identifier: BSD-3-Clause
"""What hurts in a placement is reported, with a cost only where the run shows one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_runs.observed_runs import TWO_PACKAGES, observed_run, placement_at, plain_placement

from perfield.analysis.findings import OF_PLACEMENT, Finding, placement_findings
from perfield.analysis.observed import Observed, unmeasured
from perfield.topology import Device, Network, place, used_devices


def on_places(*places, network=None, n_steps=20, **fields) -> Observed:
    """A quiet run of ranks at these places: nobody moved, every PU was free."""
    placement = placement_at(*places, network=network)
    return quiet(placement, n_steps, **fields)


def quiet(placement, n_steps=20, **fields) -> Observed:
    n_ranks = placement.n_ranks
    values = {
        "pu_id": np.arange(n_ranks),
        "step_time_s": 1.0,
        "compute_time_s": 0.75,
        "cpu_user_time_s": 0.9,
        "cpu_system_time_s": 0.1,
        "involuntary_switches": 0,
    }
    return observed_run(n_ranks, n_steps, placement=placement, **(values | fields))


def only(found: list[Finding], kind: str) -> Finding:
    chosen = [each for each in found if each.kind == kind]
    assert len(chosen) == 1, [each.words for each in found]
    return chosen[0]


def in_report(observed: Observed) -> list[Finding]:
    """Those of a report."""
    return [finding for module in OF_PLACEMENT for finding in module.find(observed)]


def test_ranks_spread_over_packages_and_cores_are_not_reported():
    assert placement_findings(quiet(plain_placement())) == []


def test_run_without_a_placement_finds_nothing():
    assert placement_findings(observed_run(pu_id=np.arange(8))) == []


def test_ranks_packed_on_one_package_are_reported_without_an_invented_cost():
    places = [("n1", "0-1"), ("n1", "2-3"), ("n2", "8-9"), ("n2", "10-11"), ("n3", "0")]
    finding = only(in_report(on_places(*places)), "packed ranks")
    assert finding.words.startswith(
        "Ranks 0-1 are packed on package 0 of n1 while package 1 is empty (the same on 1 more node)"
    )
    assert (finding.ranks.tolist(), finding.hosts, finding.saved_s) == ([0, 1, 2, 3], ("n1", "n2"), None)


SHARED = [("n", "0-1"), ("n", "0-1"), ("n", "0-1"), ("n", "8-9")]


def test_ranks_on_a_core_are_reported_with_what_the_kernel_says_of_their_wait():
    run = on_places(
        *SHARED,
        compute_time_s=[0.25, 0.25, 0.25, 0.5],
        run_delay_time_s=[0.5, 0.5, 0.5, 0],
        delayed_compute_time_s=[0.25, 0.25, 0.25, 0],
        involuntary_switches=[0.35, 0.25, 0, 0],
    )
    finding = only(in_report(run), "shared cores")
    assert finding.words == (
        "Ranks 0-2 share core 0 of n; cores there without a rank: 6. They lost their PU 12 times, and they "
        "waited 15 s for one, 50 % of their time outside MPI and files."
    )
    assert finding.ranks.tolist() == [0, 1, 2]
    assert finding.saved_s == 0.0, "rank 3 computes as long, and shares nothing"
    assert "--bind-to core" in finding.remedy


def test_steps_would_be_shorter_where_only_ranks_on_a_shared_core_are_slow():
    delayed = [0.3, 0.3, 0, 0]
    run = on_places(
        *SHARED,
        compute_time_s=[0.45, 0.45, 0.5, 0.5],
        run_delay_time_s=delayed,
        delayed_compute_time_s=delayed,
    )
    assert only(in_report(run), "shared cores").saved_s == pytest.approx(20 * 0.25)


def test_sharing_that_nothing_can_change_has_no_saving():
    placement = place([{"host": "n", "boot_id": "", "cpuset": "0-1"}] * 3, {})
    run = quiet(placement, run_delay_time_s=0.5, delayed_compute_time_s=0.15, involuntary_switches=1)
    finding = only(in_report(run), "shared cores")
    begin = (
        "Too few PUs for the ranks: 3 ranks on 2 PUs, unbound, so their times include scheduling. They lost "
    )
    assert finding.words.startswith(begin)
    assert "they waited 9 s for one, " in finding.words
    assert finding.saved_s is None
    assert finding.remedy.startswith("Start at most as many ranks as there are cores")


def test_ranks_on_different_pus_of_a_core_have_no_known_cost():
    finding = only(in_report(on_places(("n", "0"), ("n", "1"), ("n", "8"))), "shared cores")
    assert (finding.ranks.tolist(), finding.saved_s) == ([0, 1], None)


CROWD = [("n", "0,8")] * 3  # a PU of each package


def test_time_without_cpu_time_is_not_said_to_lack_a_pu():
    """Ranks that sleep use no CPU time either; without the kernel's run delay nothing is said of it."""
    finding = only(
        in_report(on_places(*CROWD, cpu_user_time_s=0.4, involuntary_switches=0.05)), "shared cores"
    )
    assert finding.words.endswith(", so their times include scheduling. They lost their PU 3 times.")
    assert finding.saved_s is None


def test_ranks_that_share_pus_and_hardly_wait_for_them_are_reported_by_the_placement_only():
    run = on_places(*CROWD, run_delay_time_s=0.02, delayed_compute_time_s=0.02)
    assert in_report(run) == []
    assert " waited 1.2 s for " in only(placement_findings(run), "shared cores").words


def test_ranks_that_gave_their_pu_away_in_mpi_have_no_claimed_cost():
    run = on_places(*CROWD, run_delay_time_s=0.2, delayed_compute_time_s=0, involuntary_switches=0.05)
    finding = only(placement_findings(run), "shared cores")
    assert finding.saved_s is None
    assert finding.words.endswith(
        "They lost their PU 3 times, and they waited 12 s for one, 20 % of their steps, waiting "
        "in MPI included; whether this delayed computing is not known."
    )


def test_a_wait_that_the_kernel_books_late_is_no_longer_than_the_steps():
    run = on_places(*CROWD, run_delay_time_s=20.0, delayed_compute_time_s=0)
    assert (
        "they waited 60 s for a pu, 100 % of their steps"
        in only(placement_findings(run), "shared cores").words.lower()
    )


def test_device_near_other_pus_is_reported():
    gpu, card = (
        Device("GPU", "0000:3b:00.0", ("renderD128",), 8, 16),
        Device("NIC", "0000:01:00.0", ("mlx5_0",), 0, 16),
    )
    machine = replace(TWO_PACKAGES, devices=(gpu, card))
    placement = place(
        [{"host": "n", "boot_id": "", "cpuset": cpuset} for cpuset in ("0-1", "8-9")], {"n": machine}
    )
    opened = [
        {"file": "/dev/dri/renderD128", "pci": gpu.pci},
        {"file": "/dev/infiniband/uverbs0", "pci": card.pci},
    ]
    used = used_devices(placement, {rank: {"devices": opened} for rank in (0, 1)})
    finding = only(in_report(replace(quiet(placement), devices=used)), "far device")
    assert finding.ranks.tolist() == [0], "the card is near all PUs"
    assert finding.words.startswith(
        "Rank 0 used a device that is nearer to other PUs: rank 0 used renderD128 of n."
    )


def moving(slower) -> Observed:
    """Two unbound ranks; rank 0 moves to the other package every fourth step, and is slower there."""
    pu = np.tile([0.0, 4.0], (40, 1))
    pu[:, 0] = np.where(np.arange(40) // 4 % 2, 8.0, 0.0)
    compute = 1.0 + 0.001 * np.random.default_rng(5).random((40, 2))
    compute[4::4, 0] += slower
    return on_places(*[("n", "0-15")] * 2, n_steps=40, pu_id=pu, compute_time_s=compute, step_time_s=compute)


def test_rank_that_moved_is_reported_with_what_its_moves_cost():
    finding = only(in_report(moving(slower=0.5)), "moved ranks")
    assert finding.words == (
        "Rank 0 moved between cores, 9 times in 40 steps, 9 of them between packages, 9 of them between NUMA "
        "domains; memory that they touched before stays in the other domain. The 9 steps with a move "
        "together computed 4.5 s longer than median steps without."
    )
    np.testing.assert_allclose(finding.saved_s, 9 * 0.5, rtol=0.01)


def test_moves_without_longer_steps_are_reported_by_the_placement_only():
    run = moving(slower=0.0)
    assert in_report(run) == []
    finding = only(placement_findings(run), "moved ranks")
    assert finding.saved_s is None
    assert finding.words.endswith("Steps with a move were not longer than others, beyond chance.")


def test_moves_of_ranks_that_share_cores_are_a_consequence():
    compute = 0.5 + (np.arange(40) % 4 == 0)[:, None] + 0.001 * np.random.default_rng(5).random((40, 5))
    moving = {"pu_id": np.arange(40)[:, None] // 4 % 2 * 2, "compute_time_s": compute}
    found = in_report(on_places(*[("n", "0-3")] * 5, n_steps=40, **moving))
    assert [each.kind for each in found] == ["shared cores", "packed ranks"]


def test_moves_of_ranks_whose_pus_others_took_are_a_consequence():
    run = moving(slower=0.5)
    taken = {"involuntary_switches": np.full((40, 2), 100, np.float32)}
    assert in_report(replace(run, tables={**run.tables, **taken})) == []


def test_move_between_pus_of_a_core_is_no_move():
    run = on_places(("n", "0-1"), n_steps=3, pu_id=np.array([[0.0], [1.0], [0.0]]))
    assert placement_findings(run) == []


def away_from_home(slower) -> Observed:
    """Four ranks; rank 2 sits on the other package from step 20 on, and is slower there."""
    pu = np.tile([0.0, 2.0, 4.0, 6.0], (60, 1))
    pu[20:, 2] = 12
    compute = 1.0 + 0.02 * np.random.default_rng(6).standard_normal((60, 4))
    compute[40:] *= 1.3  # for all ranks
    compute[20:, 2] *= slower
    return on_places(*[("n", "0-15")] * 4, n_steps=60, pu_id=pu, compute_time_s=compute, step_time_s=2.0)


def test_rank_that_left_its_memory_behind_is_reported():
    finding = only(in_report(away_from_home(slower=1.25)), "far memory")
    assert finding.ranks.tolist() == [2]
    assert finding.words.startswith(
        "Rank 2 moved to another NUMA domain than that where it began, and its memory stayed behind: rank 2 "
        "spent 67 % of the steps there and computed 2"
    )
    np.testing.assert_allclose(finding.saved_s, 20 * 0.25 + 20 * 0.25 * 1.3, rtol=0.2)


def test_rank_that_moved_without_getting_slower_has_no_far_memory():
    assert [each.kind for each in in_report(away_from_home(slower=1.0))] == []


def test_threads_that_moved_are_reported_by_the_placement_only():
    run = on_places(
        *[("n", "0-1"), ("n", "8-15")], regions=["work"], work_cpu_migrations=[0, 0.6], work_time_s=0.1
    )
    assert in_report(run) == []
    finding = only(placement_findings(run), "moved threads")
    assert finding.words.startswith(
        "Threads of rank 1 moved to another PU (hwloc's word for a hardware thread), "
    )
    assert ", 12 times." in finding.words


NETWORK = Network(("s1", "s2", "top"), ((0, 2), (1, 2)), {"n1": 0, "n2": 0, "n3": 1})


def test_heaviest_partners_on_other_switches_are_reported_with_the_waits_for_them():
    sent = [
        (0, 3, 1, 4000, 0),
        (3, 0, 1, 2000, 0),
        (0, 1, 1, 5000, 0),
        (1, 2, 1, 10, 0),
        (2, -1, 1, 10**9, 0),
    ]
    waits = [(3, 0, 1, 4.5), (0, 3, 1, 0.5), (0, 1, 1, 7.0), (2, -1, 1, 9.0)]
    places = [("n1", "0"), ("n1", "8"), ("n2", "0"), ("n3", "0")]
    run = on_places(*places, network=NETWORK, pu_id=np.nan, messages=sent, waits=waits)
    finding = only(in_report(run), "far partners")
    assert finding.ranks.tolist() == [0, 2, 3], "rank 1 exchanges most with rank 0, on its own node"
    assert finding.words.startswith(
        "3 of 4 ranks exchange most with a rank on another node, 2 of these on another switch: 300 B per "
        "step go between them and these partners (most between ranks 0 and 3, 300 B). They waited 5 s for "
        "these partners (8.3 % of their steps)"
    )
    assert finding.saved_s is None, "part of the waiting is for late partners"
    assert finding.pairs.tolist() == [[0, 3], [1, 2]] or finding.pairs.tolist() == [[0, 3], [2, 1]]


def test_far_partners_that_nobody_waits_for_are_reported_by_the_placement_only():
    run = on_places(("n1", "0"), ("n2", "0"), messages=[(0, 1, 1, 100, 0)])
    assert in_report(run) == []
    assert only(placement_findings(run), "far partners").words.endswith("is known to be for them.")


def test_equally_heavy_partner_on_the_own_node_is_enough():
    ring = [(a, (a + 1) % 4, 1, 100, 0) for a in range(4)]
    places = [("n1", "0"), ("n1", "8"), ("n2", "0"), ("n2", "8")]
    assert placement_findings(on_places(*places, messages=ring)) == []


def test_places_alone_say_what_needs_no_measurement():
    found = placement_findings(unmeasured(placement_at(*SHARED[:3])))
    assert [each.kind for each in found] == ["shared cores", "packed ranks"]
    assert found[0].words == "Ranks 0-2 share core 0 of n; cores there without a rank: 7."
