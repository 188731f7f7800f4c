# SPDX-License-Identifier: BSD-3-Clause
"""The geometry picture: a frame's values on the blocks of all ranks."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import fake_run
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet

import perfield
from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.geometry_picture import (
    GeometryOptions,
    geometry,
    ranks_without_mesh,
)
from perfield.pictures.line_choice import LineChoice
from perfield.pictures.own_fields import own_fields
from perfield.pictures.piece_messages import geometry_messages
from perfield.pictures.pieces import StoredPieces, choose_pieces
from twins import twin


def blocks_of(picture):
    """Name -> dataset of a picture."""
    numbers = range(picture.GetNumberOfBlocks())
    return {picture.GetMetaData(n).Get(vtkCompositeDataSet.NAME()): picture.GetBlock(n) for n in numbers}


def point_values(dataset, name):
    """The values of a point array as a NumPy array."""
    return vtk_to_numpy(dataset.GetPointData().GetArray(name))


def test_each_rank_is_a_block_with_its_values(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=4)
    blocks = blocks_of(geometry(run, run.frame(2)))
    assert list(blocks) == ["rank_0", "rank_1", "rank_2", "rank_3"]
    for rank in range(4):
        assert point_values(blocks[f"rank_{rank}"], "solve_time_s").tolist() == [(rank + 1) * 0.1 + 2] * 64


def test_values_go_on_cells_if_requested(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2)
    block = geometry(run, run.frame(0), GeometryOptions(association="cell")).GetBlock(1)
    assert vtk_to_numpy(block.GetCellData().GetArray("rank")).tolist() == [1] * 27
    assert block.GetPointData().GetNumberOfArrays() == 0


def test_absent_values_are_nan_and_not_zero(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2)
    block = geometry(run, run.frame(0)).GetBlock(0)
    assert np.isnan(point_values(block, "i_flux_time_s")).all()
    assert np.isnan(point_values(block, "i_flux_compute_time_per_cell_s")).all()


def test_all_pieces_of_all_frames_have_equal_arrays(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=3)
    seen = set()
    for frame in run.frames():
        for block in blocks_of(geometry(run, frame)).values():
            data = block.GetPointData()
            seen.add(tuple(data.GetArrayName(n) for n in range(data.GetNumberOfArrays())))
    assert len(seen) == 1


def test_empty_pieces_are_left_out_and_listed(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=3)
    empty = fake_run.FakeBlock(0, "unstructured", points=np.zeros((0, 3)))
    run.meshes[0] = [empty]
    run.meshes[1][0].block = 1
    run.meshes[1].insert(0, empty)
    assert list(blocks_of(geometry(run, run.frame(0)))) == ["rank_1_block_1", "rank_2"]
    assert ranks_without_mesh(run, run.frame(0), StoredPieces(run)) == [0]


def test_compute_time_per_cell_excludes_ghost_cells(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2, cells=2)
    run.meshes[1][0].ghosts = {"cell": np.array([0, 0, 0, 0, 0, 0, 1, 1])}
    blocks = blocks_of(geometry(run, run.frame(0)))
    assert point_values(blocks["rank_0"], "solve_compute_time_per_cell_s")[0] == pytest.approx(0.1 / 8)
    assert point_values(blocks["rank_1"], "solve_compute_time_per_cell_s")[0] == pytest.approx(0.2 / 6)


def test_compute_time_per_cell_is_without_waiting(tmp_path):
    """A rank with few cells waits for the others: its time is long, and its cells are not costly."""
    run = fake_run.FakeRun(tmp_path, ranks=2, cells=2)
    frame = run.frame(0)
    frame.values["solve_time_s"] = np.array([0.8, 0.8])
    frame.values["solve_compute_time_s"] = np.array([0.8, 0.4])
    frame.values["compute_time_s"] = np.array([1.6, np.nan])
    blocks = blocks_of(geometry(run, frame))
    first, second = blocks["rank_0"], blocks["rank_1"]
    assert point_values(first, "solve_compute_time_per_cell_s")[0] == pytest.approx(0.1)
    assert point_values(first, "compute_time_per_cell_s")[0] == pytest.approx(0.2)
    for name in ("solve_compute_time_per_cell_s", "compute_time_per_cell_s"):  # nobody saw its MPI
        assert np.isnan(point_values(second, name)[0])


def test_block_time_shows_only_on_its_block(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2, cells=1)
    second = fake_run.cube(5, "image", cells=2)
    second.block = 1
    run.meshes[0].append(second)
    frame = run.frame(0)
    frame.block_values = {"solve_time_s": {(0, 0): 0.03, (0, 1): 0.08}}
    blocks = blocks_of(geometry(run, frame))
    assert list(blocks) == ["rank_0_block_0", "rank_0_block_1", "rank_1"]
    assert point_values(blocks["rank_0_block_0"], "solve_time_s")[0] == 0.03
    assert point_values(blocks["rank_0_block_1"], "solve_time_s")[0] == 0.08
    assert point_values(blocks["rank_0_block_1"], "solve_compute_time_per_cell_s")[0] == pytest.approx(
        0.08 / 8
    )
    assert point_values(blocks["rank_1"], "solve_time_s")[0] == 0.2


def test_own_fields_appear_beside_perfields_values(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=1, cells=1)
    run.own_fields[0] = {(0, "pressure"): fake_run.FakeField(np.array([7.0]), "cell")}
    block = geometry(run, run.frame(0)).GetBlock(0)
    assert block.GetCellData().GetArray("pressure").GetValue(0) == 7
    assert point_values(block, "rank").tolist() == [0] * 8


def test_own_field_with_perfields_name_is_renamed(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2, cells=1)
    run.own_fields[1] = {(0, "rank"): fake_run.FakeField(np.full(8, 42.0))}
    block = geometry(run, run.frame(0)).GetBlock(1)
    assert point_values(block, "rank").tolist() == [1] * 8
    assert point_values(block, "own_rank").tolist() == [42] * 8


def test_own_fields_become_identifiers_and_keep_their_names(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=1, cells=1)
    names = ("U (m/s)", "alpha.water", "alpha_water", "rank")
    for number, name in enumerate(names):
        run.own_fields[0] = run.own_fields.get(0, {}) | {
            (0, name): fake_run.FakeField(np.full(8, float(number)))
        }
    for frame in run.frames():  # the second frame shares arrays with the first
        block = geometry(run, frame).GetBlock(0)
        values = {name: point_values(block, name)[0] for name in own_fields(block)}
        assert values == {"U__m_s_": 0, "alpha_water_2": 1, "alpha_water": 2, "own_rank": 3}
        assert own_fields(block) == {
            "U__m_s_": "U (m/s)",
            "alpha_water": "alpha_water",
            "alpha_water_2": "alpha.water",
            "own_rank": "rank",
        }


def test_only_requested_fields_are_attached(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=1)
    data = geometry(run, run.frame(0), GeometryOptions(fields=["sent_bytes"])).GetBlock(0).GetPointData()
    assert [data.GetArrayName(n) for n in range(data.GetNumberOfArrays())] == ["sent_bytes"]


def test_field_data_keeps_region_names(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=1)
    data = geometry(run, run.frame(0)).GetBlock(0).GetFieldData()
    fields, regions = data.GetAbstractArray("field_name"), data.GetAbstractArray("region_name")
    names = {fields.GetValue(n): regions.GetValue(n) for n in range(fields.GetNumberOfValues())}
    assert names == {"solve": "solve", "i_flux": "i flux"}


def test_ranks_without_mesh_are_left_out_and_listed(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=3)
    for frame in run.frames():
        frame.mesh_version[1] = 0
    assert list(blocks_of(geometry(run, run.frame(0)))) == ["rank_0", "rank_2"]
    assert ranks_without_mesh(run, run.frame(0), StoredPieces(run)) == [1]


def test_run_without_mesh_says_what_to_do(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2)
    for frame in run.frames():
        frame.mesh_version[:] = 0
    with pytest.raises(MeshMissingError, match=r"no rank .* described a mesh.*--mesh PATH"):
        geometry(run, run.frame(0))


def test_new_mesh_version_shows_from_its_frame_on(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=1, cells=1)
    versions = {1: run.meshes[0], 2: [fake_run.cube(0, "image", cells=4)]}
    run.mesh = lambda rank, version: versions[version]
    run.frame(1).mesh_version[0] = 2
    pieces = choose_pieces(run)
    points = [
        geometry(run, frame, GeometryOptions(pieces)).GetBlock(0).GetNumberOfPoints()
        for frame in run.frames()
    ]
    assert points == [8, 125, 8]


def test_written_run_shows_its_values_and_fields(tmp_path):
    twin.write_run(tmp_path / "run", ranks=3, steps=4)
    run = perfield.open(tmp_path / "run")
    blocks = blocks_of(geometry(run, run.frame(3)))
    for rank in range(3):
        block = blocks[f"rank_{rank}"]
        assert block.GetClassName() == "vtkImageData"
        assert point_values(block, "solve_time_s")[0] == pytest.approx(twin.solve_ns(rank, 3) * 1e-9)
        assert point_values(block, "solve_compute_time_per_cell_s")[0] == pytest.approx(
            twin.solve_ns(rank, 3) * 1e-9 / 64
        )
        assert point_values(block, "sent_bytes")[0] == 2000 * (rank + 1)
        assert rank <= point_values(block, "temperature")[0] < rank + 0.01


def test_package_exports_geometry_and_choose_pieces():
    assert perfield.pictures.geometry is geometry
    assert perfield.pictures.choose_pieces is choose_pieces


def test_message_lines_join_piece_centres(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=3)
    lines = geometry_messages(run, run.frame(0), lines=LineChoice(most=100))
    assert lines.GetNumberOfLines() == 2
    first = lines.GetCell(0).GetPoints()
    assert first.GetPoint(0) == pytest.approx((0.5, 0.5, 0.5))
    assert first.GetPoint(first.GetNumberOfPoints() - 1) == pytest.approx((1.5, 0.5, 0.5))
