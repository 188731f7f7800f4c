# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of all ranks in files: Exodus, and .pvd files that list parallel files or parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from known_runs import fake_run
from known_runs.mesh_file_writers import row_of_cubes, write_exodus, write_vtu
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures import tried_apart
from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.file_pieces import FilePieces
from perfield.pictures.mesh_files import MeshFile
from perfield.pictures.pieces import choose_pieces
from perfield.pictures.rank_array import RankArrayPieces
from perfield.pictures.shown_mesh import shown_pieces


def values(pieces, rank, name, frame=None):
    """An array on the cells of a rank's only block."""
    ((_, dataset),) = pieces.blocks(rank, frame)
    return vtk_to_numpy(dataset.GetCellData().GetArray(name)).tolist()


def write_spread(folder, ranks, times=(), name="mesh.e"):
    """Pieces of Exodus: piece r has r + 1 cells, and the number r on them."""
    for rank in range(ranks):
        write_exodus(
            folder / f"{name}.{ranks}.{rank}", row_of_cubes(rank + 1, {"n": [rank] * (rank + 1)}), times
        )
    return folder / f"{name}.{ranks}.0"


def test_piece_n_of_exodus_is_that_of_rank_n(tmp_path):
    pieces = choose_pieces(fake_run.FakeRun(tmp_path, ranks=3), write_spread(tmp_path, 3))
    assert isinstance(pieces, FilePieces)
    assert pieces.way == "mesh from mesh.e.3.*, a piece per rank"
    assert [values(pieces, rank, "n") for rank in range(3)] == [[0], [1, 1], [2, 2, 2]]


@pytest.mark.parametrize("name", ["out.exo", "out.ex2", "out.e-s002"])
def test_endings_and_adapted_meshes_of_exodus_are_known(tmp_path, name):
    assert values(FilePieces(write_spread(tmp_path, 2, name=name), 2), 1, "n") == [1, 1]


def test_numbers_of_pieces_may_have_zeros_before_them(tmp_path):
    write_spread(tmp_path, 2)
    for number in range(2):
        (tmp_path / f"mesh.e.2.{number}").rename(tmp_path / f"mesh.e.002.00{number}")
    assert values(FilePieces(tmp_path / "mesh.e.002.000", 2), 1, "n") == [1, 1]


def test_exodus_gives_the_newest_time_until_the_frame(tmp_path):
    pieces = FilePieces(write_spread(tmp_path, 2, (0.5, 1.0, 2.0)), 2)
    run = fake_run.FakeRun(tmp_path, ranks=2, steps=4)  # at times 0, 0.5, 1.0, 1.5
    assert [values(pieces, 0, "time", run.frame(n)) for n in range(4)] == [[0.5], [0.5], [1.0], [1.0]]
    assert [pieces.older_times(run.frame(n))[1] for n in range(4)] == [0.5, None, None, 1.0]
    run.frame(3).time = float("nan")  # the program gave no time
    assert values(pieces, 0, "time", run.frame(3)) == [2.0]


def test_missing_piece_of_exodus_is_named(tmp_path):
    path = write_spread(tmp_path, 3)
    (tmp_path / "mesh.e.3.1").unlink()
    with pytest.raises(MeshMissingError, match=r"mesh\.e\.3\.\* has 2 of 3 pieces; number 1 is missing"):
        FilePieces(path, 3)


def test_pieces_of_exodus_of_another_number_of_ranks_are_refused(tmp_path):
    with pytest.raises(MeshMissingError, match=r"lists 3 pieces, but the run has 2 ranks"):
        FilePieces(write_spread(tmp_path, 3), 2)


def test_damaged_piece_of_exodus_is_reported(tmp_path, capfd):
    path = write_spread(tmp_path, 2)
    (tmp_path / "mesh.e.2.1").write_bytes(b"nothing")
    pieces = FilePieces(path, 2)
    with pytest.raises(MeshMissingError, match=r"cannot read .*mesh\.e\.2\.1 \(.+\): it is damaged"):
        pieces.blocks(1, None)
    assert capfd.readouterr().err == ""


