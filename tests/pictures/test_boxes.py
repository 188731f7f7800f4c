# SPDX-License-Identifier: BSD-3-Clause
"""Boxes in the place of a mesh that nobody knows."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import fake_run
from known_runs.foam_cases import write_case
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.boxes import boxes_by_grid, boxes_by_messages, in_blocks
from perfield.pictures.geometry_picture import GeometryOptions, geometry, ranks_without_mesh
from perfield.pictures.shown_mesh import shown_pieces
from perfield.run.collectives import Communicator

ROW = "boxes of a row of 4 ranks, guessed from messages"
GUESS = (
    "The grid is a guess: 100 % of the bytes pass between its neighbours. --grid states another, as "
    "--grid 4x2x2."
)


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
    assert pieces.way == ROW
    assert notes == [
        "no rank described a mesh, and none was found or named (--mesh PATH), so ranks are boxes.",
        GUESS,
    ]
    places = middles(pieces, run)
    assert np.allclose(np.diff(places, axis=0), [1, 0, 0])  # they send in a row


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


def test_ranks_without_messages_have_no_box_and_that_is_reported(tmp_path):
    run = without_mesh(tmp_path, ranks=5)
    for frame in run.frames():
        frame.messages = frame.messages[:2]
    pieces, notes = shown_pieces(run)
    assert notes[2] == "2 ranks of 5 have no box (3, 4), as they exchanged no messages."
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


def test_a_mesh_that_cannot_be_used_is_reported_before_boxes_are_shown(tmp_path):
    (tmp_path / "m.vtu").write_text("nothing")
    pieces, notes = shown_pieces(without_mesh(tmp_path), tmp_path / "m.vtu")
    assert pieces.way == ROW
    assert "m.vtu" in notes[0] and notes[0].endswith(f"Shown instead: {ROW}.")


def test_a_case_beside_the_run_that_does_not_fit_is_reported(tmp_path):
    write_case(tmp_path, ranks=2)
    _, notes = shown_pieces(without_mesh(tmp_path))
    assert "holds 2 pieces, but the run has 4 ranks" in notes[0] and "Shown instead: boxes" in notes[0]


def grid(dims, members=None, periodic=None, name=1):
    """A Cartesian communicator; its members are the first ranks of the world, in order."""
    size = int(np.prod(dims))
    members = np.arange(size) if members is None else np.asarray(members)
    periodic = periodic or (False,) * len(dims)
    return Communicator(name, size, np.arange(size), members, "", "", tuple(dims), tuple(periodic))


def with_grids(path, ranks, *grids):
    """A run without a mesh whose ranks made these grids."""
    run = without_mesh(path, ranks)
    run.grids = list(grids)
    return run


def test_boxes_are_placed_as_the_grid_of_ranks(tmp_path):
    run = with_grids(tmp_path, 6, grid((3, 2), members=[5, 4, 3, 2, 1, 0], periodic=(True, False)))
    pieces, notes = shown_pieces(run)
    assert pieces.way == "boxes of a grid of 3 x 2 ranks (MPI_Cart_create), periodic in x"
    assert notes == [
        "no rank described a mesh, and none was found or named (--mesh PATH), so ranks are boxes."
    ]
    places = middles(pieces, run)
    assert np.allclose(places[5], [0, 0, 0]) and np.allclose(places[4], [0, 1, 0])
    assert np.allclose(places[0], [2, 1, 0])


@pytest.mark.parametrize(
    ("dims", "flat"),
    [((4,), 2), ((2, 2), 2), ((2, 1, 2), 1), ((1, 2, 2), 0), ((2, 2, 2), None), ((4, 1, 1), 2)],
)
def test_boxes_are_flat_across_a_plane_of_ranks(tmp_path, dims, flat):
    run = with_grids(tmp_path, int(np.prod(dims)), grid(dims))
    ((_, box),) = boxes_by_grid(run).blocks(0, None)
    sizes = np.ptp(np.reshape(box.GetBounds(), (3, 2)), axis=1)
    assert [axis for axis in range(3) if sizes[axis] < 0.5] == ([] if flat is None else [flat])


@pytest.mark.parametrize(("dims", "size"), [((101,), (0.6, 25, 0.2)), ((1, 101, 1), (25, 0.6, 0.2))])
def test_boxes_of_a_long_row_are_strips_across_it(tmp_path, dims, size):
    ((_, box),) = boxes_by_grid(with_grids(tmp_path, 101, grid(dims))).blocks(100, None)
    assert box.GetSpacing() == pytest.approx(size)


def test_axes_beyond_the_third_repeat_the_block_beside_itself(tmp_path):
    dims = (2, 2, 2, 3, 2)
    run = with_grids(tmp_path, 48, grid(dims, periodic=(False, False, False, True, False)))
    pieces, notes = shown_pieces(run)
    assert pieces.way.endswith("2 x 2 x 2 x 3 x 2 ranks (MPI_Cart_create), periodic in axis 3")
    assert "The grid has 5 axes" in notes[1]
    places = middles(pieces, run)
    assert len(np.unique(places.round(6), axis=0)) == 48
    coordinates = np.array([[1, 0, 1, 2, 1]])
    assert in_blocks(coordinates, dims).tolist() == [[1 + 2 * 3, 0 + 1 * 3, 1]]


def test_the_largest_grid_counts_and_of_several_the_first(tmp_path):
    row, first, second = grid((2,), name=1), grid((2, 2), name=2), grid((4, 1), name=3)
    assert "2 x 2" in boxes_by_grid(with_grids(tmp_path, 4, row, first, second)).way


def test_ranks_outside_of_the_grid_have_no_box_and_are_named(tmp_path):
    run = with_grids(tmp_path, 5, grid((2, 2), members=[4, 2, 1, 0]))
    pieces, notes = shown_pieces(run)
    assert notes[1] == "1 rank of 5 has no box (3), as it got no place in that grid."
    assert ranks_without_mesh(run, run.frame(0), pieces) == [3]


def test_a_grid_of_less_than_half_of_the_ranks_is_no_picture_of_all(tmp_path):
    run = with_grids(tmp_path, 5, grid((2,)))
    with pytest.raises(MeshMissingError, match=r"no grid of ranks .* has at least half of the ranks"):
        boxes_by_grid(run)
    assert shown_pieces(run)[0].way == ROW.replace("4", "5")


@pytest.mark.parametrize("by_setting", [False, True])
def test_boxes_can_be_had_in_the_place_of_any_mesh(tmp_path, by_setting):
    run = fake_run.FakeRun(tmp_path, ranks=4)  # described its mesh
    if by_setting:
        run.info["configuration"] = {"mesh_path": "boxes"}
    pieces, notes = shown_pieces(run, None if by_setting else "boxes")
    assert (pieces.way, notes) == (ROW, [GUESS])


def with_halo(path, dims, order="xyz"):
    """A run whose ranks exchange a message across each face of a grid; they count along the order."""
    run = without_mesh(path, int(np.prod(dims)))
    axes = ["xyz".index(letter) for letter in order]
    ranks = np.arange(run.n_ranks).reshape([dims[axis] for axis in axes], order="F")
    ranks = np.transpose(ranks, [axes.index(axis) for axis in range(len(dims))])
    ends = [
        (np.take(ranks, range(n - 1), axis).ravel(), np.take(ranks, range(1, n), axis).ravel())
        for axis, n in enumerate(dims)
    ]
    source, target = (np.concatenate(some) for some in zip(*ends))
    for frame in run.frames():
        messages = np.zeros(len(source), frame.messages.dtype)
        messages["source"], messages["target"], messages["bytes"], messages["count"] = source, target, 1000, 1
        frame.messages = messages
    return run


def test_a_halo_in_three_dimensions_looks_like_its_block(tmp_path):
    run = with_halo(tmp_path, (3, 2, 2))
    pieces, notes = shown_pieces(run)
    assert pieces.way == "boxes of a grid of 3 x 2 x 2 ranks, guessed from messages"
    assert "The grid is a guess: 100 %" in notes[1]
    assert np.allclose(middles(pieces, run)[[1, 3, 6]], np.eye(3))


def test_a_stated_grid_takes_the_order_that_fits_the_messages_and_says_so(tmp_path):
    run = with_halo(tmp_path, (4, 3, 2), "zyx")
    pieces, notes = shown_pieces(run, "boxes:4x3x2,periodic=x")
    assert pieces.way == "boxes of a grid of 4 x 3 x 2 ranks as stated, ranks along z first, periodic in x"
    assert "along z first (zyx), as then 100 % of the bytes" in notes[0]
    assert np.allclose(middles(pieces, run)[[1, 2, 6]], np.eye(3)[::-1])
    pieces, notes = shown_pieces(run, "boxes:4x3x2,order=xyz")
    assert np.allclose(middles(pieces, run)[[1, 4, 12]], np.eye(3)) and notes == []


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ("3x2", "has 6 ranks, but the run has 4"),
        ("2y2", "is not a grid of ranks"),
        ("2x2,order=xz", "is not a grid of ranks"),
        ("4,periodic=y", "is not a grid of ranks"),
        ("0x4", "is not a grid of ranks"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(tmp_path, grid, words):
    with pytest.raises(MeshMissingError, match=words):
        shown_pieces(without_mesh(tmp_path), f"boxes:{grid}")


def test_a_wrong_grid_in_the_settings_of_a_run_is_reported_before_boxes_are_shown(tmp_path):
    run = without_mesh(tmp_path)
    run.info["configuration"] = {"mesh_path": "boxes:3x2"}
    pieces, notes = shown_pieces(run)
    assert pieces.way == ROW and notes[0].startswith("the grid 3x2 has 6 ranks")
