# SPDX-License-Identifier: BSD-3-Clause
"""Which pieces of the mesh touch, for a report's findings about messages."""

import os
import sys

import pytest

import perfield
from perfield.report import report
from twins import twin


def test_report_knows_which_slabs_of_the_mesh_touch(tmp_path):
    pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")
    made = report(perfield.open(twin.write_run(tmp_path / "run", ranks=3)))
    assert made.observed.neighbours.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]
    assert not any("pieces" in note for note in made.notes)


def test_report_without_a_mesh_does_not_ask_about_neighbours(tmp_path):
    pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")
    made = report(perfield.open(twin.write_run(tmp_path / "run", mesh=False)))
    assert made.observed.neighbours is None
    assert [missing for _, missing in made.questions_not_asked if "neighbours" in missing] == [
        ("neighbours",)
    ]
    assert not any("pieces" in note for note in made.notes)


def test_report_counts_the_cells_of_a_mesh_that_the_program_wrote(tmp_path, monkeypatch):
    pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")
    from known_runs.mesh_file_writers import row_of_cubes, write_vtu

    path = twin.write_run(tmp_path / "run", ranks=3, mesh=False)
    assert not report(perfield.open(path)).observed.has("cells")
    files = [write_vtu(tmp_path / f"{n}.vtu", row_of_cubes(n + 1)) for n in range(3)]
    listed = "".join(f'<DataSet timestep="0" part="{n}" file="{n}.vtu"/>' for n in range(3))
    (tmp_path / "u.pvd").write_text(f'<VTKFile type="Collection"><Collection>{listed}</Collection></VTKFile>')
    run = perfield.open(path)
    monkeypatch.setitem(run.info, "working_directory", "..")
    begin, _ = run.realtime_ns
    for file in (*files, tmp_path / "u.pvd"):
        os.utime(file, ns=(begin, begin + 1))
    made = report(run)
    assert made.observed.of("cells").tolist()[0] == [1, 2, 3]
    assert len(made.observed.of("cells")) == len(made.observed.of("step_time_s"))
    assert made.observed.neighbours is not None


def test_report_without_vtk_says_what_it_could_not_look_at(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "perfield.pictures.neighbours", raising=False)
    monkeypatch.setitem(sys.modules, "vtkmodules.vtkCommonDataModel", None)
    without_mesh = report(perfield.open(twin.write_run(tmp_path / "without", mesh=False)))
    assert not [note for note in without_mesh.notes if "pieces" in note]
    made = report(perfield.open(twin.write_run(tmp_path / "run")))
    assert made.observed.neighbours is None
    (note,) = (note for note in made.notes if "pieces" in note)
    assert note == (
        "Which pieces of the mesh touch was not checked: that needs the Python package vtk, which is not "
        "installed; call pip install 'perfield[vtk]'."
    )


def test_report_says_empty_messages_and_which_of_them_leave_the_mesh(tmp_path):
    # Each rank sends 3 messages to the next one, 1 of them empty; rank 3 sends to rank 0.
    pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")
    made = report(perfield.open(twin.write_run(tmp_path / "run", ranks=4)))
    (found,) = (finding for finding in made.findings if finding.kind == "empty messages")
    assert sorted(found.pairs.tolist()) == [[0, 1], [1, 2], [2, 3], [3, 0]]
    assert found.words == (
        "4 messages per step carry no bytes, 33 % of them. They go between 4 pairs of ranks, 1 between ranks "
        "that do not touch on the mesh. Each pair has 1 per step."
    )