def test_one_process_tries_all_pieces_of_exodus_that_are_whole(tmp_path, monkeypatch):
    tried: list[list[str]] = []
    plain = tried_apart.in_child

    def counted(function, arguments, *more):
        tried.append([Path(path).suffix for path in arguments[0]])
        return plain(function, arguments, *more)

    monkeypatch.setattr(tried_apart, "in_child", counted)
    path = write_spread(tmp_path, 5)
    FilePieces(path, 5).check()
    assert [sorted(of_child) for of_child in tried] == [[".0", ".1", ".2", ".3", ".4"]]
    tried.clear()
    whole = path.read_bytes()
    (tmp_path / "mesh.e.5.3").write_bytes(whole[: len(whole) // 2])
    pieces = FilePieces(path, 5)
    assert values(pieces, 4, "n") == [4] * 5
    with pytest.raises(MeshMissingError, match=r"cannot read .*mesh\.e\.5\.3 \("):
        pieces.check()
    assert [of_child[0] for of_child in tried] == [".3"]


def write_collection(folder, listed):
    """listed : (time, part, file)."""
    rows = (f'<DataSet timestep="{time}" part="{part}" file="{file}"/>' for time, part, file in listed)
    path = folder / "out.pvd"
    path.write_text(f'<VTKFile type="Collection"><Collection>{"".join(rows)}</Collection></VTKFile>')
    return path


def write_series(folder, ranks=2, steps=2):
    """Files of pieces: n is 10 * step + rank."""
    for step in range(steps):
        for rank in range(ranks):
            write_vtu(folder / f"p{rank}_{step}.vtu", row_of_cubes(1, {"n": [10 * step + rank]}))


def test_collection_of_parallel_files_gives_the_pieces_of_each_time(tmp_path):
    write_series(tmp_path)
    for step in range(2):
        pieces = "".join(f'<Piece Source="p{rank}_{step}.vtu"/>' for rank in range(2))
        (tmp_path / f"u{step}.pvtu").write_text(
            f'<VTKFile type="PUnstructuredGrid"><PUnstructuredGrid>{pieces}</PUnstructuredGrid></VTKFile>'
        )
    path = write_collection(tmp_path, [(0, 0, "u0.pvtu"), (0.5, 0, "u1.pvtu")])
    run = fake_run.FakeRun(tmp_path, ranks=2, steps=3)
    pieces = choose_pieces(run, path)
    assert [values(pieces, 1, "n", run.frame(n)) for n in range(3)] == [[1], [11], [11]]
    assert [pieces.older_times(run.frame(n))[1] for n in range(3)] == [None, None, 0.5]
    assert pieces.way == "mesh from out.pvd, a piece per rank"


def test_parts_of_a_collection_are_pieces_in_their_order(tmp_path):
    write_series(tmp_path, steps=1)
    path = write_collection(tmp_path, [(0, 1, "p1_0.vtu"), (0, 0, "p0_0.vtu")])
    assert [values(FilePieces(path, 2), rank, "n") for rank in range(2)] == [[0], [1]]


def test_collection_with_another_number_of_pieces_is_taken_by_its_array(tmp_path):
    write_vtu(tmp_path / "all.vtu", row_of_cubes(2, {"rank": [0, 1]}))
    run = fake_run.FakeRun(tmp_path, ranks=2)
    pieces = choose_pieces(run, write_collection(tmp_path, [(0, 0, "all.vtu")]))
    assert isinstance(pieces, RankArrayPieces)


def test_missing_file_of_a_piece_is_named(tmp_path):
    path = write_collection(tmp_path, [(0, 0, "p0_0.vtu"), (0, 1, "p1_0.vtu")])
    (tmp_path / "p0_0.vtu").touch()
    with pytest.raises(MeshMissingError, match=r"piece .*p1_0\.vtu is missing"):
        FilePieces(path, 2)


@pytest.mark.parametrize("what", ["missing", "cut off", "of another kind"])
def test_named_file_with_a_bad_piece_gives_way_to_the_next_mesh(tmp_path, what):
    path = write_collection(tmp_path, [(0, 0, "p0.vtu"), (0, 1, "p1.vtu")])
    whole = write_vtu(tmp_path / "p0.vtu", row_of_cubes(1)).read_bytes()
    if what != "missing":
        (tmp_path / "p1.vtu").write_bytes(whole[: len(whole) // 2] if what == "cut off" else b"no mesh")
    run = fake_run.FakeRun(tmp_path, ranks=2)
    pieces, (note,) = shown_pieces(run, path)
    assert "p1.vtu" in note and note.endswith("Shown instead: mesh as the program described it.")
    assert len(pieces.blocks(1, run.frame(0))) == 1


def test_names_of_pieces_may_have_backslashes(tmp_path):
    (tmp_path / "out").mkdir()
    for rank in range(2):
        write_vtu(tmp_path / f"out/p{rank}.vtu", row_of_cubes(1, {"n": [rank]}))
    pieces = FilePieces(write_collection(tmp_path, [(0, 0, "out\\p0.vtu"), (0, 1, "out\\p1.vtu")]), 2)
    assert [values(pieces, rank, "n") for rank in range(2)] == [[0], [1]]


def listing(path, *files):
    """A .pvd file that lists these for one time."""
    entries = "".join(f'<DataSet timestep="0" part="{n}" file="{file}"/>' for n, file in enumerate(files))
    path.write_text(f"<VTKFile><Collection>{entries}</Collection></VTKFile>")
    return path


@pytest.mark.parametrize(
    "make", ["itself", "another", "a list of pieces in a list of pieces", "one file twice"]
)
def test_list_of_files_that_lists_without_end_is_refused(tmp_path, make):
    write_vtu(tmp_path / "a.vtu", row_of_cubes(1, {}))
    pieces = '<VTKFile><PUnstructuredGrid><Piece Source="{}"/></PUnstructuredGrid></VTKFile>'
    (tmp_path / "inner.pvtu").write_text(pieces.format("a.vtu"))
    if make == "itself":
        path, reason = listing(tmp_path / "out.pvd", "out.pvd"), "which is such a list itself"
    elif make == "another":
        listing(tmp_path / "inner.pvd", "a.vtu")
        path, reason = listing(tmp_path / "out.pvd", "inner.pvd"), "which is such a list itself"
    elif make == "one file twice":
        path, reason = listing(tmp_path / "out.pvd", *["a.vtu", "./a.vtu"] * 1000), "twice for one time"
    else:
        path, reason = tmp_path / "out.pvtu", "is a list of pieces itself"
        path.write_text(pieces.format("inner.pvtu"))
    with pytest.raises(MeshMissingError, match=reason):
        MeshFile(path).datasets(None if path.suffix == ".pvtu" else 0.0)


def test_list_of_more_pieces_than_any_run_has_is_refused(tmp_path):
    pieces = "".join(f'<Piece Source="{n}.vtu"/>' for n in range(3000))
    (tmp_path / "all.pvtu").write_text(f"<VTKFile><PUnstructuredGrid>{pieces}</PUnstructuredGrid></VTKFile>")
    times = "".join(f'<DataSet timestep="{time}" file="all.pvtu"/>' for time in range(2000))
    (tmp_path / "out.pvd").write_text(f"<VTKFile><Collection>{times}</Collection></VTKFile>")
    with pytest.raises(MeshMissingError, match="more than 4,194,304 pieces"):
        FilePieces(tmp_path / "out.pvd", 3000)
