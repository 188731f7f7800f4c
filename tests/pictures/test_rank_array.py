# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of one global mesh file, by an array that says which rank owns what."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import fake_run
from known_runs.mesh_file_writers import lows, row_of_cubes, write_ensight, write_vtu
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.file_pieces import FilePieces
from perfield.pictures.geometry_picture import GeometryOptions, geometry, ranks_without_mesh
from perfield.pictures.pieces import choose_pieces
from perfield.pictures.rank_array import RankArrayPieces


def test_each_rank_gets_the_cells_that_a_cell_array_names(tmp_path):
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(5, {"owner": [2, 0, 2, 1, 0]}))
    pieces = RankArrayPieces(path, 3, "owner")
    assert [lows(pieces, rank) for rank in range(3)] == [[1, 4], [3], [0, 2]]
    assert pieces.way == "mesh from m.vtu, ranks by owner"
    assert not pieces.notes


def test_a_cell_belongs_to_the_rank_of_most_of_its_points(tmp_path):
    # squares of points at x = 0, 1, 2, 3; the two cubes in the middle have a border in them
    of_points = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [0, 0, 0, 0], [0, 0, 1, 1]]).ravel()
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(3, None, {"RANK": of_points}))
    pieces = RankArrayPieces(path, 2, "RANK")
    assert [lows(pieces, rank) for rank in range(2)] == [[1, 2], [0]]


def test_equal_numbers_of_points_give_the_cell_to_the_lower_rank(tmp_path):
    of_points = np.repeat([1, 0, 1], 4)
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(2, None, {"rank": of_points}))
    assert lows(RankArrayPieces(path, 2, "rank"), 0) == [0, 1]


def test_common_names_of_rank_arrays_are_found(tmp_path):
    arrays = {"pressure": [1.0, 2.0], "mpi_rank_id": [1.0, 0.0]}
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(2, arrays))
    pieces = RankArrayPieces(path, 2)
    assert pieces.way.endswith("ranks by mpi_rank_id")
    assert lows(pieces, 1) == [0]


def test_fields_of_the_file_stay_on_the_pieces(tmp_path):
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(3, {"p": [7.0, 8.0, 9.0], "rank": [0, 1, 0]}))
    ((_, dataset),) = RankArrayPieces(path, 2).blocks(0, None)
    assert vtk_to_numpy(dataset.GetCellData().GetArray("p")).tolist() == [7, 9]


def test_ensight_case_gives_pieces_of_the_newest_time_until_the_frame(tmp_path):
    ranks = [[0, 0, 1], [0, 1, 1], [1, 1, 0]]
    path = write_ensight(tmp_path, {"mpi_rank_id": ranks}, (0.5, 1.0, 2.0))
    run = fake_run.FakeRun(tmp_path, ranks=2, steps=4)  # at times 0, 0.5, 1.0, 1.5
    pieces = RankArrayPieces(path, 2)
    assert [lows(pieces, 0, run.frame(n)) for n in range(4)] == [[0, 1], [0, 1], [0], [0]]
    assert [pieces.older_times(run.frame(n))[1] for n in range(4)] == [0.5, None, None, 1.0]
    run.frame(3).time = float("nan")  # the program gave no time
    assert lows(pieces, 0, run.frame(3)) == [2]
    assert pieces.older_times(run.frame(3))[1] == 2.0


def test_file_without_the_array_lists_those_that_it_has(tmp_path):
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(2, {"p": [1, 2]}, {"T": np.arange(12)}))
    with pytest.raises(
        MeshMissingError, match=r"m\.vtu has no array 'mpi_rank_id'; it has T and p\. .*--rank-array"
    ):
        RankArrayPieces(path, 2, "mpi_rank_id")
    with pytest.raises(MeshMissingError, match=r"no array with a common name of ranks.*it has T and p\."):
        RankArrayPieces(path, 2)


def test_array_that_does_not_hold_ranks_is_refused(tmp_path):
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(2, {"p": [0.2, 0.9]}))
    with pytest.raises(MeshMissingError, match=r"array 'p' of .* does not hold ranks"):
        RankArrayPieces(path, 2, "p")


def test_ranks_that_the_run_lacks_are_refused(tmp_path):
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(4, {"rank": [0, 1, 2, 3]}))
    with pytest.raises(MeshMissingError, match=r"names ranks 0 to 3, but the run has 2 ranks, 0 to 1"):
        RankArrayPieces(path, 2)


def test_ranks_without_cells_are_reported_and_have_no_piece(tmp_path):
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(3, {"rank": [0, 2, -1]}))
    run = fake_run.FakeRun(tmp_path, ranks=4)
    pieces = choose_pieces(run, path)
    missing, outside = pieces.notes
    assert "gives no cell to 2 of 4 ranks (1, 3), so these have no piece" in missing
    assert "is negative" in outside and "belong to no rank" in outside
    assert ranks_without_mesh(run, run.frame(0), pieces) == [1, 3]


