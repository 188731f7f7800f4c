# SPDX-License-Identifier: BSD-3-Clause
"""Moves the layers of the machine picture in ParaView, as one of `layouts.py`.

In the pipeline browser, the script of the filter "layout" begins with the layout's name: change it and press
Apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from layouts import LAYOUTS, LETTERS, ROUND, WITHOUT_SWITCHES, Sizes, has_letters, moved
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkCompositeDataSet

# By layout: nothing but a name of LAYOUTS is ever written into a script.
SCRIPTS = {
    layout: f"""\
layout = "{layout}"  # one of: {", ".join(LAYOUTS)}
import layout_filter
layout_filter.arrange(self, layout)
"""
    for layout in LAYOUTS
}


def sizes_of(layers: Mapping[str, Any]) -> Sizes | None:
    """The sizes of a picture, from its layer of ranks; None without planes, as in an overview."""
    if "ranks" not in layers:  # a process of ParaView without the machine
        return None
    field_data = layers["ranks"].GetFieldData()
    arrays = [field_data.GetArray(name) for name in ("node_z", "node_switch", "plane_sizes")]
    if any(array is None for array in arrays) or not arrays[0].GetNumberOfTuples():
        return None
    z, switch, sizes = map(vtk_to_numpy, arrays)
    return Sizes(z, *sizes.tolist(), np.unique(switch, return_inverse=True)[1])


def hull(layout: str, layers: Mapping[str, Any]) -> np.ndarray | None:
    """Points (n, 3) around a picture of planes in a layout; None for an overview, which has none.

    The lines of all steps lie within.
    """
    sizes = sizes_of(layers)
    if sizes is None:
        return None
    letters = has_letters(layout, sizes.n_nodes)
    x, y = np.meshgrid([-LETTERS * letters, sizes.width], [-sizes.comm_offset, sizes.top])
    nodes = np.repeat(np.arange(sizes.n_nodes), 4)
    each = np.stack([np.tile(x.ravel(), sizes.n_nodes), np.tile(y.ravel(), sizes.n_nodes), sizes.z[nodes]], 1)
    around = [moved(layout, sizes, each, nodes)]
    if "switches" in layers and layers["switches"].GetNumberOfCells() and layout not in WITHOUT_SWITCHES:
        own = layers["switches"]
        node_id = vtk_to_numpy(own.GetPointData().GetArray("node_id"))
        around.append(moved(layout, sizes, vtk_to_numpy(own.GetPoints().GetData()), node_id, "switches"))
    return np.concatenate(around)


def arrange(programmable: Any, layout: str) -> None:
    """Fills the output of a Programmable Filter: its input's layers in a layout."""
    arranged(programmable.GetInputDataObject(0, 0), programmable.GetOutputDataObject(0), layout)


def arranged(pictures: Any, result: Any, layout: str) -> None:
    """Makes `result` the layers of a machine picture (composite data) in a layout; the input stays.

    An overview stays as it is. Raises ValueError for an unknown layout.
    """
    result.CopyStructure(pictures)
    iterator = pictures.NewIterator()
    iterator.InitTraversal()
    while not iterator.IsDoneWithTraversal():
        data = iterator.GetCurrentDataObject()
        own = data.NewInstance()
        own.ShallowCopy(data)
        result.SetDataSet(iterator, own)
        iterator.GoToNextItem()
    layers = leaves(result)
    sizes = sizes_of(layers)
    if layout == "planes" or sizes is None:
        return
    for name, data in layers.items():
        if data.GetNumberOfPoints():
            _move(data, layout, sizes, name)


def _move(data: Any, layout: str, sizes: Sizes, layer: str) -> None:
    before = vtk_to_numpy(data.GetPoints().GetData())
    node_id = vtk_to_numpy(data.GetPointData().GetArray("node_id"))
    if layer == "labels":
        before = _narrow(data, before)
    after = moved(layout, sizes, before, node_id, layer)
    points = vtkPoints()
    points.SetData(numpy_to_vtk(after.astype(np.float32), deep=True))
    data.SetPoints(points)
    if layer == "planes" and layout in ROUND:
        _outline(data)
    elif layer == "labels" and not has_letters(layout, sizes.n_nodes):
        _keep(data, before[:, 0] >= 0)
    elif layer in ("switches", "links") and layout in WITHOUT_SWITCHES:
        data.Initialize()


def _narrow(labels: Any, points: np.ndarray) -> np.ndarray:
    """The letters without the stretch that they have because planes are seen from the side."""
    middle, stretch = labels.GetPointData().GetArray("anchor_x"), labels.GetFieldData().GetArray("stretch")
    narrow, at = points.copy(), vtk_to_numpy(middle)
    narrow[:, 0] = at + (points[:, 0] - at) / stretch.GetValue(0)
    return narrow


def _keep(letters: Any, wanted: np.ndarray) -> None:
    """Leaves out the polygons of letters, which have no cell arrays, whose points are not wanted."""
    polygons = letters.GetPolys()
    offsets, numbers = (
        vtk_to_numpy(array) for array in (polygons.GetOffsetsArray(), polygons.GetConnectivityArray())
    )
    size = np.diff(offsets)
    keep = wanted[numbers[offsets[:-1]]] if len(size) else np.zeros(0, bool)
    letters.SetPolys(_cells(numbers[np.repeat(keep, size)], size[keep]))


def _outline(planes: Any) -> None:
    """Makes outlines of rectangles, which hide nothing when one sees nodes from behind."""
    corners = vtk_to_numpy(planes.GetPolys().GetConnectivityArray()).reshape(-1, 4)
    closed = np.concatenate([corners, corners[:, :1]], axis=1)
    planes.SetPolys(vtkCellArray())
    planes.SetLines(_cells(closed.ravel(), np.full(len(closed), 5)))


def _cells(numbers: np.ndarray, sizes: np.ndarray) -> vtkCellArray:
    """Cells of `sizes` points each, whose numbers follow each other."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    cells = vtkCellArray()
    cells.SetData(numpy_to_vtk(offsets, deep=True), numpy_to_vtk(numbers.astype(np.int64), deep=True))
    return cells


def leaves(data: Any) -> dict[str, Any]:
    """The datasets of composite data by name."""
    iterator = data.NewIterator()
    iterator.InitTraversal()
    found = {}
    while not iterator.IsDoneWithTraversal():
        found[iterator.GetCurrentMetaData().Get(vtkCompositeDataSet.NAME())] = iterator.GetCurrentDataObject()
        iterator.GoToNextItem()
    return found
