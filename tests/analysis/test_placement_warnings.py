# SPDX-License-Identifier: BSD-3-Clause
"""Warnings name what hurts in a placement, and a cost only where the run shows one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from perfield.analysis.placement_warnings import Observed, placement_warnings
from perfield.topology import Device, Network, place, read_machine, used_devices

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"
TWO_PACKAGES = read_machine(MACHINES / "two-packages-2-l3-2-cores-2-pus.xml")
PAIRS = np.dtype([("source", "i4"), ("target", "i4"), ("bytes", "u8")])
WAITS = np.dtype([("rank", "i4"), ("peer", "i4"), ("time_s", "f8")])


def placed(*cpusets, network=None):
    """Ranks from (host, CPU set); all hosts have two packages of four cores with two PUs."""
    entries = [{"host": host, "boot_id": "", "cpuset": cpuset} for host, cpuset in cpusets]
    return place(entries, {host: TWO_PACKAGES for host, _ in cpusets}, network)


def observed(n_ranks, n_frames=20, **changes):
    """A quiet run: nobody moved, every PU was free."""
    shape = (n_frames, n_ranks)
    values = {
        "pu_id": np.tile(np.arange(n_ranks, dtype=float), (n_frames, 1)),
        "step_s": np.full(shape, 1.0),
        "compute_s": np.full(shape, 0.75),
        "cpu_s": np.full(shape, 1.0),
        "switches": np.zeros(n_ranks),
        "thread_moves": np.full(n_ranks, np.nan),
        "n_threads": np.full(n_ranks, np.nan),
    }
    return Observed(n_frames, **(values | changes))


def only(found, kind):
    chosen = [each for each in found if each.kind == kind]
    assert len(chosen) == 1, [each.words for each in found]
    return chosen[0]


def test_ranks_spread_over_packages_and_cores_are_not_warned_about():
    assert placement_warnings(placed(("n", "0-1"), ("n", "8-9")), observed(2)) == []


def test_ranks_packed_on_one_package_are_told_without_an_invented_cost():
    placement = placed(("n1", "0-1"), ("n1", "2-3"), ("n2", "8-9"), ("n2", "10-11"), ("n3", "0"))
    told = only(placement_warnings(placement, observed(5)), "one package")
    assert told.words.startswith(
        "ranks 0-1 are packed on package 0 of n1 while package 1 is empty (the same on 1 more node)"
    )
    assert told.ranks.tolist() == [0, 1, 2, 3]
    assert (told.cost_s, told.cost) == (None, "this run does not show its cost")


def test_two_ranks_on_a_core_are_told_with_the_time_without_a_pu():
    placement = placed(("n", "0-1"), ("n", "0-1"), ("n", "0-1"), ("n", "8-9"))
    run = observed(4, cpu_s=np.tile([0.5, 0.5, 1.0, 1.0], (20, 1)), switches=np.array([7.0, 5.0, 0.0, 0.0]))
    told = only(placement_warnings(placement, run), "shared core")
    assert told.words == "ranks 0-2 share one core, 0 of n; cores there without a rank: 6"
    assert told.cost_s == 2 * 20 * 0.25, "compute time beyond all CPU time"
    assert told.cost == (
        "at least 10 s of computing without a PU: a PU was taken from them 12 times, and they had none for "
        "20 s (33%) of their steps, waiting in MPI included"
    )


def test_ranks_on_different_pus_of_a_core_have_no_known_cost():
    told = only(placement_warnings(placed(("n", "0"), ("n", "1"), ("n", "8")), observed(3)), "shared core")
    assert (told.ranks.tolist(), told.cost_s) == ([0, 1], None)


def test_time_without_a_pu_is_no_cost_if_no_pu_was_taken():
    run = observed(3, cpu_s=np.full((20, 3), 0.5))
    told = only(placement_warnings(placed(*[("n", "0-1")] * 3), run), "shared core")
    assert told.cost_s is None, "the ranks slept"


def test_more_unbound_ranks_than_pus_are_told():
    placement = place([{"host": "n", "boot_id": "", "cpuset": "0-1"}] * 3, {})
    run = observed(3, pu_id=np.zeros((20, 3)), cpu_s=np.full((20, 3), 0.6), switches=np.ones(3))
    told = only(placement_warnings(placement, run), "shared PU")
    assert told.words.startswith("3 ranks on 2 PUs, unbound: times contain the scheduler")
    np.testing.assert_allclose(told.cost_s, 20 * 3 * 0.15, rtol=1e-12)


def test_ranks_that_gave_their_pu_away_in_mpi_have_no_claimed_cost():
    run = observed(3, cpu_s=np.full((20, 3), 0.8), switches=np.ones(3))
    told = only(placement_warnings(placed(*[("n", "0-1")] * 3), run), "shared core")
    assert told.cost_s is None
    assert told.cost == (
        "a PU was taken from them 3 times, and they had none for 12 s (20%) of their steps, waiting in MPI "
        "included; how much of this delayed computing is not known"
    )


def test_device_near_other_pus_is_told():
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
    told = only(placement_warnings(placement, observed(2), used), "far device")
    assert told.ranks.tolist() == [0], "the card is near all PUs"
    assert told.words == "rank 0 used a device that is nearer to other PUs: rank 0 used renderD128 of n"


def moving(slower):
    """Two unbound ranks; rank 0 moves to the other package every fourth step, and is slower there."""
    placement = placed(("n", "0-15"), ("n", "0-15"))
    pu = np.tile([0.0, 4.0], (40, 1))
    pu[:, 0] = np.where(np.arange(40) // 4 % 2, 8.0, 0.0)
    compute = 1.0 + 0.001 * np.random.default_rng(5).random((40, 2))
    compute[4::4, 0] += slower
    return placement, observed(2, 40, pu_id=pu, compute_s=compute, step_s=compute, cpu_s=compute)


def test_rank_that_moved_is_told_with_what_its_moves_cost():
    told = only(placement_warnings(*moving(slower=0.5)), "moved")
    assert told.words == (
        "rank 0 moved between cores, 9 times in 40 steps, 9 of them between packages, 9 of them between NUMA "
        "domains; memory that they touched before stays in the other domain"
    )
    np.testing.assert_allclose(told.cost_s, 9 * 0.5, rtol=0.01)
    assert told.cost == "the 9 steps with a move together computed 4.5 s longer than median steps without"


def test_moves_without_longer_steps_have_no_cost():
    told = only(placement_warnings(*moving(slower=0.0)), "moved")
    assert (told.cost_s, told.cost) == (
        None,
        "steps with a move were not longer than others, beyond chance",
    )


def test_move_between_pus_of_a_core_is_no_move():
    run = observed(1, pu_id=np.array([[0.0], [1.0], [0.0]]), n_frames=3)
    assert placement_warnings(placed(("n", "0-1")), run) == []


def test_threads_that_moved_and_threads_without_pus_are_told():
    placement = placed(("n", "0-1"), ("n", "8-15"))
    found = placement_warnings(
        placement, observed(2, thread_moves=np.array([0.0, 12.0]), n_threads=np.array([4.0, 8.0]))
    )
    assert only(found, "threads moved").words == "threads of rank 1 moved to another PU, 12 times"
    assert (
        only(found, "threads").words
        == "rank 0: more threads than PUs (rank 0: 4 threads in one region, 2 PUs)"
    )


NETWORK = Network(("s1", "s2", "top"), ((0, 2), (1, 2)), {"n1": 0, "n2": 0, "n3": 1})


def test_heaviest_partners_on_other_switches_are_told_with_the_waits_for_them():
    placement = placed(("n1", "0"), ("n1", "8"), ("n2", "0"), ("n3", "0"), network=NETWORK)
    sent = np.array([(0, 3, 4000), (3, 0, 2000), (0, 1, 5000), (1, 2, 10), (2, -1, 10**9)], PAIRS)
    waits = np.array([(3, 0, 1.5), (0, 3, 0.5), (0, 1, 7.0), (2, -1, 9.0)], WAITS)
    run = observed(4, pu_id=np.full((20, 4), np.nan), messages=sent, waits=waits)
    told = only(placement_warnings(placement, run), "far partners")
    assert told.ranks.tolist() == [0, 2, 3], "rank 1 exchanges most with rank 0, on its own node"
    assert told.words == (
        "3 of 4 ranks exchange most with a rank on another node, 2 of these on another switch: 300 B per "
        "step go between them and these partners (most between ranks 0 and 3, 300 B)"
    )
    assert told.cost_s == 2.0
    assert told.cost.startswith("they waited 2 s for these partners (3.3% of their steps)")


def test_equally_heavy_partner_on_the_own_node_is_enough():
    placement = placed(("n1", "0"), ("n1", "8"), ("n2", "0"), ("n2", "8"))
    ring = np.array([(a, (a + 1) % 4, 100) for a in range(4)], PAIRS)
    assert placement_warnings(placement, observed(4, messages=ring)) == []


def test_dearest_warning_comes_first():
    placement = placed(*[("n1", "0-1")] * 3, ("n2", "0"))
    sent = np.array([(0, 3, 100)], PAIRS)
    waits = np.array([(0, 3, 50.0)], WAITS)
    run = observed(4, cpu_s=np.full((20, 4), 0.7), switches=np.ones(4), messages=sent, waits=waits)
    found = placement_warnings(placement, run)
    assert [each.kind for each in found] == ["far partners", "shared core", "one package"]
