# SPDX-License-Identifier: BSD-3-Clause
"""The names of rows at the left of the topology picture, and the numbers of ranks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures.row_labels import row_labels
from perfield.topology import LEVELS, layout, place, read_machine

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"


def cells_of(*places: str, hosts: int = 1):
    """The cells of ranks with these CPU sets on a machine of 8 cores, on each of some hosts."""
    machine = read_machine(MACHINES / "two-packages-4-cores.xml")
    ranks = [{"host": f"n{host}", "cpuset": cpus} for host in range(hosts) for cpus in places]
    return layout(place(ranks, {f"n{host}": machine for host in range(hosts)}), 0)


def points_of(labels) -> np.ndarray:
    return vtk_to_numpy(labels.GetPoints().GetData())


def left_of_planes(cells, labels) -> np.ndarray:
    """The points of the names of rows."""
    points = points_of(labels)
    return points[points[:, 0] < (cells.x - cells.width / 2).min()]


def test_each_row_has_a_name_left_of_the_first_plane():
    cells = cells_of("0", "1", hosts=2)
    points = left_of_planes(cells, row_labels(cells))
    assert points[:, 0].max() == pytest.approx((cells.x - cells.width / 2).min() - 0.5)
    assert (points[:, 2] == cells.node_z[0]).all()
    rows = {LEVELS[level]: cells.y[cells.level == level][0] for level in np.unique(cells.level)}
    assert {"node", "pu", "rank", "measurement"} <= set(rows)
    for name, height in rows.items():
        assert (np.abs(points[:, 1] - height) < 0.4).any(), name
    assert all(min(abs(y - height) for height in rows.values()) < 0.6 for y in points[:, 1])


def test_rows_of_many_nodes_have_no_names():
    assert len(left_of_planes(cells_of("0", hosts=6), row_labels(cells_of("0", hosts=6))))
    many = cells_of("0", hosts=7)
    assert not len(left_of_planes(many, row_labels(many)))


def test_labels_without_letters_keep_their_arrays():
    none = row_labels(cells_of(*["0-7"] * 20, hosts=7))
    assert none.GetNumberOfPoints() == 0 and none.GetPoints() is not None
    assert none.GetPointData().HasArray("node_id") and none.GetPointData().HasArray("anchor_x")
    assert none.GetFieldData().HasArray("stretch")


def test_unbound_ranks_have_one_name_for_all_their_rows():
    cells = cells_of("0-7", "0-7", "0-7", "0-7")
    points = left_of_planes(cells, row_labels(cells, "unbound"))
    below = points[points[:, 1] < cells.y[cells.machine].min() - 1]
    stack = cells.y[cells.movable]
    assert below[:, 1].mean() == pytest.approx(stack.mean(), abs=0.3)
    assert np.ptp(below[:, 1]) < 1


def test_rank_has_its_number_in_its_cell():
    cells = cells_of("0", "3", "0-7")
    points = points_of(row_labels(cells))
    for n in range(3):
        cell = cells.ranks.start + n
        near = np.abs(points[:, 0] - cells.line_x[n]) < cells.width[cell] / 2
        near &= np.abs(points[:, 1] - cells.y[cell]) < cells.height[cell] / 2
        assert near.any(), n


def test_many_ranks_have_no_numbers():
    cells = cells_of(*["0-7"] * 60)
    labels = row_labels(cells)
    assert len(left_of_planes(cells, labels)) == len(points_of(labels))


def test_letters_are_wider_where_planes_are_seen_from_the_side():
    one, several = (cells_of("0", hosts=hosts) for hosts in (1, 3))
    widths = [np.ptp(left_of_planes(cells, row_labels(cells))[:, 0]) for cells in (one, several)]
    assert widths[1] > 2 * widths[0]
