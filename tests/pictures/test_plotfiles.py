# SPDX-License-Identifier: BSD-3-Clause
"""Plotfiles that a program wrote one after another: each step shows the one that holds then."""

from __future__ import annotations

import os

import numpy as np
import pytest
from known_runs import fake_run
from known_runs.plotfiles import write_plotfile

from perfield.output.picture_series import PictureSeries
from perfield.pictures.geometry_picture import GeometryOptions
from perfield.pictures.shown_mesh import shown_pieces

BEGIN, END = 1_000, 2_000  # seconds


@pytest.fixture
def run(tmp_path):
    """A run of two ranks from BEGIN to END whose three steps begin 1, 11 and 21 s later."""
    made = fake_run.FakeRun(tmp_path / "perfield-run", ranks=2)
    (tmp_path / "perfield-run").mkdir()
    made.info["working_directory"] = ".."
    made.realtime_ns = BEGIN * 10**9, END * 10**9
    for number, frame in enumerate(made.frames()):
        frame.mesh_version[:] = 0
        frame.time, frame.begin_s = np.nan, np.array([np.nan, 1.0 + 10 * number])
    return made


def written(path, at, **options):
    """A plotfile that was written some seconds after BEGIN."""
    os.utime(write_plotfile(path, **options) / "Header", (BEGIN + at, BEGIN + at))


@pytest.fixture
def series(tmp_path):
    """A mesh of one level, which is refined 15 s after BEGIN."""
    written(tmp_path / "plt00000", 0.5, time=0.0, levels=1)
    written(tmp_path / "plt00010", 15, time=0.25)


def levels(pieces, frame):
    """How many levels a frame shows."""
    shown = [pieces.blocks(rank, frame) for rank in range(2)]
    arrays = [block.GetCellData().GetArray("level") for blocks in shown for _, block in blocks]
    return len({array.GetValue(0) for array in arrays})


def test_a_step_shows_the_plotfile_that_was_written_before_it_began(series, run):
    pieces, _ = shown_pieces(run)
    assert pieces.way == "boxes from plt00000 to plt00010, written during the run"
    assert [levels(pieces, frame) for frame in run.frames()] == [1, 1, 2]
    assert pieces.mesh_times([np.nan] * 3, [1.0, 11.0, 21.0]) == [0.0, 0.0, 0.25]
    assert pieces.mesh_times([np.nan], [np.nan]) == [0.25], "nothing is known of the step"


def test_the_programs_own_times_come_first(series, run):
    for frame, time in zip(run.frames(), (0.0, 0.3, 0.4)):
        frame.time = time
    pieces, _ = shown_pieces(run)
    assert [levels(pieces, frame) for frame in run.frames()] == [1, 2, 2]
    assert pieces.older_times(run.frame(0)) == (None, None)
    assert pieces.older_times(run.frame(1)) == (0.25, 0.25)


def test_the_mesh_that_changes_changes_in_the_picture_and_its_title(series, run, tmp_path):
    geometry = GeometryOptions(pieces=shown_pieces(run)[0])
    pictures = PictureSeries(run, range(3), tmp_path / "pictures", geometry, None)
    pictures.write()
    steps = pictures.description["steps"]
    assert [step["mesh"] for step in steps] == [0, 0, 1]
    assert [step["mesh_age"] for step in steps] == ["mesh of time 0"] * 2 + ["mesh of time 0.25"]


def test_plotfiles_of_other_runs_are_passed_over(series, run, tmp_path):
    written(tmp_path / "plt00020", -1, time=0.5)
    written(tmp_path / "out/chk00030", END - BEGIN + 1, time=0.7)
    assert shown_pieces(run)[0].way == "boxes from plt00000 to plt00010, written during the run"


def test_plotfiles_in_a_folder_of_results_are_found(run, tmp_path):
    written(tmp_path / "out/plt00000", 1)
    assert shown_pieces(run)[0].way == "boxes from out/plt00000, written during the run"


def test_plotfiles_that_do_not_say_whose_boxes_are_are_named(run, tmp_path):
    (tmp_path / "three").mkdir()
    three = fake_run.FakeRun(tmp_path / "three", ranks=3)
    three.info["working_directory"], three.realtime_ns = "..", run.realtime_ns
    for frame in three.frames():
        frame.mesh_version[:] = 0
    written(tmp_path / "plt00000", 1)
    pieces, notes = shown_pieces(three)
    assert "plt" not in pieces.way
    assert any("plt00000, where nothing says which rank owns what" in note for note in notes)
