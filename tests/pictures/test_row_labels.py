# SPDX-License-Identifier: BSD-3-Clause
"""The names of rows at the left of the topology picture."""

from __future__ import annotations

import numpy as np
import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy

import perfield
import twin
from perfield.pictures.row_labels import row_labels
from perfield.pictures.topology_picture import topology_scene
from perfield.topology import LEVELS


def test_each_row_has_a_label_left_of_the_first_plane(tmp_path):
    twin.write_run(tmp_path / "run", ranks=4, steps=1, hosts=("a", "b"))
    cells = topology_scene(perfield.open(tmp_path / "run")).cells
    points = vtk_to_numpy(row_labels(cells).GetPoints().GetData())
    left = (cells.x - cells.width / 2).min()
    assert points[:, 0].max() == pytest.approx(left - 0.5)
    assert (points[:, 2] == cells.node_z[0]).all()
    rows = {LEVELS[level]: cells.y[cells.level == level][0] for level in np.unique(cells.level)}
    assert {"node", "pu", "rank", "measurement"} <= set(rows)
    for name, height in rows.items():
        assert (np.abs(points[:, 1] - height) < 0.4).any(), name
    assert all(min(abs(y - height) for height in rows.values()) < 0.6 for y in points[:, 1])
