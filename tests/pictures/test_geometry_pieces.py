# SPDX-License-Identifier: BSD-3-Clause
"""Sources of meshes: the run itself, a parallel VTK file, an OpenFOAM case."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from known_runs import fake_run
from known_runs.foam_cases import collate, write_case, write_mesh
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.catalyst_scripts.owned_folder import OwnedFolder
from perfield.output.series import Series
from perfield.pictures.blocks import MeshMissingError, attach, dataset_of
from perfield.pictures.file_pieces import FilePieces
from perfield.pictures.openfoam_pieces import OpenFoamPieces, collated_block
from perfield.pictures.pieces import StoredPieces, choose_pieces


def shown(pieces, rank, frame):
    """(low x, values of p) of each block of a rank."""
    blocks = [dataset for _, dataset in pieces.blocks(rank, frame)]
    return [(b.GetBounds()[0], vtk_to_numpy(b.GetCellData().GetArray("p")).tolist()) for b in blocks]


def write_pvtu(tmp_path, ranks):
    """Writes a parallel file whose piece r is the cube of rank r, with the point field T = r."""
    series = Series(OwnedFolder(tmp_path, is_shared=True), "pieces")
    for rank in range(ranks):
        dataset = dataset_of(fake_run.cube(rank, "unstructured"))
        attach(dataset, "T", np.full(64, float(rank)), "point")
        series.static(f"piece{rank}", dataset)
    sources = "".join(f'<Piece Source="pieces/piece{rank}.vtu"/>' for rank in range(ranks))
    path = tmp_path / "mesh.pvtu"
    path.write_text(
        f'<VTKFile type="PUnstructuredGrid"><PUnstructuredGrid>{sources}</PUnstructuredGrid></VTKFile>'
    )
    return path


def test_piece_n_of_a_parallel_file_belongs_to_rank_n(tmp_path):
    pieces = FilePieces(write_pvtu(tmp_path, 3), 3)
    ((number, dataset),) = pieces.blocks(2, None)
    assert number == 0
    assert dataset.GetBounds()[:2] == (2, 3)
    assert dataset.GetPointData().GetArray("T").GetRange() == (2, 2)


def test_attached_arrays_do_not_stay_on_a_piece(tmp_path):
    pieces = FilePieces(write_pvtu(tmp_path, 1), 1)
    attach(pieces.blocks(0, None)[0][1], "rank", np.zeros(64), "point")
    assert pieces.blocks(0, None)[0][1].GetPointData().GetArray("rank") is None


def test_wrong_number_of_pieces_is_refused(tmp_path):
    with pytest.raises(MeshMissingError, match=r"lists 2 pieces, but the run has 3 ranks"):
        FilePieces(write_pvtu(tmp_path, 2), 3)


def test_missing_piece_is_reported(tmp_path):
    path = write_pvtu(tmp_path, 2)
    (tmp_path / "pieces/piece1.vtu").unlink()
    with pytest.raises(MeshMissingError, match=r"piece .*piece1\.vtu is missing"):
        FilePieces(path, 2).blocks(1, None)


def test_damaged_piece_is_reported(tmp_path):
    path = write_pvtu(tmp_path, 1)
    piece = tmp_path / "pieces/piece0.vtu"
    piece.write_bytes(piece.read_bytes()[:1500])
    with pytest.raises(MeshMissingError, match=r"VTK 9.* cannot read .*piece0\.vtu \(.*it is damaged"):
        FilePieces(path, 1).blocks(0, None)


def test_mesh_file_that_is_not_xml_is_refused(tmp_path):
    (tmp_path / "mesh.pvtu").write_text("not a mesh")
    with pytest.raises(MeshMissingError, match=r"cannot be read as a parallel VTK file"):
        FilePieces(tmp_path / "mesh.pvtu", 2)


def test_processor_directory_is_its_ranks_piece(tmp_path):
    write_case(tmp_path)
    run = fake_run.FakeRun(tmp_path, ranks=2)
    pieces = OpenFoamPieces(tmp_path, 2)
    for rank in range(2):
        ((_, dataset),) = pieces.blocks(rank, run.frame(0))
        assert dataset.GetNumberOfCells() == 1
        assert dataset.GetBounds() == (rank, rank + 1, 0, 1, 0, 1)


def test_solver_fields_are_the_newest_at_frame_time(tmp_path):
    write_case(tmp_path)
    frame = fake_run.FakeRun(tmp_path, ranks=2).frame(0)
    pieces = OpenFoamPieces(tmp_path, 2)
    seen = []
    for frame.time in (0.2, 0.5, 0.9, 7.0, 0.0):
        ((_, dataset),) = pieces.blocks(1, frame)
        seen.append(vtk_to_numpy(dataset.GetCellData().GetArray("p")).tolist())
    assert seen == [[10], [10.5], [10.5], [11], [10]]


def test_openfoam_case_stays_unchanged(tmp_path):
    write_case(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    OpenFoamPieces(tmp_path, 2).blocks(0, fake_run.FakeRun(tmp_path, ranks=2).frame(0))
    assert sorted(tmp_path.rglob("*")) == before


def test_case_for_another_rank_count_is_refused(tmp_path):
    write_case(tmp_path, ranks=2)
    with pytest.raises(MeshMissingError, match=r"holds 2 pieces, but the run has 4 ranks"):
        OpenFoamPieces(tmp_path, 4)
    with pytest.raises(MeshMissingError, match=r"holds 2 pieces, but the run has 1 ranks"):
        OpenFoamPieces(tmp_path, 1)


@pytest.mark.parametrize("groups", [None, [(0, 1), (2, 2)]])
def test_block_n_of_collated_files_is_the_piece_of_rank_n(tmp_path, groups):
    write_case(tmp_path, ranks=3)
    collate(tmp_path, 3, groups)
    before = sorted(tmp_path.rglob("*"))
    run = fake_run.FakeRun(tmp_path, ranks=3)
    pieces = choose_pieces(run, tmp_path)
    frame = run.frame(0)
    for frame.time in (1.0, 0.2, 0.5):  # the reader meets the last time first
        for rank in range(3):
            assert shown(pieces, rank, frame) == [
                (rank, [10 * rank + {0.2: 0.0}.get(frame.time, frame.time)])
            ]
    assert sorted(tmp_path.rglob("*")) == before


def test_collated_mesh_is_the_newest_at_frame_time(tmp_path):
    write_case(tmp_path)
    for rank in range(2):
        write_mesh(tmp_path / f"processor{rank}/0.5/polyMesh", 100 + rank)
    collate(tmp_path, 2)
    pieces = OpenFoamPieces(tmp_path, 2)
    frame = fake_run.FakeRun(tmp_path, ranks=2).frame(0)
    seen = []
    for frame.time in (1.0, 0.0, 0.5):
        seen.append(shown(pieces, 1, frame)[0][0])
    assert seen == [101, 1, 101]


def test_damaged_collated_file_is_named(tmp_path):
    write_case(tmp_path)
    collate(tmp_path, 2)
    file = tmp_path / "processors2/constant/polyMesh/points"
    file.write_bytes(file.read_bytes()[:300])
    with pytest.raises(MeshMissingError, match=r"points has 1 blocks, but block 1 was expected: .*damaged"):
        collated_block(file, 1)


def test_collated_case_for_another_rank_count_is_refused(tmp_path):
    write_case(tmp_path)
    collate(tmp_path, 2)
    with pytest.raises(MeshMissingError, match=r"processors2, but the run has 4 ranks; expected processors4"):
        choose_pieces(fake_run.FakeRun(tmp_path, ranks=4), tmp_path)


def test_newer_of_plain_and_collated_pieces_counts(tmp_path):
    write_case(tmp_path / "old", times=("0",))
    collate(tmp_path / "old", 2)
    write_case(tmp_path, times=("0",))
    shutil.move(tmp_path / "old/processors2", tmp_path)
    for path, changed in (("processors2", 2e9), ("processor0", 1e9), ("processor1", 1e9)):
        os.utime(tmp_path / path, (changed, changed))
    assert "processors" in OpenFoamPieces(tmp_path, 2).origin
    os.utime(tmp_path / "processors2", (5e8, 5e8))
    assert "processors" not in OpenFoamPieces(tmp_path, 2).origin


def test_each_region_of_a_case_is_a_block(tmp_path):
    write_case(tmp_path, regions=("fluid", "solid"))
    run = fake_run.FakeRun(tmp_path, ranks=2)
    pieces = OpenFoamPieces(tmp_path, 2)
    assert shown(pieces, 1, run.frame(0)) == [(1, [10]), (1, [10])]
    assert [number for number, _ in pieces.blocks(1, run.frame(0))] == [0, 1]
    collate(tmp_path, 2)
    assert shown(OpenFoamPieces(tmp_path, 2), 1, run.frame(0)) == [(1, [10]), (1, [10])]


def test_time_written_while_the_program_runs_is_seen(tmp_path):
    write_case(tmp_path, times=("0",))
    frame = fake_run.FakeRun(tmp_path, ranks=2).frame(0)
    frame.time = 0.7
    pieces = OpenFoamPieces(tmp_path, 2)
    assert (shown(pieces, 1, frame), pieces.written_time(frame)) == ([(1, [10])], 0)
    write_case(tmp_path, times=("0.5",))
    assert (shown(pieces, 1, frame), pieces.written_time(frame)) == ([(1, [10.5])], 0.5)


def test_age_of_mesh_and_fields_is_reported(tmp_path):
    write_case(tmp_path)
    frame = fake_run.FakeRun(tmp_path, ranks=2).frame(0)
    pieces = OpenFoamPieces(tmp_path, 2)
    seen = []
    for frame.time in (0.5, 0.7):
        seen.append(pieces.older_times(frame))
    assert seen == [(None, None), (None, 0.5)]  # a mesh that never changes is not old
    write_mesh(tmp_path / "processor0/0.5/polyMesh", 0)
    assert pieces.older_times(frame) == (0.5, 0.5)


def test_unreadable_piece_is_named(tmp_path):
    write_case(tmp_path)
    (tmp_path / "processor1/constant/polyMesh/faces").write_text("no faces\n")
    frame = fake_run.FakeRun(tmp_path, ranks=2).frame(0)
    with pytest.raises(MeshMissingError, match=r"piece of rank 1 in .*processor1 cannot be read at time 0"):
        OpenFoamPieces(tmp_path, 2).blocks(1, frame)


def test_stored_meshes_precede_pieces_on_disk(tmp_path):
    write_case(tmp_path)
    assert isinstance(choose_pieces(fake_run.FakeRun(tmp_path, ranks=2)), StoredPieces)


def test_pieces_are_found_in_the_working_directory(tmp_path):
    write_case(tmp_path / "case")
    (tmp_path / "case/perfield-run").mkdir()
    run = fake_run.FakeRun(tmp_path / "case/perfield-run", ranks=2)
    run.info["working_directory"] = ".."
    for frame in run.frames():
        frame.mesh_version[:] = 0
    assert isinstance(choose_pieces(run), OpenFoamPieces)


def test_pieces_are_found_in_the_case_that_the_program_was_given(tmp_path):
    write_case(tmp_path / "cases/pipe flow")
    run = fake_run.FakeRun(tmp_path, ranks=2)
    for frame in run.frames():
        frame.mesh_version[:] = 0
    with pytest.raises(MeshMissingError, match="no pieces are on disk"):
        choose_pieces(run)
    run.info["command"] = ["icoFoam", "-case", "cases/pipe flow", "-parallel"]
    assert choose_pieces(run).origin == f"{tmp_path}/cases/pipe flow/processor*"
    run.info["command"] = ["bash", "Allrun"]
    (tmp_path / "cases/pipe flow").rename(tmp_path / "cases/pipe")
    run.rank_entries[0] = {"arguments": "icoFoam -case cases/pipe -parallel"}
    assert choose_pieces(run).origin == f"{tmp_path}/cases/pipe/processor*"


def test_mesh_option_precedes_mesh_path_and_stored_meshes(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2)
    write_pvtu(tmp_path, 2)
    run.info["configuration"] = {"mesh_path": "mesh.pvtu"}
    assert isinstance(choose_pieces(run), FilePieces)
    write_case(tmp_path / "case")
    assert isinstance(choose_pieces(run, tmp_path / "case"), OpenFoamPieces)


def test_missing_mesh_path_is_reported(tmp_path):
    with pytest.raises(MeshMissingError, match=r"mesh .*nowhere\.pvtu does not exist"):
        choose_pieces(fake_run.FakeRun(tmp_path), tmp_path / "nowhere.pvtu")


def test_case_that_was_divided_again_is_not_drawn(tmp_path):
    write_case(tmp_path, ranks=2, times=())
    frame = fake_run.FakeRun(tmp_path, ranks=2).frame(0)
    frame.values["cells"] = np.array([1.0, 3.0])  # a function object's mesh adds to those of rank 1
    write_mesh(tmp_path / "processor0/constant/polyMesh", 0, cells=2)
    pieces = OpenFoamPieces(tmp_path, 2)
    assert len(pieces.blocks(1, frame)) == 1
    with pytest.raises(
        MeshMissingError, match="processor0 has 2 cells, but rank 0 had 1 when it was measured"
    ):
        pieces.blocks(0, frame)
    frame.values["cells"] = np.full(2, np.nan)  # not measured
    assert len(OpenFoamPieces(tmp_path, 2).blocks(0, frame)) == 1
