# SPDX-License-Identifier: BSD-3-Clause
"""Places of nodes in the overview: blocks for switches, and one picture of the right shape."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.topology import Network, Switches, grid, used_switches
from perfield.topology.grid import WIDE


def tree(n_nodes: int, per_leaf: int, spines: int = 1) -> Switches:
    """Leaf switches with `per_leaf` nodes each, dealt out in turn to spines."""
    n_leaves = -(-n_nodes // per_leaf)
    names = [f"leaf{i}" for i in range(n_leaves)] + [f"spine{i}" for i in range(spines)] + ["core"]
    links = [(i, n_leaves + i % spines) for i in range(n_leaves)]
    links += [(n_leaves + i, n_leaves + spines) for i in range(spines)]
    hosts = [f"n{i}" for i in range(n_nodes)]
    network = Network(tuple(names), tuple(links), {h: i // per_leaf for i, h in enumerate(hosts)}, "test")
    return used_switches(network, hosts)


@pytest.mark.parametrize("n_nodes", [1, 2, 65, 400, 1000, 10_000])
@pytest.mark.parametrize("per_leaf", [0, 18, 48])
def test_no_two_nodes_share_a_place_and_the_picture_is_wide(n_nodes, per_leaf):
    switches = tree(n_nodes, per_leaf) if per_leaf else Switches.unknown(n_nodes)
    places = grid(switches)
    order = np.lexsort((places.x, places.y))
    near = np.isclose(np.diff(places.y[order]), 0) & (np.abs(np.diff(places.x[order])) < 1 - 1e-9)
    assert not near.any()
    if n_nodes >= 400:
        width, height = np.ptp(places.x) + 1, np.ptp(places.y) + 1
        assert 0.7 * WIDE < width / height < 1.5 * WIDE


def test_nodes_lie_in_the_block_of_their_switch_in_reading_order():
    switches = tree(100, 9)
    places = grid(switches)
    boxes = places.boxes[places.block]
    assert ((boxes[:, 0] < places.x) & (places.x < boxes[:, 1])).all()
    assert ((boxes[:, 2] < places.y) & (places.y < boxes[:, 3])).all()
    assert (places.switch[places.block] == switches.of_node).all()
    first = places.block == 0
    assert places.x[first].tolist() == [0.5, 1.5, 2.5] * 3
    assert (np.diff(places.y[first]) <= 0).all()


def test_blocks_do_not_overlap():
    boxes = grid(tree(1000, 13)).boxes
    for n, (left, right, low, high) in enumerate(boxes):
        others = np.delete(boxes, n, axis=0)
        beside = (others[:, 0] >= right) | (others[:, 1] <= left)
        assert (beside | (others[:, 2] >= high) | (others[:, 3] <= low)).all()


def test_switches_below_the_same_switch_are_neighbours():
    switches = tree(60, 5, spines=3)
    names = [switches.name[n] for n in grid(switches).switch]
    assert names == [f"leaf{n}" for spine in range(3) for n in range(spine, 12, 3)]


def test_nodes_without_a_known_switch_form_the_last_block():
    network = Network(("a", "b"), (), {"n0": 1, "n1": 0}, "test")
    places = grid(used_switches(network, ["n0", "n1", "n2"]))
    assert places.switch.tolist() == [0, 1, -1]
    assert places.block.tolist() == [1, 0, 2]


def test_without_known_switches_all_nodes_form_one_block():
    places = grid(Switches.unknown(70))
    assert not places.has_switches
    assert places.switch.tolist() == [-1]
    assert places.header == 0


def test_names_of_switches_have_room_only_where_they_are_legible():
    assert grid(tree(400, 24)).header > 0
    assert grid(tree(10_000, 24)).header == 0
