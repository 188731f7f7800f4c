# SPDX-License-Identifier: BSD-3-Clause
"""Edges by where their ranks sit, on machines and networks made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.observed_runs import plain_placement

from perfield.studies.oscillators.model import Model, ModelError, topologies
from perfield.studies.oscillators.model.potentials import Sine
from perfield.studies.rhythm.model.by_place import LEVELS, by_level, levels_of
from perfield.studies.rhythm.model.topology import topology
from perfield.topology import Network

LEAVES = Network(("leaf0", "leaf1", "spine"), ((0, 2), (1, 2)), {"n1": 0, "n2": 0, "n3": 1})


def names(levels):
    return [LEVELS[number] for number in levels]


def test_the_nearest_part_that_holds_both_ranks_counts():
    placed = plain_placement(12, 4, LEAVES)  # packages by turns: ranks 0 and 2 of a node share one
    edges = topology(12, [2, 1, 4, 8], [0, 0, 0, 0])
    levels = levels_of(edges, placed.node_id, placed.package_id, placed.switch_id)
    assert names(levels) == ["node", "package", "switch", "network"]  # edges sorted by receiver: 1, 2, 4, 8


def test_packages_of_different_nodes_with_one_number_are_not_one():
    placed = plain_placement(8, 4)
    edges = topology(8, [4], [0])
    assert names(levels_of(edges, placed.node_id, placed.package_id)) == ["network"]


def test_ranks_that_are_bound_to_several_packages_share_the_node():
    edges = topologies.ring(3)
    levels = levels_of(edges, np.zeros(3), np.array([0, np.nan, 0]))
    assert names(levels) == ["package", "node", "node"]


def test_weights_and_delays_follow_the_level():
    placed = plain_placement(8, 4)
    edges = topologies.chain(8, bidirectional=True)
    levels = levels_of(edges, placed.node_id)
    weighed = edges.weighted(edges.weight * by_level(levels, {"node": 1.0, "network": 0.25}))
    across = {(3, 4), (4, 3)}
    for sender, receiver, weight in zip(weighed.sender, weighed.receiver, weighed.weight):
        assert weight == (0.25 if (sender, receiver) in across else 1.0)
    delays = by_level(levels, {"node": 0.0, "network": 0.01})
    assert Model(edges, Sine(), delay=delays).delay[weighed.weight == 0.25].tolist() == [0.01, 0.01]


def test_a_level_without_a_value_is_refused():
    with pytest.raises(ModelError, match=r"2 of 4 edges join ranks of one network, .*for 'network', too"):
        by_level(np.array([1, 3, 3, 1]), {"node": 1.0})


def test_an_unknown_level_is_refused_and_the_known_ones_named():
    with pytest.raises(ModelError, match=r"'nodes' is not a level; .*node, switch and network.*node"):
        by_level(np.array([1]), {"nodes": 1.0})


def test_ranks_whose_node_is_unknown_are_refused():
    with pytest.raises(ModelError, match="the node of rank 1 is unknown"):
        levels_of(topologies.chain(3), np.array([0, -1, 0]))
