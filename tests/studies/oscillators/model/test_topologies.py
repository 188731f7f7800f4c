# SPDX-License-Identifier: BSD-3-Clause
"""Named communication topologies: who receives from whom."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from perfield.studies.oscillators.model import ModelError, topologies
from perfield.studies.rhythm.model.topology import topology


def edges(found):
    """(sender, receiver) of all edges, as a set; each must come once."""
    pairs = list(zip(found.sender.tolist(), found.receiver.tolist()))
    assert len(pairs) == len(set(pairs))
    return set(pairs)


def test_the_open_chains_are_the_matrices_of_figure_4():
    below = np.eye(18, k=-1)  # row = receiver: rank i receives from i - 1
    assert (topologies.chain(18).matrix.toarray() == below).all()
    assert (topologies.chain(18, bidirectional=True).matrix.toarray() == below + below.T).all()


def test_what_is_sent_up_is_received_from_below():
    assert edges(topologies.by_send(4, [1])) == {(0, 1), (1, 2), (2, 3)}
    assert edges(topologies.by_receive(4, [-1])) == {(0, 1), (1, 2), (2, 3)}


def test_sends_of_plus_minus_one_and_minus_two_arrive_from_minus_one_plus_one_and_plus_two():
    found = topologies.by_send(6, [1, -1, -2])
    assert found.matrix.toarray()[2].tolist() == [0, 1, 0, 1, 1, 0]
    assert found.matrix.toarray()[:, 2].nonzero()[0].tolist() == [0, 1, 3]


def test_by_receive_is_the_transpose_of_by_send():
    for periodic in (False, True):
        sent = topologies.by_send(7, [1, -1, -2], periodic=periodic)
        received = topologies.by_receive(7, [1, -1, -2], periodic=periodic)
        assert (received.matrix.toarray() == sent.matrix.toarray().T).all()
        assert edges(received.transposed()) == edges(sent)


def test_offsets_that_lead_to_the_same_rank_count_once():
    assert edges(topologies.by_send(2, [1, -1, 3], periodic=True)) == {(0, 1), (1, 0)}
    assert (topologies.by_send(5, [1, 1, 1]).weight == 1).all()


def test_no_rank_sends_to_itself():
    assert edges(topologies.by_send(3, [0, 1, 3], periodic=True)) == {(0, 1), (1, 2), (2, 0)}


def test_a_ring_closes_the_chain():
    closing = edges(topologies.ring(5)) - edges(topologies.chain(5))
    assert closing == {(4, 0)}
    assert (topologies.ring(5, bidirectional=True).degree == 2).all()


def test_next_to_next_neighbours_leave_out_the_next_ones():
    assert edges(topologies.chain(4, distance=2)) == {(0, 2), (1, 3)}
    assert edges(topologies.compact(4, 2)) == {(0, 2), (1, 3), (0, 1), (1, 2), (2, 3)}
    assert topologies.compact(9, 3, bidirectional=True, periodic=True).degree.tolist() == [6] * 9


def test_a_mesh_joins_ranks_at_grid_distance_one():
    shape = (3, 4)
    place = np.array(list(np.ndindex(shape)))
    distance = abs(place[:, None] - place[None]).sum(axis=2)
    assert (topologies.mesh(shape).matrix.toarray() == (distance == 1)).all()


def test_a_mesh_of_three_axes_wraps_the_periodic_ones_only():
    shape, periodic = (3, 4, 5), (False, True, True)
    place = np.array(list(np.ndindex(shape)))
    apart = abs(place[:, None] - place[None])
    for axis, wraps in enumerate(periodic):
        if wraps:
            apart[..., axis] = np.minimum(apart[..., axis], shape[axis] - apart[..., axis])
    found = topologies.mesh(shape, periodic=periodic)
    assert (found.matrix.toarray() == (apart.sum(axis=2) == 1)).all()


def test_a_periodic_axis_of_two_or_one_ranks_gives_no_double_edge_and_no_self_loop():
    assert edges(topologies.mesh((2, 1), periodic=True)) == {(0, 1), (1, 0)}


def test_a_sweep_over_a_mesh_receives_from_lower_neighbours():
    found = topologies.mesh((2, 2), bidirectional=False)
    assert edges(found) == {(0, 1), (0, 2), (1, 3), (2, 3)}


def test_all_ranks_receive_from_all_others():
    assert (topologies.all_to_all(5).matrix.toarray() == 1 - np.eye(5)).all()


@pytest.mark.parametrize("directed", [True, False])
def test_a_random_graph_has_the_asked_for_share_of_edges_and_repeats_by_seed(directed):
    n, probability = 300, 0.05
    found = topologies.random_graph(n, probability, seed=7, directed=directed)
    again = topologies.random_graph(n, probability, seed=7, directed=directed)
    other = topologies.random_graph(n, probability, seed=8, directed=directed)
    assert edges(found) == edges(again) != edges(other)
    assert (edges(found) == edges(found.transposed())) is not directed
    draws = n * (n - 1) if directed else n * (n - 1) / 2
    expected, scatter = probability * draws, np.sqrt(probability * draws)  # binomial
    assert abs(found.n_edges / (1 if directed else 2) - expected) < 5 * scatter


@pytest.mark.parametrize("directed", [True, False])
def test_a_random_graph_of_probability_one_is_all_to_all(directed):
    found = topologies.random_graph(40, 1.0, seed=1, directed=directed)
    assert edges(found) == edges(topologies.all_to_all(40))


def test_every_pair_of_a_random_graph_is_equally_likely():
    count = sum(topologies.random_graph(6, 0.5, seed=s).matrix.toarray() for s in range(600))
    off_diagonal = count[~np.eye(6, dtype=bool)]
    assert abs(off_diagonal - 300).max() < 5 * np.sqrt(150)  # binomial, 600 draws


def test_a_large_sparse_random_graph_takes_memory_for_its_edges_only():
    found = topologies.random_graph(200_000, 1e-5, seed=3)  # 4e10 pairs
    assert found.n_edges == pytest.approx(4e5, rel=0.01)


def test_a_random_graph_says_whether_it_is_connected():
    dense = topologies.random_graph(60, 0.2, seed=1)
    assert dense.is_connected and dense.remarks == ()
    sparse = topologies.random_graph(60, 0.01, seed=1)
    assert not sparse.is_connected
    assert any("falls into" in note for note in sparse.remarks)


def test_a_users_matrix_has_a_row_for_each_receiver():
    found = topologies.from_matrix(csr_array([[0, 2.5, 0], [0, 0, 0], [1, 0, 0]]))
    assert edges(found) == {(1, 0), (0, 2)}
    assert found.weight.tolist() == [2.5, 1.0]


def test_a_users_matrix_with_a_diagonal_is_refused():
    with pytest.raises(ModelError, match="rank 1 would receive from itself; leave such edges out"):
        topologies.from_matrix(np.eye(3, k=1) + np.diag([0, 1, 0]))


def test_a_users_matrix_that_is_not_square_is_refused():
    with pytest.raises(ModelError, match=r"shape \(2, 3\); give a row and a column for each rank"):
        topologies.from_matrix(np.ones((2, 3)))


def test_edges_with_one_in_the_other_direction_are_known():
    found = topology(4, [1, 0, 2, 3], [0, 1, 1, 0])  # sorted: 0 from 1, 1 from 0, 2 from 1, 3 from 0
    assert found.answered.tolist() == [True, True, False, False]


def test_isolated_ranks_are_reported():
    found = topology(5, [1, 2], [0, 1])
    assert found.isolated.tolist() == [3, 4]
    (note,) = found.remarks
    assert "no edge begins or ends at ranks 3 and 4 (of 5), so nothing couples them" in note
    assert "leave them out, or add edges" in note


def test_groups_without_edges_between_them_are_reported():
    (note,) = topology(4, [1, 3], [0, 2]).remarks
    assert "falls into 2 groups" in note


def test_an_open_chain_has_nothing_to_tell():
    assert topologies.chain(18).remarks == ()


@pytest.mark.parametrize("make", [topologies.chain, topologies.ring, topologies.all_to_all])
def test_one_rank_is_refused(make):
    with pytest.raises(ModelError, match="2 ranks or more to couple, but n = 1; give more"):
        make(1)


def test_a_topology_without_edges_is_refused():
    with pytest.raises(ModelError, match="give at least one edge"):
        topology(4, [], [])
    with pytest.raises(ModelError, match="give at least one edge"):
        topologies.chain(3, distance=5)


def test_a_self_loop_is_refused():
    with pytest.raises(ModelError, match="rank 2 would receive from itself; leave such edges out"):
        topology(3, [1, 2], [0, 2])


def test_an_edge_that_comes_twice_is_refused():
    with pytest.raises(ModelError, match="the edge 0 -> 1 comes twice; add up its weights first"):
        topology(3, [1, 1], [0, 0])


def test_a_rank_that_does_not_exist_is_refused():
    with pytest.raises(ModelError, match="a rank outside 0 to 2"):
        topology(3, [3], [0])


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(ModelError, match="2 receivers, 2 senders and 1 weights do not fit"):
        topology(3, [1, 2], [0, 1], [1.0])
    with pytest.raises(ModelError, match="the weight of the edge 1 -> 2 is nan; give finite numbers"):
        topology(3, [1, 2], [0, 1], [1.0, np.nan])


def test_a_random_graph_refuses_what_is_no_probability():
    with pytest.raises(ModelError, match="probability = 0 is not a probability"):
        topologies.random_graph(5, 0, seed=1)


def test_a_mesh_refuses_axes_that_do_not_fit():
    with pytest.raises(ModelError, match="periodic has 1 values, but the mesh has 2 axes"):
        topologies.mesh((2, 2), periodic=[True])
    with pytest.raises(ModelError, match=r"shape \(0, 3\) has no ranks"):
        topologies.mesh((0, 3))
