# SPDX-License-Identifier: BSD-3-Clause
"""Moves the layers of the machine picture in ParaView, as one of `layouts.py`.

In the pipeline browser, the script of the filter "layout" begins with the layout's name: change it and press
Apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flat_layout import HIGH, SOLID, SPACE, WIDE, Flat, Machine, Text, common, plan
from layouts import LAYOUTS, LETTERS, ROUND, WITHOUT_SWITCHES, Sizes, has_letters, moved
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkPoints, vtkStringArray
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkCompositeDataSet, vtkPolyData
from vtkmodules.vtkFiltersCore import vtkAppendPolyData
from vtkmodules.vtkRenderingFreeType import vtkVectorText

# By layout: nothing but a name of LAYOUTS is ever written into a script.
SCRIPTS = {
    layout: f"""\
layout = "{layout}"  # one of: {", ".join(LAYOUTS)}
import layout_filter
layout_filter.arrange(self, layout)
"""
    for layout in LAYOUTS
}


CELL_HEIGHT = 0.86  # of a cell in its row
SIDE_GAP, WIDEST_SIDE_GAP = (
    0.05,
    0.08,
)  # space on each side of a cell: a fraction of its width, but at most so
DEVICE_NAME = 0.4  # height of a capital letter in the name of a device, in rows
IN_FRONT = 0.2  # of cells, in rows: letters
# Arrays in the field data of the ranks in a flat picture: boxes of the lines of nodes, the size of a pixel in
# images of usual size, and names of the rows where no letters name them.
LINES, PIXEL, ROWS = "flat_lines", "flat_pixel", "flat_rows"


def sizes_of(
    layers: Mapping[str, Any],
    layout: str = "",
    area: tuple[float, float] = (WIDE, HIGH),
    names: bool = True,
) -> Sizes | None:
    """The sizes of a picture, from its layer of ranks; None without planes, as in an overview.

    area, names : as for `plan` of the flat layout.
    """
    if "ranks" not in layers:  # a process of ParaView without the machine
        return None
    field_data = layers["ranks"].GetFieldData()
    arrays = [field_data.GetArray(name) for name in ("node_z", "node_switch", "plane_sizes")]
    if any(array is None for array in arrays) or not arrays[0].GetNumberOfTuples():
        return None
    z, switch, sizes = map(vtk_to_numpy, arrays)
    flat = plan(_machine(layers, len(z), float(sizes[2])), area, names) if layout == "flat" else None
    return Sizes(z, *sizes.tolist(), np.unique(switch, return_inverse=True)[1], flat)


def _machine(layers: Mapping[str, Any], n_nodes: int, depth: float) -> Machine:
    """What the flat layout needs to know of a picture of planes."""
    ranks, parts = layers["ranks"], layers.get("machine")
    node = _column(ranks, "node_id")
    hosts = [""] * n_nodes
    for number, host in zip(node.tolist(), _texts(ranks, "host_name")):
        hosts[number] = host
    switches = layers.get("switches")
    below = switches.GetFieldData().GetArray("below") if switches is not None else None
    n_switches = switches.GetNumberOfCells() if below is not None else 0
    return Machine(
        ranks=_boxes(ranks),
        rank_node=node,
        rank=_column(ranks, "rank"),
        parts=_boxes(parts),
        part_node=_column(parts, "node_id"),
        kind=_texts(parts, "topology_type"),
        hosts=hosts,
        below=(vtk_to_numpy(below) > 0).reshape(n_switches, n_nodes)
        if n_switches
        else np.zeros((0, n_nodes), bool),
        level=_column(switches, "level") if n_switches else np.zeros(0, int),
        switches=_texts(switches, "name") if n_switches else [],
        depth=depth,
    )


def _column(data: Any, name: str) -> np.ndarray:
    """A cell array; empty without data."""
    return vtk_to_numpy(data.GetCellData().GetArray(name)) if data is not None else np.zeros(0, int)


def _texts(data: Any, name: str) -> list[str]:
    """What a cell array's numbers mean, for each cell."""
    texts = data.GetFieldData().GetAbstractArray(f"{name}_names") if data is not None else None
    return [texts.GetValue(int(n)) for n in _column(data, name)] if texts is not None else []


