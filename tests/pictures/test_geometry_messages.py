# SPDX-License-Identifier: BSD-3-Clause
"""Messages on the mesh: lines between pieces, and each rank's exchange with a focus rank."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import fake_run
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures.mesh_messages import POINTS_PER_LINE, focus_values, message_lines

CENTRES = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def frame_with(tmp_path, *rows):
    """A frame of three ranks with these messages: source, target, call, count, bytes."""
    frame = fake_run.FakeRun(tmp_path, ranks=3).frame(0)
    frame.messages = np.array([(*row, 0, row[4]) for row in rows], dtype=fake_run.MESSAGE)
    frame.values["put_count"] = frame.values["put_bytes"] = np.zeros(3)
    return frame


def column(lines, name):
    """A cell array of the lines."""
    return vtk_to_numpy(lines.GetCellData().GetArray(name)).tolist()


def test_calls_of_a_pair_share_a_line_with_separate_counts(tmp_path):
    frame = frame_with(tmp_path, (0, 1, "isend", 2, 20), (0, 1, "put", 3, 300), (1, 0, "isend", 1, 5))
    lines = message_lines(frame, CENTRES, np.ones(3))
    assert column(lines, "source") == [0, 1]
    assert column(lines, "target") == [1, 0]
    assert column(lines, "sent_count") == [5, 1]
    assert column(lines, "isend_bytes") == [20, 5]
    assert column(lines, "put_count")[0] == 3
    assert in_words(lines) == []
    assert np.isnan(column(lines, "put_count")[1])


def test_opposite_directions_bend_to_opposite_sides(tmp_path):
    frame = frame_with(tmp_path, (0, 1, "isend", 1, 1), (1, 0, "isend", 1, 1))
    lines = message_lines(frame, CENTRES, np.ones(3))
    middle = POINTS_PER_LINE // 2
    there, back = lines.GetPoint(middle), lines.GetPoint(POINTS_PER_LINE + middle)
    assert there[1] == pytest.approx(-back[1])
    assert abs(there[1]) > 0.05


def test_message_to_oneself_is_a_visible_loop(tmp_path):
    lines = message_lines(frame_with(tmp_path, (1, 1, "isend", 1, 1)), CENTRES, np.full(3, 2.0))
    bounds = lines.GetBounds()
    assert bounds[1] - bounds[0] > 0.2
    points = lines.GetCell(0).GetPoints()
    assert points.GetPoint(0) == pytest.approx((1, 0, 0))
    assert points.GetPoint(points.GetNumberOfPoints() - 1) == pytest.approx((1, 0, 0), abs=1e-6)


def test_messages_without_mesh_or_world_rank_draw_no_line(tmp_path):
    frame = frame_with(tmp_path, (0, 1, "isend", 1, 1), (0, 2, "isend", 1, 1), (0, -2, "isend", 1, 1))
    centres = CENTRES.copy()
    centres[2] = np.nan
    assert column(message_lines(frame, centres, np.ones(3)), "target") == [1]


def test_unknown_peers_become_one_stub_per_rank_on_mesh(tmp_path):
    rows = [(0, 1, "isend", 1, 1), (0, -3, "isend", 2, 20), (-3, 0, "put", 1, 5), (2, -3, "put", 1, 1)]
    centres = CENTRES.copy()
    centres[2] = np.nan
    lines = message_lines(frame_with(tmp_path, *rows), centres, np.ones(3))
    assert (column(lines, "source"), column(lines, "target")) == ([0, 0], [1, -3])
    assert column(lines, "sent_bytes") == [1, 25]
    stub = lines.GetCell(1).GetPoints()
    assert stub.GetPoint(0) == pytest.approx(centres[0])
    assert 0.05 < np.linalg.norm(stub.GetPoint(POINTS_PER_LINE - 1)) < 0.2


def radius(lines):
    """Radius of each line at its points."""
    return vtk_to_numpy(lines.GetPointData().GetArray("radius")).reshape(-1, POINTS_PER_LINE)


def in_words(lines):
    """What the lines leave out, as texts."""
    texts = lines.GetFieldData().GetAbstractArray("in_words")
    return [texts.GetValue(n) for n in range(texts.GetNumberOfValues())]


def test_lines_taper_to_the_receiver_and_grow_with_the_logarithm_of_bytes(tmp_path):
    frame = frame_with(tmp_path, (0, 1, "isend", 1, 1e3), (0, 2, "isend", 1, 1e5), (1, 2, "isend", 1, 1e7))
    sizes = np.array([1.0, 2.0, 30.0])
    few, more, many = radius(message_lines(frame, CENTRES, sizes))
    assert few[0] < more[0] < many[0] < 0.04 * 2, "the thickest line is thin beside the middle-sized piece"
    assert many[0] - more[0] == pytest.approx(more[0] - few[0], rel=1e-3)
    assert (np.diff(many) < 0).all()
    assert many[-1] < 0.3 * many[0]


def test_only_the_heaviest_lines_are_drawn_and_words_say_the_rest(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=16)
    frame = run.frame(0)
    rows = [(a, b, "isend", 1, 1000 if a else 1) for a in range(16) for b in range(16) if a != b]
    frame.messages = np.array([(*row, 0, row[4]) for row in rows], dtype=fake_run.MESSAGE)
    centres = np.random.default_rng(1).uniform(0, 1, (16, 3))
    lines = message_lines(frame, centres, np.ones(16))
    assert lines.GetNumberOfLines() == 200
    assert 0 not in column(lines, "source")
    assert in_words(lines) == ["200 of 240 lines drawn; the rest carry 11 % of the bytes"]


def test_frame_without_messages_keeps_line_arrays(tmp_path):
    some = message_lines(frame_with(tmp_path, (0, 1, "isend", 1, 1)), CENTRES, np.ones(3)).GetCellData()
    none = message_lines(frame_with(tmp_path), CENTRES, np.ones(3)).GetCellData()
    names = [[data.GetArrayName(n) for n in range(data.GetNumberOfArrays())] for data in (some, none)]
    assert names[0] == names[1]
    assert none.GetNumberOfTuples() == 0


def test_focus_arrays_cover_only_the_ranks_peers(tmp_path):
    frame = frame_with(tmp_path, (0, 1, "put", 4, 400), (1, 2, "put", 1, 0))
    values = focus_values(frame, [1], 3)
    np.testing.assert_equal(values["put_count_to_1"], [4, np.nan, np.nan])
    np.testing.assert_equal(values["put_bytes_to_1"], [400, np.nan, np.nan])
    np.testing.assert_equal(values["put_count_from_1"], [np.nan, np.nan, 1])
    np.testing.assert_equal(values["put_bytes_from_1"], [np.nan, np.nan, 0])
    assert np.isnan(values["isend_count_to_1"]).all()


def test_focus_arrays_say_what_arrived_by_receives(tmp_path):
    frame = frame_with(tmp_path)
    rows = [(1, 0, "recv", 2, 20), (1, 0, "irecv", 1, 5), (2, 0, "recv", 9, 9), (-3, 2, "recv", 1, 1)]
    frame.received = np.array([(*row, 0, row[4]) for row in rows], dtype=fake_run.MESSAGE)
    values = focus_values(frame, [1], 3)
    np.testing.assert_equal(values["received_count_from_1"], [3, np.nan, np.nan])
    np.testing.assert_equal(values["received_bytes_from_1"], [25, np.nan, np.nan])


def test_unknown_focus_rank_is_refused(tmp_path):
    with pytest.raises(ValueError, match="focus rank 3 is not in this run, which has ranks 0 to 2"):
        focus_values(frame_with(tmp_path), [3], 3)
