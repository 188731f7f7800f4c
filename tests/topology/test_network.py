# SPDX-License-Identifier: BSD-3-Clause
"""A run uses the switches between its nodes; hops count them."""

from __future__ import annotations

import numpy as np
import pytest

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


def test_node_without_a_switch_is_reported():
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


@pytest.mark.parametrize("seed", range(20))
def test_used_switches_are_those_on_a_shortest_way_in_any_network(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 14))
    links = [tuple(sorted(random.choice(n, 2, replace=False).tolist())) for _ in range(2 * n)]
    hosts = [f"n{leaf}" for leaf in random.choice(n, min(n, 4), replace=False)]
    network = Network(tuple(map(str, range(n))), tuple(links), {host: int(host[1:]) for host in hosts})
    steps = np.where(np.eye(n, dtype=bool), 0.0, np.inf)
    for low, high in links:
        steps[low, high] = steps[high, low] = 1
    for middle in range(n):  # Floyd and Warshall
        steps = np.minimum(steps, steps[:, [middle]] + steps[[middle]])
    leaves = [int(host[1:]) for host in hosts]
    on_a_way = {
        switch
        for one in leaves
        for other in leaves
        for switch in range(n)
        if np.isfinite(steps[one, other]) and steps[one, switch] + steps[switch, other] == steps[one, other]
    }
    used = used_switches(network, hosts)
    assert set(used.id.tolist()) == on_a_way
    hops = used.hops(np.arange(len(hosts))[:, None], np.arange(len(hosts)))
    expected = np.where(np.eye(len(hosts), dtype=bool), 0, steps[np.ix_(leaves, leaves)] + 1)
    np.testing.assert_array_equal(hops, np.where(np.isinf(expected), np.nan, expected))
