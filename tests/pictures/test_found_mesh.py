# SPDX-License-Identifier: BSD-3-Clause
"""Meshes that the program wrote while it was measured, found without being named."""

from __future__ import annotations

import os

import pytest
from known_runs import fake_run
from known_runs.mesh_file_writers import row_of_cubes, write_ensight, write_exodus, write_vtu

from perfield.pictures.shown_mesh import shown_pieces

BEGIN, END = 1_000, 2_000  # seconds
RANKS = 3


@pytest.fixture
def run(tmp_path):
    """A run without a mesh, which lasted from BEGIN to END."""
    made = fake_run.FakeRun(tmp_path / "perfield-run", ranks=RANKS)
    made.info["working_directory"] = ".."
    made.realtime_ns = BEGIN * 10**9, END * 10**9
    for frame in made.frames():
        frame.mesh_version[:] = 0
    return made


def written(at, *paths):
    """Says when files were written last."""
    for path in paths:
        os.utime(path, (at, at))
    return paths[0]


def write_parallel(folder, name="u.pvtu", ranks=RANKS, at=BEGIN + 1):
    """A parallel file and its pieces."""
    folder.mkdir(exist_ok=True)
    pieces = [write_vtu(folder / f"{name}{n}.vtu", row_of_cubes(1, {"n": [n]})) for n in range(ranks)]
    listed = "".join(f'<Piece Source="{piece.name}"/>' for piece in pieces)
    path = folder / name
    path.write_text(
        f'<VTKFile type="PUnstructuredGrid"><PUnstructuredGrid>{listed}</PUnstructuredGrid></VTKFile>'
    )
    return written(at, path, *pieces)


def way(run):
    """How the mesh was found."""
    return shown_pieces(run)[0].way


def test_a_parallel_file_in_a_folder_of_results_is_found(tmp_path, run):
    write_parallel(tmp_path / "out")
    pieces, notes = shown_pieces(run)
    assert pieces.way == "mesh from out/u.pvtu, written during the run, a piece per rank"
    assert notes == [
        "no rank described a mesh, so perfield looked for one on disk; --mesh names another, or boxes."
    ]


def test_a_file_with_an_array_of_all_ranks_is_found(tmp_path, run):
    written(BEGIN + 1, write_ensight(tmp_path, {"mpi_rank_id": [0, 2, 1, 1]}))
    assert way(run) == "mesh from results.case, written during the run, ranks by mpi_rank_id"


def test_pieces_of_exodus_are_found(tmp_path, run):
    for rank in range(RANKS):
        written(BEGIN + 1, write_exodus(tmp_path / f"m.e.3.{rank}", row_of_cubes(1, {"n": [rank]})))
    assert way(run).endswith("written during the run, a piece per rank")
    assert way(run).startswith("mesh from m.e.3.")


@pytest.mark.parametrize("at", [BEGIN - 1, END + 1])
def test_a_file_that_was_not_written_during_the_run_is_not_taken(tmp_path, run, at):
    write_parallel(tmp_path, at=at)
    assert way(run).startswith("boxes")


def test_pieces_older_than_the_run_are_not_taken(tmp_path, run):
    write_parallel(tmp_path)
    written(BEGIN - 1, tmp_path / "u.pvtu1.vtu")
    assert way(run).startswith("boxes")


def test_another_number_of_pieces_is_not_taken_and_reported(tmp_path, run):
    write_parallel(tmp_path, ranks=2)
    pieces, notes = shown_pieces(run)
    assert pieces.way.startswith("boxes")
    assert any("u.pvtu" in note and "nothing says which rank owns what" in note for note in notes)


@pytest.mark.parametrize("ranks", [[0, 1, 1], [0, 1, 3], [0, 1, 2, -1]])
def test_an_array_without_exactly_the_ranks_of_the_run_is_not_taken(tmp_path, run, ranks):
    written(BEGIN + 1, write_vtu(tmp_path / "m.vtu", row_of_cubes(len(ranks), {"rank": ranks})))
    assert way(run).startswith("boxes")


def test_numbers_from_one_on_are_all_ranks_too(tmp_path, run):
    written(BEGIN + 1, write_vtu(tmp_path / "m.vtu", row_of_cubes(3, {"Partition": [1, 3, 2]})))
    assert way(run).endswith("ranks by Partition")


def test_the_newest_of_several_counts_and_a_collection_before_its_files(tmp_path, run):
    write_parallel(tmp_path, "a.pvtu", at=BEGIN + 9)
    write_parallel(tmp_path, "b.pvtu", at=BEGIN + 10)
    assert "mesh from b.pvtu" in way(run)
    rows = '<DataSet timestep="0" part="0" file="a.pvtu"/>'
    collection = tmp_path / "a.pvd"
    collection.write_text(f'<VTKFile type="Collection"><Collection>{rows}</Collection></VTKFile>')
    written(BEGIN + 5, collection)
    assert "mesh from a.pvd" in way(run)


def test_volumes_come_before_surfaces(tmp_path, run):
    from vtkmodules.vtkCommonDataModel import vtkUnstructuredGrid

    volume = row_of_cubes(3, {"rank": [0, 1, 2]})
    surface = vtkUnstructuredGrid()
    surface.SetPoints(volume.GetPoints())
    for n in range(3):
        surface.InsertNextCell(9, 4, [4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3])
    surface.GetCellData().AddArray(volume.GetCellData().GetArray("rank"))
    written(BEGIN + 1, write_vtu(tmp_path / "fluid.vtu", volume))
    written(BEGIN + 2, write_vtu(tmp_path / "boundary.vtu", surface))
    assert "mesh from fluid.vtu" in way(run)


def test_a_named_or_described_mesh_comes_first(tmp_path, run):
    write_parallel(tmp_path)
    named = write_vtu(tmp_path / "named.vtu", row_of_cubes(3, {"rank": [0, 1, 2]}))
    assert shown_pieces(run, named)[0].way == "mesh from named.vtu, ranks by rank"
    for frame in run.frames():
        frame.mesh_version[:] = 1
    assert way(run) == "mesh as the program described it"


def test_damaged_files_and_other_runs_are_passed_over(tmp_path, run):
    written(BEGIN + 1, write_parallel(tmp_path, "cut.pvtu"))
    (tmp_path / "cut.pvtu").write_text("<VTKFile")
    written(BEGIN + 1, tmp_path / "cut.pvtu")
    (tmp_path / "other-run").mkdir()
    (tmp_path / "other-run/run.json").write_text("{}")
    write_parallel(tmp_path / "other-run")
    write_parallel(tmp_path / ".hidden")
    pieces, notes = shown_pieces(run)
    assert pieces.way.startswith("boxes")
    assert "cut.pvtu" in notes[1] and "other-run" not in notes[1]


def test_an_imported_run_without_times_finds_nothing(tmp_path, run):
    write_parallel(tmp_path)
    run.realtime_ns = None
    assert way(run).startswith("boxes")
