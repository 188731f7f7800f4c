# SPDX-License-Identifier: BSD-3-Clause
"""A run uses the switches between its nodes; hops count them."""

from __future__ import annotations

import numpy as np

from perfield.topology import Network, place, used_switches

TREE = Network(
    ("sw1", "sw2", "sw3", "row", "spine"),
    ((0, 3), (1, 3), (2, 4), (3, 4)),
    {"n1": 0, "n2": 0, "n3": 1, "n5": 2},
    "topology.conf",
)


def test_only_switches_between_the_nodes_are_used():
    used = used_switches(TREE, ["n1", "n3"])
    assert used.name == ("sw1", "sw2", "row")
    assert used.id.tolist() == [0, 1, 3]
    assert used.level.tolist() == [0, 0, 1]
    assert used.links.tolist() == [[0, 2], [1, 2]]
    assert used.of_node.tolist() == [0, 1]
    assert used_switches(TREE, ["n2"]).name == ("sw1",)


def test_hops_count_the_switches_on_the_way():
    used = used_switches(TREE, ["n1", "n2", "n3", "n5", "n9"])
    hops = used.hops(np.array([0, 0, 0, 0, 0, 4]), np.array([0, 1, 2, 3, 4, 4]))
    np.testing.assert_array_equal(hops, [0, 1, 3, 4, np.nan, 0])


def test_all_ways_of_equal_length_are_used():
    fat = Network(("l1", "l2", "s1", "s2", "far"), ((0, 2), (0, 3), (1, 2), (1, 3), (2, 4)), {"a": 0, "b": 1})
    assert used_switches(fat, ["a", "b"]).name == ("l1", "l2", "s1", "s2")


def test_node_without_a_switch_is_told():
    placement = place(
        [{"host": host, "boot_id": "", "cpuset": ""} for host in ("n1", "n3.cluster", "n9")], {}, TREE
    )
    assert placement.switches.of_node.tolist() == [0, 1, -1]
    assert any(
        "no switch of n9 is known from topology.conf (1 of 3 nodes)" in sentence
        for sentence in placement.notes
    )


def test_switches_that_are_apart_have_no_way():
    used = used_switches(Network(("a", "b"), (), {"n1": 0, "n2": 1}), ["n1", "n2"])
    assert used.name == ("a", "b")
    assert np.isnan(used.hops(np.array([0]), np.array([1]))).all()
