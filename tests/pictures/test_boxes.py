# SPDX-License-Identifier: BSD-3-Clause
"""Boxes in the place of a mesh that nobody knows."""

from __future__ import annotations

import fake_run
import numpy as np
import pytest
from foam_cases import write_case
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.boxes import boxes_by_messages
from perfield.pictures.geometry_picture import GeometryOptions, geometry, ranks_without_mesh
from perfield.pictures.shown_mesh import shown_pieces


def without_mesh(path, ranks=4, steps=3):
    """A run of ranks in a row that described no mesh."""
    run = fake_run.FakeRun(path, ranks=ranks, steps=steps)
    for frame in run.frames():
        frame.mesh_version[:] = 0
    return run


def middles(pieces, run, frame=None):
    """The middle of each rank's box."""
    boxes = [pieces.blocks(rank, frame) for rank in range(run.n_ranks)]
    return np.array([np.reshape(box[0][1].GetBounds(), (3, 2)).mean(axis=1) for box in boxes if box])


def test_ranks_of_a_run_without_a_mesh_are_boxes_placed_by_messages(tmp_path):
    run = without_mesh(tmp_path)
    pieces, notes = shown_pieces(run)
    assert pieces.way == "boxes placed by messages, not by space"
    assert notes == [
        "no rank described a mesh, and none was named (--mesh PATH), so ranks are boxes placed by "
        "messages, not by space."
    ]
    places = middles(pieces, run)
    assert np.allclose(np.diff(places, axis=0), [1, 0, 0], atol=0.05)  # they send in a row


def test_boxes_stay_where_they_are_while_messages_change(tmp_path):
    run = without_mesh(tmp_path)
    run.frame(2).messages["target"][:] = [2, 3, 0]
    pieces = boxes_by_messages(run)
    assert np.array_equal(middles(pieces, run, run.frame(0)), middles(pieces, run, run.frame(2)))


def test_messages_of_all_steps_count(tmp_path):
    run = without_mesh(tmp_path, ranks=3, steps=2)
    run.frame(0).messages["bytes"] = [10, 1000]
    run.frame(1).messages["target"][:] = [2, 0]  # 0-2 and 1-0
    run.frame(1).messages["bytes"] = [1000, 10]
    places = middles(boxes_by_messages(run), run)
    ends = np.linalg.norm(places[[0, 1, 0]] - places[[2, 2, 1]], axis=1)
    assert ends[2] > 1.5 * max(ends[:2])  # 0 and 1 talk to 2, and next to nothing to each other


def test_ranks_without_messages_have_no_box_and_that_is_told(tmp_path):
    run = without_mesh(tmp_path, ranks=5)
    for frame in run.frames():
        frame.messages = frame.messages[:2]
    pieces, notes = shown_pieces(run)
    assert notes[1] == "2 ranks of 5 have no box (3, 4), as they exchanged no messages."
    assert ranks_without_mesh(run, run.frame(0), pieces) == [3, 4]


def test_a_run_without_messages_has_no_boxes(tmp_path):
    run = without_mesh(tmp_path)
    for frame in run.frames():
        frame.messages = frame.messages[:0]
    with pytest.raises(MeshMissingError, match="sent a message to another, so nothing says"):
        boxes_by_messages(run)
    with pytest.raises(MeshMissingError, match=r"no rank .* described a mesh.*--mesh PATH"):
        shown_pieces(run)


def test_a_box_is_no_cell_so_nothing_is_per_cell(tmp_path):
    run = without_mesh(tmp_path)
    pieces, _ = shown_pieces(run)
    picture = geometry(run, run.frame(1), GeometryOptions(pieces, "cell"))
    data = picture.GetBlock(2).GetCellData()
    assert vtk_to_numpy(data.GetArray("compute_time_s")).tolist() == [
        run.frame(1).values["compute_time_s"][2]
    ]
    assert np.isnan(vtk_to_numpy(data.GetArray("compute_time_per_cell_s"))).all()


def test_a_mesh_that_cannot_be_used_is_told_before_boxes_are_shown(tmp_path):
    (tmp_path / "m.vtu").write_text("nothing")
    pieces, notes = shown_pieces(without_mesh(tmp_path), tmp_path / "m.vtu")
    assert pieces.way.startswith("boxes placed by messages")
    assert "m.vtu" in notes[0] and notes[0].endswith("Shown instead: boxes placed by messages, not by space.")


def test_a_case_beside_the_run_that_does_not_fit_is_told(tmp_path):
    write_case(tmp_path, ranks=2)
    _, notes = shown_pieces(without_mesh(tmp_path))
    assert "holds 2 pieces, but the run has 4 ranks" in notes[0] and "Shown instead: boxes" in notes[0]
