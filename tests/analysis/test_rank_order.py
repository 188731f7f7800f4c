# SPDX-License-Identifier: BSD-3-Clause
"""The proposed order of ranks sends least over the network, and each place gets exactly one rank."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from perfield.analysis.rank_order import Places, propose, traffic

PAIRS = np.dtype([("source", "i4"), ("target", "i4"), ("bytes", "u8")])


def messages(*rows):
    return np.array(list(rows), PAIRS)


def places(node, switch=None, package=None, hops=None):
    """Places on nodes; hops are 1 under a switch and 3 between switches."""
    node = np.array(node)
    package = np.zeros(len(node), int) if package is None else np.array(package)
    switch = np.full(node.max() + 1, -1) if switch is None else np.array(switch)
    if hops is None:
        hops = np.where(switch[:, None] == switch, 1.0, 3.0)
        hops[(switch < 0)] = np.nan
        np.fill_diagonal(hops, 0.0)
    return Places(node, package, switch, hops)


def scattered_grid(shape, seed):
    """A periodic grid of ranks, numbered at random, where neighbours exchange 1000 bytes each way."""
    numbers = np.arange(np.prod(shape)).reshape(shape)
    name = np.random.default_rng(seed).permutation(numbers.size)
    rows = []
    for axis in range(len(shape)):
        for one, other in zip(numbers.ravel(), np.roll(numbers, 1, axis).ravel()):
            rows += [(name[one], name[other], 1000), (name[other], name[one], 1000)]
    return messages(*rows)


def is_permutation(order, n_ranks):
    return sorted(order.place_of_rank.tolist()) == list(range(n_ranks))


def test_traffic_counts_bytes_between_places():
    found = traffic(
        places([0, 0, 1, 2], [5, 5, 6], [0, 1, 0, 0]),
        np.arange(4),
        messages((0, 1, 10), (1, 2, 200), (3, 0, 3000), (3, 3, 50000)),
    )
    assert (found.total, found.between_nodes, found.between_packages) == (53210, 3200, 10)
    assert (found.between_switches, found.hop_bytes) == (3000, 200 + 3 * 3000)


def test_traffic_between_switches_is_unknown_without_switches():
    found = traffic(places([0, 1]), np.arange(2), messages((0, 1, 8)))
    assert (found.between_nodes, found.between_switches, found.hop_bytes) == (8, None, None)


def test_partners_are_brought_to_one_node():
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    order = propose(places([0, 0, 1, 1]), messages((0, 2, 100), (3, 1, 100), (0, 1, 1)))
    assert order.better
    assert (order.before.between_nodes, order.after.between_nodes) == (200, 1)
    node = np.array([0, 0, 1, 1])[order.place_of_rank]
    assert node[0] == node[2] != node[1] == node[3]
    assert is_permutation(order, 4)


def test_scattered_grid_is_divided_as_well_as_blocks():
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    node = np.repeat(np.arange(8), 8)
    order = propose(places(node, np.arange(8) // 4), scattered_grid((4, 4, 4), seed=7))
    # 8 blocks of 2 x 2 x 2 send half of their bytes; two slabs of 2 x 4 x 4 a third of those.
    assert order.after.between_nodes <= 0.5 * order.after.total
    assert order.after.between_switches <= order.after.total / 6
    assert order.before.between_nodes > 0.8 * order.before.total
    assert is_permutation(order, 64)


def test_nodes_keep_their_numbers_of_ranks_even_if_these_differ():
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    node = np.repeat([0, 1, 2, 3], [9, 1, 4, 2])
    order = propose(places(node, [0, 0, 1, 1]), scattered_grid((4, 4), seed=3))
    assert is_permutation(order, 16)
    assert order.after.hop_bytes < order.before.hop_bytes


def test_far_switches_are_avoided_first():
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    rows = [(0, 2, 1000), (1, 3, 1000), (0, 1, 10)]
    order = propose(places([0, 1, 2, 3], [0, 0, 1, 1]), messages(*rows))
    assert (order.before.between_switches, order.after.between_switches) == (2000, 10)
    assert order.after.between_nodes == order.before.between_nodes, "one rank per node: all bytes stay there"


def test_packages_decide_where_nodes_are_equal():
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    order = propose(places([0] * 4, package=[0, 0, 1, 1]), messages((0, 2, 100), (1, 3, 100)))
    assert (order.before.between_packages, order.after.between_packages) == (200, 0)


def test_ranks_that_stay_on_their_node_keep_their_place():
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    node = np.repeat([0, 1], 4)
    rows = [(a, b, 100) for a in range(4) for b in range(4) if a != b] + [(0, 1, 1000)]
    swapped = np.array([4, 1, 2, 3, 0, 5, 6, 7])
    order = propose(places(node), messages(*[(swapped[a], swapped[b], size) for a, b, size in rows]))
    assert (order.place_of_rank == np.arange(8)).sum() == 6
    assert order.after.between_nodes == 0


def test_best_order_is_kept():
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    order = propose(places([0, 0, 1, 1]), messages((0, 1, 100), (2, 3, 100), (1, 2, 1)))
    assert not order.better
    assert order.place_of_rank.tolist() == [0, 1, 2, 3]
    assert order.after == order.before


def test_run_without_messages_keeps_its_order():
    order = propose(places([0, 1]), messages())
    assert (order.better, order.place_of_rank.tolist()) == (False, [0, 1])


def test_proposal_is_the_same_each_time():
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    at, sent = places(np.repeat(np.arange(4), 8)), scattered_grid((8, 4), seed=2)
    np.testing.assert_array_equal(propose(at, sent).place_of_rank, propose(at, sent).place_of_rank)


def test_messages_are_not_changed():
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    sent = scattered_grid((4, 4), seed=1)
    kept = sent.copy()
    propose(places(np.repeat(np.arange(4), 4)), sent)
    np.testing.assert_array_equal(sent, kept)


def test_missing_kahip_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "kahip", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs KaHIP .* pip install 'perfield\[placement\]'"):
        propose(places([0, 0, 1, 1]), messages((0, 2, 1)))


@pytest.mark.parametrize("seed", range(25))
def test_any_proposal_is_a_permutation_that_sends_no_more(seed):
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    random = np.random.default_rng(seed)
    n_ranks = int(random.integers(1, 60))
    n_nodes = int(random.integers(1, n_ranks + 1))
    node = np.concatenate([np.arange(n_nodes), random.integers(0, n_nodes, n_ranks - n_nodes)])
    sent = np.zeros(int(random.integers(0, 200)), PAIRS)
    for end in ("source", "target"):
        sent[end] = random.integers(0, n_ranks, len(sent))
    sent["bytes"] = 10.0 ** random.uniform(0, 15, len(sent))
    switch = random.integers(0, 3, n_nodes) if seed % 2 else None
    order = propose(places(random.permutation(node), switch, random.integers(-1, 3, n_ranks)), sent)
    assert is_permutation(order, n_ranks)
    assert order.after.total == order.before.total
    if switch is None and n_nodes > 1:
        assert order.after.between_nodes <= order.before.between_nodes
    else:
        assert (order.after.hop_bytes or 0) <= (order.before.hop_bytes or 0)


def test_gain_below_one_percent_is_no_reason_to_change():
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    everyone = [(a, b, 1000) for a in range(4) for b in range(a)]
    order = propose(places([0, 0, 1, 1]), messages(*everyone, (0, 2, 1)))
    assert (order.better, order.before.between_nodes) == (False, 4001)
    order = propose(places([0, 0, 1, 1]), messages(*everyone, (0, 2, 100)))
    assert (order.better, order.after.between_nodes) == (True, 4000)
