# SPDX-License-Identifier: BSD-3-Clause
"""The boxes of AMReX plotfiles."""

from __future__ import annotations

import shutil

import pytest
from known_runs import fake_run
from known_runs.plotfiles import HEADER, write_plotfile
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.shared_faces import faces_between
from perfield.pictures.shown_mesh import shown_pieces


@pytest.fixture
def plotfile(tmp_path):
    """A plotfile of two ranks."""
    return write_plotfile(tmp_path / "plt00010")


def boxes(pieces, rank):
    """Left, right, low, high and level of a rank's boxes."""
    return {
        (*box.GetBounds()[:4], vtk_to_numpy(box.GetCellData().GetArray("level"))[0])
        for _, box in pieces.blocks(rank, None)
    }


def test_levels_are_boxes_where_no_finer_one_covers_them(plotfile, tmp_path):
    pieces, notes = shown_pieces(fake_run.FakeRun(tmp_path, ranks=2), plotfile)
    assert (pieces.way, notes) == ("boxes from plt00010", [])
    assert boxes(pieces, 0) == {(0, 0.25, 0, 0.5, 0), (0.25, 0.5, 0, 0.125, 0), (0.25, 0.5, 0.375, 0.5, 0)}
    right = {(0.75, 1, 0, 0.5, 0), (0.5, 0.75, 0, 0.125, 0), (0.5, 0.75, 0.375, 0.5, 0)}
    assert boxes(pieces, 1) == {*right, (0.25, 0.75, 0.125, 0.375, 1)}


def test_boxes_of_different_levels_meet_in_faces(plotfile, tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2)
    faces = faces_between(2, run.frame(0), shown_pieces(run, plotfile)[0])
    xs, ys = faces.points[:, 0].tolist(), faces.points[:, 1].tolist()
    assert {(0.25, 0.125), (0.25, 0.375), (0.5, 0.125), (0.5, 0.0)} <= set(zip(xs, ys))
    assert len(faces.sizes) == 5, "two below and above, three sides of the fine box"


def test_fewer_files_than_ranks_do_not_say_whose_a_box_is(plotfile, tmp_path):
    with pytest.raises(MeshMissingError, match=r"files up to number 1, but the run has 4 ranks.*nfiles = -1"):
        pieces_of(plotfile, tmp_path, 4)


def pieces_of(plotfile, tmp_path, ranks):
    """What `choose_pieces` makes of the plotfile, without falling back to boxes."""
    from perfield.pictures.pieces import choose_pieces

    return choose_pieces(fake_run.FakeRun(tmp_path, ranks=ranks), plotfile)


def test_plotfile_of_more_ranks_is_of_another_run(plotfile, tmp_path):
    with pytest.raises(MeshMissingError, match="is of another run"):
        pieces_of(plotfile, tmp_path, 1)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("Header", "2\n0.25", "4\n0.25"),
        ("Header", "0.25\n1\n", "0.25\n99\n"),
        ("Header", "0.03125 0.03125", "nan 0.03125"),
        ("Header", HEADER[60:], ""),
        ("Level_0/Cell_H", "(15,7)", "(15,7,7)"),
        ("Level_0/Cell_H", "(15,7)", "(7,7)"),
        ("Level_0/Cell_H", "FabOnDisk: Cell_D_00001 0", ""),
        ("Level_0/Cell_H", "(15,7)", "(99999999999999,7)"),
    ],
)
def test_damaged_plotfile_costs_a_sentence(plotfile, tmp_path, file, old, new):
    text = (plotfile / file).read_text()
    assert old in text
    (plotfile / file).write_text(text.replace(old, new, 1))
    with pytest.raises(MeshMissingError, match="plt00010"):
        pieces_of(plotfile, tmp_path, 2)


def test_missing_level_costs_a_sentence(plotfile, tmp_path):
    shutil.rmtree(plotfile / "Level_1")
    with pytest.raises(MeshMissingError, match="plt00010 cannot be read"):
        pieces_of(plotfile, tmp_path, 2)
