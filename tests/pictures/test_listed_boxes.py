# SPDX-License-Identifier: BSD-3-Clause
"""Boxes in space that a table lists."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import fake_run
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.shown_mesh import mesh_of, shown_pieces


@pytest.fixture
def run(tmp_path):
    """Two ranks."""
    return fake_run.FakeRun(tmp_path, ranks=2)


def table(path, *lines, head="rank, x0, x1, y0, y1, z0, z1, level"):
    """A table of boxes."""
    path = path / "boxes.csv"
    path.write_text("\n".join([head, *lines]))
    return path


def test_each_rank_has_its_boxes_with_further_columns_as_fields(run, tmp_path):
    path = table(tmp_path, "1, 0, 2, 0, 1, 0, 1, 0", "0, 2, 4, 0, 1, 0, 1, 1", "1, 4, 5, 0, 1, 0, 1, 2")
    pieces, notes = shown_pieces(run, path)
    assert (pieces.way, notes) == ("boxes from boxes.csv", [])
    boxes = [[box.GetBounds()[:2] for _, box in pieces.blocks(rank, None)] for rank in range(2)]
    assert boxes == [[(2, 4)], [(0, 2), (4, 5)]]
    levels = [vtk_to_numpy(box.GetCellData().GetArray("level")) for _, box in pieces.blocks(1, None)]
    assert [level.tolist() for level in levels] == [[0], [2]]
    assert levels[0].dtype == np.int32  # so that legends have whole numbers


def test_columns_with_fractions_and_large_numbers_keep_them(run, tmp_path):
    path = table(tmp_path, "0,0,2,0,1,0.5,3e9", "1,2,4,0,1,1,1", head="rank,x0,x1,y0,y1,load,cells")
    ((_, box),) = shown_pieces(run, path)[0].blocks(0, None)
    assert [box.GetCellData().GetArray(name).GetTuple1(0) for name in ("load", "cells")] == [0.5, 3e9]


def test_boxes_may_be_flat_and_ranks_without_one_are_named(run, tmp_path):
    path = table(tmp_path, "0,0,2,0,1", head="rank,x0,x1,y0,y1")
    pieces, notes = shown_pieces(run, path)
    ((_, box),) = pieces.blocks(0, None)
    assert box.GetBounds() == (0, 2, 0, 1, 0, 0) and box.GetNumberOfCells() == 1
    assert pieces.blocks(1, None) == [] and notes == ["boxes.csv has no box of 1 rank: 1."]


def test_boxes_are_no_mesh_whose_cells_count(run, tmp_path):
    with pytest.raises(MeshMissingError, match=r"boxes from boxes\.csv have no cells"):
        mesh_of(run, table(tmp_path, "0,0,2,0,1,0,1,0"))


@pytest.mark.parametrize(
    ("lines", "head", "words"),
    [
        (["0,0,1"], "rank,x0,x1", "has the columns rank, x0, x1; expected a table"),
        ([], "", "has the columns none"),
        ([], "rank,x0,x1,y0,y1", "lists no box"),
        (["2,0,1,0,1"], "rank,x0,x1,y0,y1", "does not have .2.; it has the ranks 0 to 1"),
        (["1e300,0,1,0,1"], "rank,x0,x1,y0,y1", "line 2 of .*whole number"),
        (["0,0,1,0,1", "0,1,0,0,1"], "rank,x0,x1,y0,y1", "line 3 of .*x0 <= x1"),
        (["0,0,1,0"], "rank,x0,x1,y0,y1", "line 2 of .* has not one number"),
        (["0,0,1,0,1,9"], "rank,x0,x1,y0,y1", "line 2 of .* has not one number"),
        (["0,0,nan,0,1"], "rank,x0,x1,y0,y1", "line 2 of .* has not one number"),
        (["0,0,1,0,one"], "rank,x0,x1,y0,y1", "line 2 of .* has not one number"),
    ],
)
def test_a_table_that_cannot_be_used_is_named_with_its_line(run, tmp_path, lines, head, words):
    from perfield.pictures.pieces import choose_pieces

    with pytest.raises(MeshMissingError, match=words):
        choose_pieces(run, table(tmp_path, *lines, head=head))