def _points_of_cells(data: Any) -> tuple[np.ndarray, np.ndarray]:
    """The first point of each polygon, and the polygon of each point; they number the points in turn."""
    begins = vtk_to_numpy(data.GetPolys().GetOffsetsArray()).astype(np.int64)
    return begins[:-1], np.repeat(np.arange(len(begins) - 1), np.diff(begins))


def _ends(data: Any) -> np.ndarray:
    """Left, right, lower and upper end of each polygon, (n, 4)."""
    if data is None or not data.GetNumberOfCells():
        return np.zeros((0, 4))
    x, y, _ = vtk_to_numpy(data.GetPoints().GetData()).astype(float).T
    begins, _ = _points_of_cells(data)
    least, most = np.minimum.reduceat, np.maximum.reduceat
    return np.stack([least(x, begins), most(x, begins), least(y, begins), most(y, begins)], axis=1)


def _boxes(data: Any) -> np.ndarray:
    """The places of cells in their planes, with the space around them: left, right, low, high, (n, 4)."""
    left, right, low, high = _ends(data).T
    space = np.minimum((right - left) * SIDE_GAP / (1 - 2 * SIDE_GAP), WIDEST_SIDE_GAP)
    above = (high - low) * (1 / CELL_HEIGHT - 1) / 2
    return np.stack([left - space, right + space, low - above, high + above], axis=1)


def hull(layout: str, layers: Mapping[str, Any], below: bool = True) -> np.ndarray | None:
    """Points (n, 3) around a picture of planes in a layout; None for an overview, which has none.

    The lines of all steps lie within. below : False leaves them out of the flat layout, where they are below
    all else.
    """
    sizes = sizes_of(layers, layout)
    if sizes is None:
        return None
    if sizes.flat is not None:
        left, right, low, high = sizes.flat.box
        low = min(low, sizes.flat.deepest) if below else low
        return np.array([(left, low, 0.0), (right, high, 2 * IN_FRONT)])
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
    sizes = sizes_of(layers, layout)
    if layout == "planes" or sizes is None:
        return
    if sizes.flat is not None:
        _flatten(layers, sizes, sizes.flat)
        return
    for name, data in layers.items():
        if data.GetNumberOfPoints():
            _move(data, layout, sizes, name)


def _flatten(layers: Mapping[str, Any], sizes: Sizes, flat: Flat) -> None:
    texts = flatten(layers, sizes, flat)
    if "labels" in layers:
        layers["labels"].ShallowCopy(_letters(texts))
    about = layers["ranks"].GetFieldData()
    for name, values in ((LINES, flat.lines.astype(float)), (PIXEL, np.array([flat.pixel]))):
        array = numpy_to_vtk(values, deep=True)
        array.SetName(name)
        about.AddArray(array)
    rows = vtkStringArray()
    rows.SetName(ROWS)
    for row in flat.rows:
        rows.InsertNextValue(row)
    about.AddArray(rows)


def flatten(layers: Mapping[str, Any], sizes: Sizes, flat: Flat) -> list[Text]:
    """Moves all layers but the labels into the flat layout, in place; returns what is written there."""
    texts = [*flat.texts, *_names_of_devices(layers.get("devices"), flat)]
    for name, data in layers.items():
        if name == "labels":
            continue
        if name == "switches" and data.GetNumberOfCells():
            data.ShallowCopy(_bars(data, flat))
        elif name in ("switches", "links"):
            data.Initialize()
        elif data.GetNumberOfPoints():
            places = _places(data, flat, name) if name in ("machine", "ranks", "measurements") else None
            _move(data, "flat", sizes, name)
            if places is not None:
                _fill(data, places, flat.pixel)
    return texts


def _places(data: Any, flat: Flat, layer: str) -> np.ndarray:
    """Where cells of planes have their places in the flat layout: left, right, low, high, (n, 4)."""
    boxes, node = _boxes(data), _column(data, "node_id")
    low, high = (
        flat.moved(np.column_stack([boxes[:, (end, end + 2)], np.zeros(len(boxes))]), node, layer)
        for end in (0, 1)
    )
    return np.stack([low[:, 0], high[:, 0], low[:, 1], high[:, 1]], axis=1)


