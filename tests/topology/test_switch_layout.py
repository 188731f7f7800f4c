# SPDX-License-Identifier: BSD-3-Clause
"""Switches are above the nodes, from their first to their last plane, one storey per level."""

from __future__ import annotations

import numpy as np

from perfield.topology import Network, layout, layout_switches, nodes_below, place

TREE = Network(
    ("left", "right", "spine"), ((0, 2), (1, 2)), {"n1": 0, "n2": 0, "n3": 1, "n4": 1}, "topology.conf"
)
FAT_TREE = Network(
    ("left", "right", "s1", "s2"),
    ((0, 2), (1, 2), (0, 3), (1, 3)),
    {"n1": 0, "n2": 1, "n3": 0, "n4": 1},
)


def laid_out(network: Network, hosts: tuple[str, ...] = ("n1", "n2", "n3", "n4")):
    placement = place([{"host": host, "boot_id": host, "cpuset": "0"} for host in hosts], {}, network)
    cells = layout(placement, 10)
    return cells, layout_switches(placement.switches, cells)


def test_switch_spans_from_the_first_to_the_last_plane_below_it():
    cells, switches = laid_out(TREE)
    first, last = cells.node_z[[0, 2, 0]], cells.node_z[[1, 3, 3]]
    assert (switches.first_z < first).all() and (switches.first_z > first - 5).all()
    assert (switches.last_z > last).all() and (switches.last_z < last + 5).all()
    assert switches.last_z[0] < switches.first_z[1]


def test_each_level_is_a_storey_higher_and_all_are_above_the_nodes():
    cells, switches = laid_out(TREE)
    bottom, top = switches.y - switches.height / 2, switches.y + switches.height / 2
    assert bottom[:2].min() > (cells.y + cells.height / 2).max() + 2
    assert switches.y[0] == switches.y[1]
    assert bottom[2] > top[0] + 2


def test_links_join_nodes_with_leaves_and_leaves_with_the_switch_above():
    cells, switches = laid_out(TREE)
    assert switches.link_node.tolist() == [0, 1, 2, 3, -1, -1]
    assert switches.link_switch.tolist() == [0, 0, 1, 1, 2, 2]
    lower, upper = switches.link_ends[:, 0], switches.link_ends[:, 1]
    assert lower[:4, 2].tolist() == cells.node_z.tolist()
    assert (lower[:4, 1] == (cells.y + cells.height / 2).max()).all()
    np.testing.assert_array_equal(lower[4:, 1], (switches.y + switches.height / 2)[:2])
    np.testing.assert_array_equal(upper[:, 1], (switches.y - switches.height / 2)[switches.link_switch])
    assert (lower[:, 2] == upper[:, 2]).all(), "links are upright"
    assert (switches.link_ends[:, :, 0] == 0).all(), "in the plane x = 0"


def test_switches_that_would_overlap_are_one_above_the_other():
    _, switches = laid_out(FAT_TREE)  # both leaves and both spines reach over the same planes
    bottom, top = switches.y - switches.height / 2, switches.y + switches.height / 2
    assert bottom[1] > top[0] and bottom[2] > top[1] and bottom[3] > top[2]


def test_nodes_below_a_switch_are_all_that_it_leads_down_to():
    ranks = [{"host": host, "boot_id": host, "cpuset": ""} for host in ("n1", "n2", "n3", "n9")]
    below = nodes_below(place(ranks, {}, FAT_TREE).switches)
    assert below.tolist() == [
        [True, False, True, False],
        [False, True, False, False],
        [True, True, True, False],
        [True, True, True, False],
    ]


def test_without_known_switches_nothing_is_placed():
    cells, switches = laid_out(Network(("far",), (), {"other": 0}))
    assert len(switches.y) == len(switches.link_ends) == 0
    assert len(cells.node_z) == 4
