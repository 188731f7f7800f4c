# SPDX-License-Identifier: BSD-3-Clause
"""Each rank is found on its node, and has a part's number only if it is inside that part."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from perfield.topology import flat_machine, place, read_machine

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"
TWO_PACKAGES = read_machine(MACHINES / "two-packages-2-l3-2-cores-2-pus.xml")
ONE_PU_PER_CORE = read_machine(MACHINES / "two-packages-4-cores.xml")


def ranks_on(*places: tuple[str, str], boot_id: str = "") -> list[dict]:
    """Rank entries from (host, cpuset). boot_id : of all; by default each host is a node of its own."""
    return [{"host": host, "boot_id": boot_id or f"boot-{host}", "cpuset": cpuset} for host, cpuset in places]


def test_nodes_are_in_natural_order():
    placement = place(ranks_on(("n10", "0"), ("n9", "0"), ("gpu2", "0"), ("n9", "1")), {})
    assert [node.host for node in placement.nodes] == ["gpu2", "n9", "n10"]
    assert placement.node_id.tolist() == [2, 1, 0, 1]


def test_equal_host_names_with_two_boot_ids_are_two_nodes():
    ranks = ranks_on(("n", "0"), boot_id="11111111-22") + ranks_on(("n", "0"), boot_id="99999999-00")
    placement = place(ranks, {"n": TWO_PACKAGES})
    assert [node.label for node in placement.nodes] == ["n (11111111)", "n (99999999)"]
    assert placement.node_id.tolist() == [0, 1]


def test_host_names_of_containers_on_one_node_only_label_it():
    places = [("box10", "0"), ("box2", "1"), ("box3", "2"), ("box2", "0-15")]
    placement = place(ranks_on(*places, boot_id="b"), {"box2": TWO_PACKAGES})
    assert placement.node_id.tolist() == [0] * 4
    (node,) = placement.nodes
    assert (node.host, node.hosts) == ("box2", ("box2", "box3", "box10"))
    assert node.label == "box2, box3, ..."
    assert (node.machine, placement.notes) == (TWO_PACKAGES, ())
    np.testing.assert_array_equal(placement.core_id, [0, 0, 1, np.nan])


def test_node_has_the_largest_machine_that_its_containers_were_allowed():
    part = flat_machine({4, 5})
    placement = place(ranks_on(("a", "4"), ("b", "9"), boot_id="b"), {"a": part, "b": TWO_PACKAGES})
    assert [node.machine for node in placement.nodes] == [TWO_PACKAGES]


def test_copies_of_a_virtual_machine_with_other_cores_are_two_nodes():
    """They share a boot id, but PUs 0 and 1 are one core in the first and two in the second."""
    machines = {"a": TWO_PACKAGES, "b": ONE_PU_PER_CORE}
    placement = place(ranks_on(("a", "0"), ("b", "0"), boot_id="b"), machines)
    assert [node.label for node in placement.nodes] == ["a", "b"]


def test_hosts_distinguish_nodes_where_the_boot_id_is_not_known():
    for boot_id in ("", "00000000"):
        ranks = [{"host": host, "boot_id": boot_id, "cpuset": "0"} for host in ("a", "b", "a")]
        assert place(ranks, {}).node_id.tolist() == [0, 1, 0]


def test_threads_are_known_with_their_pus():
    ranks = ranks_on(("n", "0-3"), ("n", "4"))
    ranks[0]["cpusets_of_threads"] = ["0-1", "2-3"]
    placement = place(ranks, {"n": TWO_PACKAGES})
    assert placement.cpusets_of_threads == {0: ("0-1", "2-3")}
    assert placement.n_threads.tolist() == [2, 1]
    np.testing.assert_array_equal(placement.core_id, [np.nan, 2])


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
