# SPDX-License-Identifier: BSD-3-Clause
"""The faces between pieces of different ranks, and the messages on them."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import fake_run
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures import shared_faces
from perfield.pictures.boxes import Boxes
from perfield.pictures.line_choice import LineChoice
from perfield.pictures.piece_messages import PieceMessages
from perfield.pictures.pieces import StoredPieces
from perfield.pictures.shared_faces import SharedFaces, faces_between

KINDS = ("image", "rectilinear", "structured", "unstructured")


def faces_of(run: fake_run.FakeRun) -> shared_faces.Faces:
    """The faces of a fake run's first frame."""
    run.mesh = lambda rank, version: run.meshes[rank]
    run.fields = lambda rank, index: {}
    return faces_between(run.n_ranks, run.frame(0), StoredPieces(run))


def area(faces: shared_faces.Faces) -> dict[tuple[int, int], float]:
    """The area of the faces between each pair of ranks; of lines, their length."""
    found: dict[tuple[int, int], float] = {}
    points = np.split(faces.points.astype(float), np.cumsum(faces.sizes)[:-1])
    for pair, corners in zip(map(tuple, faces.ranks.tolist()), points if len(faces.sizes) else []):
        fan = [np.cross(a - corners[0], b - corners[0]) for a, b in zip(corners[1:], corners[2:])]
        size = np.linalg.norm(np.sum(fan, axis=0)) / 2 if fan else np.linalg.norm(corners[1] - corners[0])
        found[pair] = found.get(pair, 0.0) + float(size)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_cubes_in_a_row_meet_in_whole_sides(tmp_path, kind):
    found = faces_of(fake_run.FakeRun(tmp_path, ranks=3, kind=kind))
    assert area(found) == {(0, 1): pytest.approx(1.0), (1, 2): pytest.approx(1.0)}
    assert set(found.points[:, 0].tolist()) == {1.0, 2.0}


def test_a_coarse_side_meets_the_finer_one_in_its_cells(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2)
    run.meshes[0] = [fake_run.cube(0, "unstructured", 2)]
    run.meshes[1] = [fake_run.cube(1, "unstructured", 4)]
    found = faces_of(run)
    assert area(found) == {(0, 1): pytest.approx(1.0)}
    assert len(found.sizes) == 16, "the finer side is drawn"


@pytest.mark.parametrize("kind", ["image", "unstructured"])
def test_pieces_a_cell_apart_meet_and_further_ones_do_not(tmp_path, kind):
    for apart, n_pairs in ((1.0, 1), (1.5, 0)):
        run = fake_run.FakeRun(tmp_path, ranks=2, kind=kind)
        block = run.meshes[1][0]
        if kind == "image":
            block.origin = [apart / 3, 0.0, 0.0]
        else:
            block.points = block.points + np.array([apart / 3, 0.0, 0.0])
        assert len(area(faces_of(run))) == n_pairs, apart


@pytest.mark.parametrize("kind", ["image", "structured"])
def test_ghost_cells_do_not_hide_the_side_below_them(tmp_path, kind):
    run = fake_run.FakeRun(tmp_path, ranks=2, kind=kind)
    ghosts = np.zeros((3, 3, 4), np.uint8)
    ghosts[:, :, 3] = 1  # rank 0 also holds the first cells of rank 1
    if kind == "image":
        wide = fake_run.FakeBlock(0, kind, [0, 4, 0, 3, 0, 3], origin=[0.0] * 3, spacing=[1 / 3] * 3)
    else:
        z, y, x = np.meshgrid(*[np.linspace(0, 1, 4)] * 2, np.arange(5) / 3, indexing="ij")
        points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
        wide = fake_run.FakeBlock(0, kind, [0, 4, 0, 3, 0, 3], points=points)
    wide.ghosts["cell"] = ghosts.ravel()
    run.meshes[0] = [wide]
    found = faces_of(run)
    assert area(found) == {(0, 1): pytest.approx(1.0)}
    np.testing.assert_allclose(found.points[:, 0], 1.0, rtol=1e-6)