def _fill(data: Any, places: np.ndarray, pixel: float) -> None:
    """Makes cells as large as their places, with equal space between them; none where cells are narrow."""
    ends, size = _ends(data), places[:, 1::2] - places[:, ::2]
    space = np.where(size < SOLID * pixel, 0.0, np.minimum(SPACE * pixel, 0.5 * size))
    factor = np.maximum(size - space, 0.0) / np.maximum(ends[:, 1::2] - ends[:, ::2], 1e-9)
    _, cell = _points_of_cells(data)
    points = vtk_to_numpy(data.GetPoints().GetData()).copy()
    middle, wanted = (ends[:, ::2] + ends[:, 1::2]) / 2, (places[:, ::2] + places[:, 1::2]) / 2
    points[:, :2] = wanted[cell] + (points[:, :2] - middle[cell]) * factor[cell]
    _set_points(data, points)


def _bars(switches: Any, flat: Flat) -> vtkPolyData:
    """A rectangle for each bar of a switch, with the switch's values."""
    made, number = vtkPolyData(), flat.bars[:, 0].astype(int)
    left, right, low, high = flat.bars[:, 1:].T
    corners = np.zeros((len(number), 4, 3))
    corners[:, (0, 3), 0], corners[:, (1, 2), 0] = left[:, None], right[:, None]
    corners[:, :2, 1], corners[:, 2:, 1] = low[:, None], high[:, None]
    _set_points(made, corners.reshape(-1, 3))
    made.SetPolys(_cells(np.arange(4 * len(number)), np.full(len(number), 4)))
    made.SetFieldData(switches.GetFieldData())
    values = made.GetCellData()
    values.CopyAllOn()
    values.CopyAllocate(switches.GetCellData(), len(number))
    for bar, switch in enumerate(number.tolist()):
        values.CopyData(switches.GetCellData(), switch, bar)
    return made


def _names_of_devices(devices: Any, flat: Flat) -> list[Text]:
    """The names of devices above them, where they fit."""
    if devices is None or not devices.GetNumberOfCells():
        return []
    names = devices.GetCellData().GetAbstractArray("device")
    names = [names.GetValue(n) for n in range(devices.GetNumberOfCells())]
    places = _places(devices, flat, "devices")
    height = min(common((places[:, 1] - places[:, 0]) / flat.pixel, names) * flat.pixel, DEVICE_NAME)
    middle, top = places[:, :2].mean(axis=1).tolist(), (places[:, 3] + DEVICE_NAME).tolist()
    return [Text(*named, height) for named in zip(names, middle, top)] if height else []


def _letters(texts: Sequence[Text]) -> vtkPolyData:
    """Texts as polygons, upright and as wide as they should be."""
    append = vtkAppendPolyData()
    for text in texts:
        source = vtkVectorText()
        source.SetText(text.text)
        source.Update()
        written = vtkPolyData()
        written.ShallowCopy(source.GetOutput())
        points = vtk_to_numpy(written.GetPoints().GetData()).astype(float)
        width = np.ptp(points[:, 0]) if len(points) else 0.0
        points[:, 0] -= points[:, 0].min(initial=np.inf) if len(points) else 0.0
        points *= text.height
        points += (text.x - text.aligned * width * text.height, text.y - 0.4 * text.height, IN_FRONT)
        _set_points(written, points)
        append.AddInputData(written)
    if texts:
        append.Update()
    return append.GetOutput()


def _set_points(data: Any, places: np.ndarray) -> None:
    points = vtkPoints()
    points.SetData(numpy_to_vtk(places.astype(np.float32), deep=True))
    data.SetPoints(points)


def _move(data: Any, layout: str, sizes: Sizes, layer: str) -> None:
    before = vtk_to_numpy(data.GetPoints().GetData())
    node_id = vtk_to_numpy(data.GetPointData().GetArray("node_id"))
    if layer == "labels":
        before = _narrow(data, before)
    after = moved(layout, sizes, before, node_id, layer)
    _set_points(data, after)
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
