# SPDX-License-Identifier: BSD-3-Clause
"""Each rank is found on its node, and has a part's number only if it is inside that part."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from perfield.topology import place, read_machine

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"
TWO_PACKAGES = read_machine(MACHINES / "two-packages-2-l3-2-cores-2-pus.xml")


def ranks_on(*places: tuple[str, str], boot_id: str = "b1") -> list[dict]:
    """Rank entries from (host, cpuset)."""
    return [{"host": host, "boot_id": boot_id, "cpuset": cpuset} for host, cpuset in places]


def test_nodes_are_in_natural_order():
    placement = place(ranks_on(("n10", "0"), ("n9", "0"), ("gpu2", "0"), ("n9", "1")), {})
    assert [node.host for node in placement.nodes] == ["gpu2", "n9", "n10"]
    assert placement.node_id.tolist() == [2, 1, 0, 1]


def test_equal_host_names_with_two_boot_ids_are_two_nodes():
    ranks = ranks_on(("n", "0"), boot_id="11111111-22") + ranks_on(("n", "0"), boot_id="99999999-00")
    placement = place(ranks, {"n": TWO_PACKAGES})
    assert [node.label for node in placement.nodes] == ["n (11111111)", "n (99999999)"]
    assert placement.node_id.tolist() == [0, 1]


def test_rank_has_numbers_of_parts_with_all_its_pus():
    places = [("n", "9"), ("n", "2-3"), ("n", "4-7"), ("n", "0-15")]
    placement = place(ranks_on(*places), {"n": TWO_PACKAGES})
    np.testing.assert_array_equal(placement.pu_id, [9, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(placement.core_id, [4, 1, np.nan, np.nan])
    np.testing.assert_array_equal(placement.numa_id, [1, 0, 0, np.nan])
    np.testing.assert_array_equal(placement.package_id, [1, 0, 0, np.nan])
    assert list(zip(placement.first, placement.last)) == [(9, 10), (2, 4), (4, 8), (0, 16)]


def test_rank_that_never_checked_in_has_no_place():
    placement = place([None, *ranks_on(("n", "1"))], {"n": TWO_PACKAGES})
    assert placement.node_id.tolist() == [-1, 0]
    assert placement.binding.tolist() == [-1, 0]
    np.testing.assert_array_equal(placement.core_id, [np.nan, 0])
    assert placement.n_ranks == 2


def test_host_without_description_has_its_ranks_pus():
    placement = place(ranks_on(("n", "4"), ("n", "0-1")), {})
    machine = placement.nodes[0].machine
    assert machine.pus == (0, 1, 4)
    assert not machine.described
    assert list(zip(placement.first, placement.last)) == [(2, 3), (0, 2)]
    assert len(placement.notes) == 1
    assert "no description of the machine of n (1 of 1 nodes)" in placement.notes[0]


def test_unknown_pus_are_noted_and_rank_is_unbound():
    placement = place(ranks_on(("n", "40-41"), ("n", "3,77")), {"n": TWO_PACKAGES})
    assert list(zip(placement.first, placement.last)) == [(0, 16), (3, 4)]
    assert len(placement.notes) == 1
    assert "bound to PUs 40, 41, but their machine does not have these" in placement.notes[0]


def test_unreadable_cpuset_is_noted_and_rank_is_unbound():
    placement = place(ranks_on(("n", "all")), {"n": TWO_PACKAGES})
    assert (placement.first[0], placement.last[0]) == (0, 16)
    assert "the CPU set 'all' has the piece 'all'" in placement.notes[0]


def test_run_without_ranks_has_no_nodes():
    for ranks in ([], [None, None]):
        placement = place(ranks, {})
        assert placement.nodes == ()
        assert placement.n_ranks == len(ranks)