@pytest.mark.parametrize("kind", ["image", "unstructured"])
def test_flat_pieces_meet_in_lines(tmp_path, kind):
    run = fake_run.FakeRun(tmp_path, ranks=2, kind=kind)
    for rank in range(2):
        if kind == "image":
            run.meshes[rank][0].extent[4:] = [0, 0]
        else:
            x, y = np.meshgrid(rank + np.linspace(0, 1, 3), np.linspace(0, 1, 3))
            points = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1)
            quads = np.array([[0, 1, 4, 3]]) + np.array([[0], [1], [3], [4]])
            block = fake_run.FakeBlock(0, kind, points=points, connectivity=quads.ravel())
            block.offsets, block.types = 4 * np.arange(5), np.array([9])
            run.meshes[rank] = [block]
    found = faces_of(run)
    assert set(found.sizes.tolist()) == {2}
    assert area(found) == {(0, 1): pytest.approx(1.0)}


def test_boxes_of_a_grid_meet_in_the_middle_of_the_gap(tmp_path):
    places = np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)])
    boxes = Boxes("boxes", lambda: places, (0.6, 0.6, 0.2), [])
    found = faces_between(4, fake_run.FakeRun(tmp_path).frame(0), boxes)
    assert sorted(area(found)) == [(0, 1), (0, 2), (1, 3), (2, 3)], "not across corners"
    assert list(area(found).values()) == pytest.approx([0.12] * 4)
    first = found.points[: found.sizes[0]]
    assert 0.5 in first[:, 0].round(6) or 0.5 in first[:, 1].round(6)


def test_faces_are_found_again_only_where_the_mesh_changed(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2)
    run.mesh = lambda rank, version: run.meshes[rank]
    run.fields = lambda rank, index: {}
    faces, frames = SharedFaces(run, StoredPieces(run)), [run.frame(n) for n in range(3)]
    frames[2].mesh_version = frames[2].mesh_version + 1
    found = [faces.at(frame) for frame in frames]
    assert found[0] is found[1] and found[2] is not found[1]


def test_too_many_faces_are_not_looked_for_and_words_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_faces, "MOST_FACES", 50)
    found = faces_of(fake_run.FakeRun(tmp_path, ranks=2))
    assert not len(found.ranks) and "too large to look for faces" in found.words


def messages_of(run: fake_run.FakeRun, rows, choice: LineChoice | None = None):
    """What the picture holds for messages (source, target, bytes)."""
    frame = run.frame(0)
    frame.messages = np.array([(a, b, "isend", 1, n, 0, n) for a, b, n in rows], dtype=fake_run.MESSAGE)
    run.mesh = lambda rank, version: run.meshes[rank]
    run.fields = lambda rank, index: {}
    return PieceMessages(run, StoredPieces(run), choice).of(frame)


def column(data, name):
    return vtk_to_numpy(data.GetCellData().GetArray(name)).tolist()


def test_faces_hold_the_bytes_of_both_directions_and_words_the_rest(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=4, cells=1, kind="unstructured")
    made = messages_of(run, [(0, 1, 100), (1, 0, 20), (2, 1, 40), (0, 3, 40), (2, 2, 7)])
    ends = list(zip(column(made, "lower_rank"), column(made, "higher_rank")))
    assert dict(zip(ends, column(made, "sent_bytes"))) == {(0, 1): 120, (1, 2): 40}
    assert dict(zip(ends, column(made, "largest_bytes"))) == {(0, 1): 100, (1, 2): 40}
    words = made.GetFieldData().GetAbstractArray("in_words")
    assert words.GetValue(0) == "20 % of the bytes pass between ranks whose pieces share no face"


def test_lines_show_messages_that_pass_no_face_and_those_that_were_chosen(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=4)
    assert column(messages_of(run, [(0, 1, 10), (0, 3, 100)]), "target") == [1, 3]
    chosen = LineChoice(senders=np.array([True, False, False, False]))
    assert column(messages_of(run, [(0, 1, 10), (1, 2, 10)], chosen), "target") == [1]


def test_frames_without_messages_draw_nothing_and_decide_nothing(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=3)
    run.mesh = lambda rank, version: run.meshes[rank]
    run.fields = lambda rank, index: {}
    frames = [run.frame(n) for n in range(2)]
    frames[0].messages = frames[0].messages[:0]
    messages = PieceMessages(run, StoredPieces(run))
    assert messages.of(frames[0]).GetNumberOfCells() == 0
    assert messages.of(frames[1]).GetNumberOfPolys() == 18