def test_values_of_ranks_are_on_the_cells_of_a_global_file(tmp_path):
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(3, {"owner": [1, 0, 1]}))
    run = fake_run.FakeRun(tmp_path, ranks=2)
    options = GeometryOptions(choose_pieces(run, path, "owner"), "cell")
    picture = geometry(run, run.frame(1), options)
    values = [
        vtk_to_numpy(picture.GetBlock(n).GetCellData().GetArray("compute_time_s")).tolist() for n in range(2)
    ]
    assert values == [[1.1], [1.2, 1.2]]


def test_rank_array_wins_over_the_pieces_of_a_parallel_file(tmp_path):
    for number in range(2):
        write_vtu(tmp_path / f"{number}.vtu", row_of_cubes(2, {"rank": [1 - number, number]}))
    path = tmp_path / "m.pvtu"
    pieces = '<Piece Source="0.vtu"/><Piece Source="1.vtu"/>'
    path.write_text(
        f'<VTKFile type="PUnstructuredGrid"><PUnstructuredGrid>{pieces}</PUnstructuredGrid></VTKFile>'
    )
    run = fake_run.FakeRun(tmp_path, ranks=2)
    assert isinstance(choose_pieces(run, path), FilePieces)
    assert lows(choose_pieces(run, path, "rank"), 0) == [1, 0]


def test_collection_gives_the_file_of_each_time(tmp_path):
    for number, ranks in enumerate(([0, 1], [1, 0])):
        write_vtu(tmp_path / f"{number}.vtu", row_of_cubes(2, {"rank": ranks}))
    files = "".join(f'<DataSet timestep="{number}" file="{number}.vtu"/>' for number in range(2))
    path = tmp_path / "m.pvd"
    path.write_text(f'<VTKFile type="Collection"><Collection>{files}</Collection></VTKFile>')
    run = fake_run.FakeRun(tmp_path, ranks=2)
    pieces = RankArrayPieces(path, 2)
    assert [lows(pieces, 0, run.frame(n)) for n in (0, 2)] == [[0], [1]]


@pytest.mark.parametrize("name", ["m.vtu", "m.pvd", "m.case", "m.pvtu"])
def test_file_that_is_not_what_its_name_says_is_refused_in_a_sentence(tmp_path, name, capfd):
    (tmp_path / name).write_text("no mesh at all\n")
    with pytest.raises(MeshMissingError, match=rf"cannot read .*{name} \(.+\): it is damaged"):
        RankArrayPieces(tmp_path / name, 2, "rank")
    assert capfd.readouterr().err == ""


def test_unknown_format_and_missing_file_are_reported(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2)
    (tmp_path / "m.txt").write_text("")
    with pytest.raises(MeshMissingError, match=r"m\.txt ends in '\.txt'; known are .*\.case.*\.vtu"):
        choose_pieces(run, tmp_path / "m.txt")
    with pytest.raises(MeshMissingError, match=r"m\.vtu does not exist"):
        choose_pieces(run, tmp_path / "m.vtu")
    with pytest.raises(MeshMissingError, match=r"name the file with --mesh PATH"):
        choose_pieces(run, None, "rank")


@pytest.mark.parametrize(
    ("ranks", "why"),
    [
        ([0.0, 1.0, np.nan], "is NaN in"),
        ([0.0, 1.0, -4.0], "is negative in"),
        ([0.0, 1.0, np.nan, -1.0], "is NaN or negative in"),
    ],
)
def test_cells_without_a_rank_are_reported_with_the_reason(tmp_path, ranks, why):
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(len(ranks), {"rank": ranks}))
    pieces = RankArrayPieces(path, 2)
    assert len(pieces.notes) == 1 and f"cells whose 'rank' {why}" in pieces.notes[0]
    run = fake_run.FakeRun(tmp_path, ranks=2)
    assert [lows(pieces, rank, run.frame(0)) for rank in range(2)] == [[0], [1]]


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([np.nan, np.nan], "is NaN for all cells, so it names no rank"),
        ([np.inf, 0.0], "does not hold ranks"),
        ([1e300, 0.0], "does not hold ranks"),
        ([np.nan, 5.0], "names ranks 5 to 5, but the run has 2 ranks"),
    ],
)
def test_numbers_that_are_no_ranks_are_refused(tmp_path, ranks, words):
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(2, {"rank": ranks}))
    with pytest.raises(MeshMissingError, match=words):
        RankArrayPieces(path, 2)


def test_negative_ranks_of_points_touch_no_other_cell(tmp_path):
    row = row_of_cubes(2, None, {"rank": [0] * 8 + [-7] * 4})
    pieces = RankArrayPieces(write_vtu(tmp_path / "m.vtu", row), 1)
    assert lows(pieces, 0, fake_run.FakeRun(tmp_path, ranks=1).frame(0)) == [0]
