# SPDX-License-Identifier: BSD-3-Clause
"""What a message passes: hops between nodes, and what its two ranks have in common."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from perfield.pictures.lines import Pairs
from perfield.pictures.ways import ways_of
from perfield.topology import Network, place, read_machine

MACHINE = read_machine(
    Path(__file__).resolve().parents[1] / "fixtures" / "machines" / "two-packages-4-cores.xml"
)
NETWORK = Network(("left", "right", "spine"), ((0, 2), (1, 2)), {"n1": 0, "n2": 0, "n3": 1})


def ways(ranks: list[tuple[str, str]], pairs: list[tuple[int, int]], network: Network | None = NETWORK):
    entries = [{"host": host, "boot_id": host, "cpuset": cpuset} for host, cpuset in ranks]
    placement = place(entries, {host: MACHINE for host, _ in ranks}, network)
    source, target = np.array(pairs, np.int32).T
    return {name: column.tolist() for name, column in ways_of(Pairs(source, target, {}), placement).items()}


def test_hops_and_leaf_switch_between_nodes():
    found = ways([("n1", "0"), ("n2", "0"), ("n3", "0")], [(0, 0), (0, 1), (0, 2), (2, 1)])
    assert found["hops"] == [0, 1, 3, 3]
    assert found["same_switch"] == [1, 1, 0, 0]
    assert found["same_node"] == [1, 0, 0, 0]
    assert found["same_package"] == [1, 0, 0, 0], "core 0 of another node is on another package"


def test_package_inside_a_node():
    found = ways([("n1", "0"), ("n1", "1"), ("n1", "4")], [(0, 1), (0, 2)])
    assert (found["same_node"], found["same_package"]) == ([1, 1], [1, 0])
    assert (found["hops"], found["same_switch"]) == ([0, 0], [1, 1])


def test_unbound_rank_shares_an_unknown_package_with_others_and_its_own_with_itself():
    found = ways([("n1", "0-7"), ("n1", "1")], [(0, 1), (0, 0)])
    assert found["same_package"] == [2, 1]


def test_without_a_network_hops_are_known_inside_nodes_alone():
    found = ways([("n1", "0"), ("n1", "1"), ("n2", "0")], [(0, 1), (0, 2)], None)
    assert found["hops"][0] == 0 and np.isnan(found["hops"][1])
    assert found["same_switch"] == [1, 2]


def test_nothing_is_known_of_an_unknown_peer():
    found = ways([("n1", "0")], [(0, -3)])
    assert np.isnan(found.pop("hops")).all()
    assert found == {f"same_{what}": [2] for what in ("node", "package", "numa", "switch")}
