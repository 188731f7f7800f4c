# SPDX-License-Identifier: BSD-3-Clause
"""The exploded view: where its pieces go."""

from __future__ import annotations

import numpy as np
from known_runs import fake_run
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkFiltersGeneral import vtkWarpVector

from perfield.pictures.exploded import OFFSET, piece_offsets
from perfield.pictures.geometry_picture import GeometryOptions, geometry


def test_offsets_lead_away_from_the_middle_of_the_mesh():
    centres = np.array([[0.0, 1.0, 0.0], [4.0, 1.0, 0.0], [np.nan] * 3, [1.0, 3.0, 0.0]])
    offsets = piece_offsets(centres)
    assert offsets[[0, 1, 3]].tolist() == [[-2, -1, 0], [2, -1, 0], [-1, 1, 0]]
    assert np.isnan(offsets[2]).all()


def test_offsets_of_a_run_without_any_mesh_are_absent():
    assert np.isnan(piece_offsets(np.full((3, 3), np.nan))).all()


def test_a_single_piece_stays():
    assert piece_offsets(np.array([[5.0, 6.0, 7.0]])).tolist() == [[0, 0, 0]]


def test_warped_pieces_move_apart_and_keep_their_shape(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=3)
    second = fake_run.cube(9, "unstructured")
    second.block = 1
    run.meshes[2] = [fake_run.cube(2, "unstructured"), second]
    picture = geometry(run, run.frame(0), GeometryOptions(offsets=True))
    boxes = []
    for number in range(picture.GetNumberOfBlocks()):
        warp = vtkWarpVector()
        warp.SetInputData(picture.GetBlock(number))
        warp.SetInputArrayToProcess(0, 0, 0, 0, OFFSET)
        warp.SetScaleFactor(0.5)
        warp.Update()
        boxes.append(np.round(warp.GetOutput().GetBounds(), 5).tolist()[:2])
    # The middles are at 0.5, 1.5 and 6 (two blocks from 2 to 10); that of the mesh is at 3.25.
    assert boxes == [[-1.375, -0.375], [0.125, 1.125], [3.375, 4.375], [10.375, 11.375]]


def test_offsets_are_on_points_also_if_values_are_on_cells(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2)
    block = geometry(run, run.frame(0), GeometryOptions(association="cell", offsets=True)).GetBlock(1)
    vectors = vtk_to_numpy(block.GetPointData().GetArray(OFFSET))
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[0.5, 0, 0]] * 64
