# SPDX-License-Identifier: BSD-3-Clause
"""VTK datasets made of a program's mesh blocks."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import fake_run
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkGenericCell

from perfield._bridge import wrong_cell
from perfield.pictures import blocks
from perfield.pictures.blocks import (
    GHOSTS,
    MeshError,
    attach,
    centre_and_size,
    check_reach,
    dataset_of,
    owned_cells,
)
from perfield.pictures.geometry_picture import geometry_blocks

KINDS = ("image", "rectilinear", "structured", "unstructured")


@pytest.mark.parametrize("kind", KINDS)
def test_cube_is_the_same_in_every_mesh_kind(kind):
    dataset = dataset_of(fake_run.cube(2, kind, cells=3))
    assert dataset.GetNumberOfPoints() == 4**3
    assert dataset.GetNumberOfCells() == 3**3
    assert dataset.GetBounds() == pytest.approx((2, 3, 0, 1, 0, 1))
    assert dataset.GetCell(26).GetBounds() == pytest.approx((2 + 2 / 3, 3, 2 / 3, 1, 2 / 3, 1))


def test_tetrahedra_and_triangles_mix_in_one_block():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    block = fake_run.FakeBlock(0, "unstructured", points=points)
    block.connectivity, block.offsets = np.array([0, 1, 2, 3, 0, 1, 2]), np.array([0, 4, 7])
    block.types = np.array([10, 5])
    dataset = dataset_of(block)
    assert [dataset.GetCellType(cell) for cell in range(2)] == [10, 5]
    assert dataset.GetCell(1).GetNumberOfPoints() == 3


def test_ghosts_are_marked_and_not_owned():
    block = fake_run.cube(0, "image", cells=2)
    block.ghosts = {"cell": np.array([0, 0, 0, 0, 7, 7, 7, 7]), "point": np.zeros(27)}
    dataset = dataset_of(block)
    assert vtk_to_numpy(dataset.GetCellData().GetArray(GHOSTS)).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert owned_cells(dataset) == 4


def test_empty_piece_is_an_empty_dataset():
    empty = fake_run.FakeBlock(0, "unstructured", points=np.zeros((0, 3)))
    dataset = dataset_of(empty)
    assert dataset.GetNumberOfCells() == dataset.GetNumberOfPoints() == 0
    assert centre_and_size([dataset]) is None


def test_piece_centre_is_centre_of_its_bounding_box():
    centre, size = centre_and_size([dataset_of(fake_run.cube(rank, "image")) for rank in (0, 2)])
    assert centre.tolist() == [1.5, 0.5, 0.5]
    assert size == pytest.approx(11**0.5)


def test_vectors_keep_their_components():
    dataset = dataset_of(fake_run.cube(0, "image", cells=1))
    attach(dataset, "velocity", np.arange(24.0).reshape(8, 3), "point")
    assert dataset.GetPointData().GetArray("velocity").GetTuple(7) == (21, 22, 23)


def test_attach_copies_the_callers_arrays():
    values = np.ones(8)
    dataset = dataset_of(fake_run.cube(0, "image", cells=1))
    attach(dataset, "temperature", values, "point")
    values[:] = 5
    assert dataset.GetPointData().GetArray("temperature").GetRange() == (1, 1)


def test_field_of_wrong_length_reports_both_lengths():
    dataset = dataset_of(fake_run.cube(0, "image", cells=1))
    with pytest.raises(
        MeshError, match=r"'wait' has 5 values, but the block has 8 points; check .*perfield_field"
    ):
        attach(dataset, "wait", np.zeros(5), "point")


def wrong_blocks():
    """Faulty blocks, each with words of its message."""
    one_based = fake_run.cube(0, "unstructured", cells=1)
    one_based.connectivity = one_based.connectivity + 1
    falling = fake_run.cube(0, "unstructured", cells=2)
    falling.offsets = falling.offsets[::-1]
    polyhedra = fake_run.cube(0, "unstructured", cells=1)
    polyhedra.types = np.array([42])
    tetrahedra = fake_run.cube(0, "unstructured", cells=1)
    tetrahedra.types = np.array([10])
    unknown_cells = fake_run.cube(0, "unstructured", cells=1)
    unknown_cells.types = np.array([266])  # 10 in 8 bits
    untyped = fake_run.cube(0, "unstructured", cells=2)
    untyped.types = np.array([12, 12, 12])
    real = fake_run.cube(0, "unstructured", cells=1)
    real.offsets = np.array([0.0, np.nan])
    wrapped = fake_run.cube(0, "unstructured", cells=2)
    wrapped.offsets = np.array([0, 2**63 - 1, -(2**63), *wrapped.offsets[3:]])
    bare = fake_run.cube(0, "unstructured", cells=1)
    bare.types = None
    uneven = fake_run.cube(0, "unstructured", cells=1)
    uneven.points = uneven.points.ravel()[:-1]
    reversed_extent = fake_run.cube(0, "image")
    reversed_extent.extent = (3, 0, 0, 3, 0, 3)
    huge = fake_run.cube(0, "structured")
    huge.extent = (-(2**31), 2**31 - 1) * 3  # 2**96 points, 0 in 64 bits
    flat = fake_run.cube(0, "image")
    flat.spacing = (1.0, float("nan"), 1.0)
    short = fake_run.cube(0, "rectilinear")
    short.y = short.y[:-1]
    curved = fake_run.cube(0, "structured")
    curved.points = curved.points[:-1]
    unknown = fake_run.cube(0, "image")
    unknown.kind = "octree"
    return [
        (one_based, "connects points 1 to 8, but has points 0 to 7; check first_number"),
        (falling, "offsets from 64 to 0 over 64 entries"),
        (polyhedra, "general polyhedra"),
        (tetrahedra, r"block 0: a cell of type 10 \(tetrahedron\) has 8 points; expected 4; check"),
        (unknown_cells, "a cell of type 266 is none of VTK's"),
        (untyped, "has 3 cell types for 8 cells"),
        (real, "offsets of type float64; expected whole numbers"),
        (wrapped, "expected offsets that start at 0, never fall"),
        (bare, "lacks its types"),
        (uneven, "holds no mesh of kind 'unstructured'"),
        (reversed_extent, r"has the extent \[3, 0, 0, 3, 0, 3\]; expected"),
        (huge, "points, on which 8 arrays take"),
        (flat, "has the spacing .*; expected three finite numbers"),
        (short, r"3 y coordinates, but its extent \[0, 3, 0, 3, 0, 3\] needs 4"),
        (curved, r"63 points, but its extent .* needs 64"),
        (unknown, "kind 'octree'; expected one of image,"),
    ]


@pytest.mark.parametrize(("block", "words"), wrong_blocks(), ids=lambda value: str(value)[:20])
def test_inconsistent_mesh_is_refused_with_a_reason(block, words):
    with pytest.raises(MeshError, match=words):
        dataset_of(block)


def test_points_of_cells_are_those_of_vtk():
    for kind in range(256):
        cell = vtkGenericCell.InstantiateCell(kind)
        needed = cell.GetNumberOfPoints() if cell is not None else -1
        if needed > 0 and kind < 68:  # not of any order
            assert not wrong_cell(kind, needed), kind
            assert wrong_cell(kind, needed - 1) or kind in (2, 4, 6, 7, 36, 41, 42), kind
        if cell is None:
            assert "none of VTK's" in wrong_cell(kind, 8), kind


def test_cells_of_higher_order_have_the_points_of_an_order():
    assert not any(wrong_cell(72, n) for n in (8, 27, 64))
    assert wrong_cell(72, 9).endswith("has 9 points; expected 8, 27, 64, ... of an order up to 10")
    assert not wrong_cell(71, 20) and wrong_cell(73, 20) and not wrong_cell(73, 18)


@pytest.mark.parametrize("kind", ["image", "structured"])
def test_grid_that_does_not_fit_into_memory_is_refused_before_it_is_made(kind):
    block = fake_run.cube(0, kind, cells=3)
    block.extent = (0, 999) * 2 + (0, 99_999)
    with pytest.raises(MeshError, match="block 0 has 100,000,000,000 points, on which 8 arrays take"):
        dataset_of(block)


def test_fields_that_do_not_fit_into_memory_are_refused_before_they_are_made(tmp_path, monkeypatch):
    run = fake_run.FakeRun(tmp_path, ranks=1)
    ((_, whole),) = geometry_blocks(run, run.frame(0))
    for_eight_arrays = 2 * 8 * 8 * whole.GetNumberOfPoints()
    monkeypatch.setattr(blocks, "SMALL_BYTES", 0)
    monkeypatch.setattr(blocks, "free_bytes", lambda: for_eight_arrays)
    with pytest.raises(MeshError, match=r"on which \d\d arrays take .* are free. Name fewer fields"):
        list(geometry_blocks(run, run.frame(0)))


def test_small_grid_is_made_without_asking_for_the_memory_that_is_free(monkeypatch):
    monkeypatch.setattr(blocks, "free_bytes", lambda: pytest.fail("asked"))
    assert dataset_of(fake_run.cube(0, "image", cells=4)).GetNumberOfCells() == 64


@pytest.mark.parametrize("far", [np.inf, 1e308, -1e305, np.nan])
def test_block_that_no_picture_has_room_for_is_a_sentence(far):
    block = fake_run.cube(0, "structured", cells=1)
    block.points = np.full_like(block.points, far) if np.isnan(far) else block.points.copy()
    block.points.reshape(-1)[0] = far
    with pytest.raises(MeshError, match=r"block 3 (reaches from|has no finite point).*expected coordinates"):
        check_reach("block 3", dataset_of(block))


def test_ghosts_that_are_no_bytes_hide_nothing():
    dataset = dataset_of(fake_run.cube(0, "image", cells=2))
    attach(dataset, GHOSTS, np.ones(8), "cell")
    assert owned_cells(dataset) == 8
