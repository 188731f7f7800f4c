# SPDX-License-Identifier: BSD-3-Clause
"""Neighbours on the mesh."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from known_runs.fake_run import FakeRun
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkStructuredGrid

from perfield.pictures.neighbours import MOST_PIECES, neighbours, touching
from perfield.pictures.pieces import choose_pieces


def pairs(keys: np.ndarray) -> set[tuple[int, int]]:
    assert (np.diff(keys) > 0).all(), "ascending, each once"
    return set(zip((keys >> 32).tolist(), (keys & 0xFFFFFFFF).tolist()))


def grid(low, high, cells) -> vtkStructuredGrid:
    """A box with so many cells along each axis."""
    axes = [np.linspace(a, b, n + 1) for a, b, n in zip(low, high, cells)]
    z, y, x = np.meshgrid(*axes[::-1], indexing="ij")
    points = vtkPoints()
    points.SetData(numpy_to_vtk(np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1), deep=True))
    made = vtkStructuredGrid()
    made.SetDimensions(*(n + 1 for n in cells))
    made.SetPoints(points)
    return made


def of(*datasets) -> set[tuple[int, int]]:
    """The neighbours among pieces, of which rank n has dataset n; without each rank itself."""
    source = SimpleNamespace(blocks=lambda rank, frame: [(0, datasets[rank])] if datasets[rank] else [])
    found = pairs(neighbours(source, len(datasets), None))
    return {(one, other) for one, other in found if one != other}


@pytest.mark.parametrize("kind", ["unstructured", "structured", "rectilinear", "image"])
def test_pieces_in_a_row_touch_the_next_ones(tmp_path, kind):
    run = FakeRun(tmp_path, ranks=4, kind=kind)
    found = pairs(neighbours(choose_pieces(run), 4, run.frame(0)))
    assert found == {(a, b) for a in range(4) for b in range(4) if abs(a - b) <= 1}


def test_pieces_that_own_neighbouring_points_are_neighbours_and_farther_ones_are_not():
    one = grid((0, 0, 0), (1, 1, 1), (4, 4, 4))
    assert of(one, grid((1.25, 0, 0), (2, 1, 1), (3, 4, 4))) == {(0, 1), (1, 0)}
    assert of(one, grid((1.6, 0, 0), (2, 1, 1), (2, 4, 4))) == set()


def test_pieces_that_meet_at_a_corner_are_neighbours():
    assert of(grid((0, 0, 0), (1, 1, 1), (2, 2, 2)), grid((1, 1, 1), (2, 2, 2), (2, 2, 2))) == {
        (0, 1),
        (1, 0),
    }


def test_a_piece_in_the_box_of_another_need_not_touch_it():
    bent = grid((0, 0, 0), (1, 1, 0), (20, 1, 0))
    arc = np.array([bent.GetPoint(n) for n in range(bent.GetNumberOfPoints())])
    angle, radius = arc[:, 0] * np.pi, 8 + arc[:, 1]
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), arc[:, 2]], axis=1)
    bent.GetPoints().SetData(numpy_to_vtk(points, deep=True))
    inside = grid((-1, 2, 0), (1, 3, 0), (4, 2, 0))
    assert of(bent, inside) == set()


def test_flat_cells_reach_only_as_far_as_they_are_thick():
    layer = grid((0, 0, 0), (10, 10, 0.1), (10, 10, 1))
    assert of(layer, grid((0, 0, 0.15), (10, 10, 0.25), (10, 10, 1))) == {(0, 1), (1, 0)}
    assert of(layer, grid((0, 0, 0.5), (10, 10, 0.6), (10, 10, 1))) == set()


def test_ranks_without_a_mesh_have_no_neighbours():
    assert of(None, grid((0, 0, 0), (1, 1, 1), (1, 1, 1)), None) == set()
    assert of(None, None) == set()


def test_pieces_of_a_run_that_touch_are_pairs_in_both_directions(tmp_path):
    found, why_not = touching(FakeRun(tmp_path, ranks=4, kind="image"))
    assert found.pairs.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2]]
    assert why_not == "" and found.boxes.shape == (4, 2, 3)
    assert (found.boxes[1:, 0, 0] == found.boxes[:-1, 1, 0]).all() and (
        found.boxes[:, 0] <= found.boxes[:, 1]
    ).all()


def test_a_run_without_a_mesh_or_steps_has_no_neighbours(tmp_path):
    run = FakeRun(tmp_path, ranks=2, steps=1)
    run.frame(0).mesh_version[:] = 0
    assert touching(run) == (None, "")
    assert touching(FakeRun(tmp_path, ranks=2, steps=0)) == (None, "")


def test_meshes_of_too_many_ranks_are_left_out_and_reported(tmp_path):
    run = FakeRun(tmp_path, ranks=1, kind="image")
    run.n_ranks = MOST_PIECES + 1
    nothing, why_not = touching(run)
    assert nothing is None
    assert why_not.startswith("Nobody looked which pieces of the mesh touch: 2,049 ranks have ")


def test_a_damaged_mesh_has_no_neighbours_and_says_why(tmp_path):
    run = FakeRun(tmp_path, ranks=2, kind="unstructured")
    for blocks in run.meshes.values():
        for block in blocks:
            block.kind = "knot"
    nothing, why_not = touching(run)
    assert nothing is None
    assert why_not.startswith("Which pieces of the mesh touch is unknown: block 0 is of kind 'knot'")
