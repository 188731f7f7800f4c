# SPDX-License-Identifier: BSD-3-Clause
"""A field before, after and as difference, on meshes that two runs divide alike or differently."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkImageData

from perfield.pictures.blocks import GHOSTS, MeshError, attach
from perfield.pictures.compared import Side, compared_mesh, other_places


class Slabs:
    """A bar of 12 x 2 x 2 cells, cut along x."""

    origin = "the test"

    def __init__(self, *ends: int, ghosts: int = 0):
        """ends : where each rank's slab ends. ghosts : layers of the next slab that a rank also has."""
        self._slabs = list(zip((0, *ends[:-1]), ends))
        self._ghosts = ghosts

    def blocks(self, rank, frame):
        begin, end = self._slabs[rank]
        last = min(end + self._ghosts, self._slabs[-1][1])
        image = vtkImageData()
        image.SetExtent(begin, last, 0, 2, 0, 2)
        if self._ghosts:
            x = np.arange(begin, last)
            attach(image, GHOSTS, np.tile((x >= end).astype(np.uint8), 4), "cell")
        return [(0, image)]


def side(name: str, values: list[float], pieces) -> Side:
    run = SimpleNamespace(n_ranks=len(values))
    return Side(name, "one step", run, SimpleNamespace(), np.array(values, float), pieces)


def shown(mesh, field: str) -> dict[str, np.ndarray]:
    """An array's values on the bar's cells along x, for each of the three arrays."""
    found = {}
    for ending in ("_before", "_after", "_difference"):
        along = np.full(12, np.nan)
        for _, dataset in mesh.blocks(field):
            extent = dataset.GetExtent()
            values = vtk_to_numpy(dataset.GetCellData().GetArray(field + ending))
            along[extent[0] : extent[1]] = values.reshape(4, -1)[0]
        found[ending] = along
    return found


def test_ranks_keep_their_values_where_the_mesh_is_divided_alike():
    pieces = Slabs(6, 12)
    mesh = compared_mesh(side("A", [1, 2], pieces), side("B", [5, 2], pieces), "compute_time_s")
    assert mesh.alike and not mesh.per_cell
    found = shown(mesh, "compute_time_s")
    assert found["_after"].tolist() == [5.0] * 6 + [2.0] * 6
    assert found["_difference"].tolist() == [4.0] * 6 + [0.0] * 6


def test_compute_time_is_shared_out_among_cells_where_the_mesh_is_divided_differently():
    before = side("A", [24, 48], Slabs(6, 12))  # 24 cells each
    after = side("B", [16, 16, 16], Slabs(4, 8, 12))  # 16 cells each
    mesh = compared_mesh(before, after, "solve_compute_time_s")
    assert mesh.per_cell
    found = shown(mesh, "solve_compute_time_s")
    assert found["_before"].tolist() == [1.0] * 6 + [2.0] * 6
    assert found["_after"].tolist() == [1.0] * 12
    assert found["_difference"].tolist() == [0.0] * 6 + [-1.0] * 6


def test_other_fields_show_the_value_of_the_rank_that_has_the_cell():
    mesh = compared_mesh(
        side("A", [1, 2], Slabs(6, 12)), side("B", [5, 5, 9], Slabs(4, 8, 12)), "waiting_time_s"
    )
    assert not mesh.per_cell and not mesh.alike
    assert shown(mesh, "waiting_time_s")["_difference"].tolist() == [4.0] * 6 + [3.0] * 2 + [7.0] * 4


def test_ghost_cells_do_not_count_as_cells_of_a_rank():
    before = side("A", [24, 48], Slabs(6, 12, ghosts=1))
    after = side("B", [16, 16, 16], Slabs(4, 8, 12, ghosts=1))
    found = shown(compared_mesh(before, after, "compute_time_s"), "compute_time_s")
    assert found["_before"].tolist() == [1.0] * 6 + [2.0] * 6


def test_absent_values_stay_absent():
    pieces = Slabs(6, 12)
    mesh = compared_mesh(side("A", [1, np.nan], pieces), side("B", [5, 2], pieces), "compute_time_s")
    difference = shown(mesh, "compute_time_s")["_difference"]
    assert difference[:6].tolist() == [4.0] * 6 and np.isnan(difference[6:]).all()


@pytest.mark.parametrize("ends", [(6, 11), (6, 13)])
def test_other_meshes_are_refused_with_the_number_of_cells_that_differ(ends):
    with pytest.raises(MeshError, match=r"of \d+ cells of B have no cell of A, which has 48 cells"):
        compared_mesh(side("A", [1, 2], Slabs(6, 12)), side("B", [1, 2], Slabs(*ends)), "compute_time_s")


def test_a_side_without_a_mesh_is_refused():
    nothing = SimpleNamespace(origin="", blocks=lambda rank, frame: [])
    with pytest.raises(MeshError, match="B has no mesh with cells"):
        compared_mesh(side("A", [1, 2], Slabs(6, 12)), side("B", [1, 2], nothing), "compute_time_s")


def test_the_simulations_own_fields_are_left_out():
    class Named(Slabs):
        def blocks(self, rank, frame):
            [(number, image)] = super().blocks(rank, frame)
            attach(image, "temperature", np.zeros(image.GetNumberOfPoints()), "point")
            return [(number, image)]

    mesh = compared_mesh(side("A", [1], Named(12)), side("B", [1], Named(12)), "compute_time_s")
    [(name, dataset)] = mesh.blocks("compute_time_s")
    assert name == "rank_0" and dataset.GetPointData().GetArray("temperature") is None


def test_ranks_that_moved_are_found():
    def placement(core):
        columns = {name: np.zeros(3) for name in ("node_id", "package_id", "numa_id")}
        return SimpleNamespace(**columns, core_id=np.array(core, float))

    assert other_places(placement([0, 1, 2]), placement([0, 2, 1])) == [1, 2]
    assert other_places(placement([0, np.nan, 2]), placement([0, np.nan, 2])) == []
