# SPDX-License-Identifier: BSD-3-Clause
"""The dual graph of a mesh: cells that share a side, across pieces too."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import fake_run

from perfield.balance.graph import divided, dual_graph
from perfield.balance.measured import BalanceError
from perfield.pictures.blocks import dataset_of


@pytest.mark.parametrize("kind", ["image", "rectilinear", "structured", "unstructured"])
def test_cubes_in_a_row_share_the_sides_of_a_grid(kind):
    graph = dual_graph([dataset_of(fake_run.cube(rank, kind, cells=3)) for rank in range(2)])
    assert graph.shape == (54, 54)
    assert graph.nnz == 2 * (5 * 9 + 2 * 6 * 6)  # sides across x, and across y and z
    assert (graph - graph.T).nnz == 0
    # The last cell in x of rank 0 touches the first one of rank 1; edges and corners do not count.
    assert graph.indices[graph.indptr[2] : graph.indptr[3]].tolist() == [1, 5, 11, 27]


def test_ghost_cells_are_left_out():
    block = fake_run.cube(0, "image", cells=2)
    block.ghosts = {"cell": np.array([0, 0, 0, 0, 1, 1, 1, 1])}
    graph = dual_graph([dataset_of(block)])
    assert graph.shape == (4, 4) and graph.nnz == 2 * 4


def test_flat_cells_share_edges():
    points = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [1, 1, 0], [0, 2, 0]], dtype=np.float32)
    block = fake_run.FakeBlock(0, "unstructured", points=points)
    block.connectivity = np.array([0, 1, 4, 3, 1, 2, 4, 3, 4, 5])
    block.offsets, block.types = np.array([0, 4, 7, 10]), np.array([9, 5, 5])
    graph = dual_graph([dataset_of(block)])
    assert np.argwhere(graph.toarray()).tolist() == [[0, 1], [0, 2], [1, 0], [2, 0]]


def test_solids_with_shells_are_refused():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    block = fake_run.FakeBlock(0, "unstructured", points=points)
    block.connectivity, block.offsets = np.array([0, 1, 2, 3, 0, 1, 2]), np.array([0, 4, 7])
    block.types = np.array([10, 5])
    with pytest.raises(BalanceError, match="the mesh has cells of dimensions 2, 3; a graph"):
        dual_graph([dataset_of(block)])


def test_kahip_divides_the_mesh_by_weights():
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    graph = dual_graph([dataset_of(fake_run.cube(rank, "image", cells=6)) for rank in range(2)])
    weights = np.repeat([1, 3], 216)
    loads = np.bincount(divided(graph, weights, 4), weights)
    assert len(loads) == 4 and loads.max() / loads.mean() < 1.05
