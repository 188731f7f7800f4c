# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the machine, without values: layers of cells in the plane, and the ranks of each cell.

Values are joined in the browser: a rank's cell shows its value, a part of the machine what the ranks below it
have, a device what the ranks that use it have. So the picture is sent once, for a size on the screen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkPolyData

from perfield.pictures.layout_scripts import layout_filter
from perfield.pictures.machine_values import ADDED_UP_ON_DEVICES
from perfield.pictures.overview import EXPLAINED, Overview
from perfield.pictures.topology_picture import TopologyScene, topology_scene
from perfield.serve.about import is_overview
from perfield.serve.followed import View
from perfield.serve.packed import packed
from perfield.serve.surface import in_cells

LAYERS = ("planes", "switches", "machine", "devices", "ranks", "measurements", "labels")
USUAL = (1000, 500)  # width and height in pixels
LEAST, MOST = 120, 8000  # of both
PART = "perfield_part"  # the cell of a picture of planes that a cell comes from
_Below = dict[str, tuple[np.ndarray, np.ndarray]]  # by layer: begin of each part's ranks, and the ranks


def machine(view: View, overview: bool | None = None, size: tuple[int, int] = USUAL) -> bytes:
    """The layers of the machine that have any cell, as the layout `flat` places them.

    overview : one cell per node; None does so for many ranks. size : width and height that it fills, pixels.

    Arrays of each layer: LAYER/points float32 (n, 2); LAYER/polys uint32, each cell as its number of points
    and these; and of each cell LAYER/rank int32 (-1: a part of the machine) and LAYER/part int32, the row of
    the part in the header's lists. The ranks of part p are LAYER/below int32 from LAYER/below_begin[p] to
    LAYER/below_begin[p + 1] - 1.
    line_from, line_to : float32 (n_ranks, 2); a message is a line from line_from[source] to line_to[target],
    NaN for ranks without a place.
    Header: overview, box (left, right, low, high), deepest (of lines), texts [[text, x, y of its middle,
    height of a capital letter, where x is: 0 left, 0.5 middle, 1 right]], notes, and layers: [{"name",
    "n_parts", "names", "types", "added_up"}] with a name and a type in words of each part ("" where it has
    none), and the fields whose sum over its ranks a part has; of others it has the mean.
    """
    coarse = is_overview(view) if overview is None else overview
    # All that places ranks is written when they check in and when they end.
    now = view.run.state, sum(entry is not None for entry in view.run.rank_entries)
    scene = view.shapes.get(("scene", coarse, now), lambda: _scene(view, coarse))
    key = "machine", coarse, None if coarse else size, now
    return view.shapes.get(key, lambda: _made(view, scene, size))


def _scene(view: View, coarse: bool) -> TopologyScene | Overview:
    without = ("messages", "collectives")
    return topology_scene(view.run, view.placement, overview=coarse, without=without)


def _made(view: View, scene: TopologyScene | Overview, size: tuple[int, int]) -> bytes:
    arrays: dict[str, np.ndarray] = {}
    if isinstance(scene, Overview):
        originals = scene.without_values()
        datasets, ranks = _numbered(originals), None
        groups = {name: of.members() for name, of in scene.groups().items()}
        node = view.placement.node_id
        placed = np.flatnonzero(node >= 0)
        ends = (placed, *[scene.middles()[node[placed], :2]] * 2)
        about = {"texts": [], "notes": [*scene.notes, EXPLAINED]}
    else:
        originals = {name: getattr(scene, name) for name in LAYERS if name != "labels"}
        datasets, ranks = _numbered(originals), scene.cells.rank
        groups = _groups(scene)
        ends, about = _flattened(scene, datasets, size)
    layers = [
        _layer(arrays, name, datasets[name], ranks, groups.get(name)) | _words(name, originals[name])
        for name in LAYERS
        if name in datasets and datasets[name].GetNumberOfCells()
    ]
    arrays["line_from"], arrays["line_to"] = np.full((2, view.run.n_ranks, 2), np.nan, np.float32)
    arrays["line_from"][ends[0]], arrays["line_to"][ends[0]] = ends[1:]
    if "box" not in about:
        boxes = np.array([datasets[layer["name"]].GetBounds()[:4] for layer in layers]).reshape(-1, 2, 2)
        low, high = boxes[:, :, 0].min(axis=0, initial=np.inf), boxes[:, :, 1].max(axis=0, initial=-np.inf)
        about |= {"box": [low[0], high[0], low[1], high[1]], "deepest": low[1]}
    return packed(arrays, overview=isinstance(scene, Overview), **about, layers=layers)


def _numbered(layers: dict[str, vtkPolyData]) -> dict[str, vtkPolyData]:
    """Copies of layers whose cells know their numbers."""
    copies = {}
    for name, layer in layers.items():
        copies[name] = vtkPolyData()
        copies[name].ShallowCopy(layer)
        array = numpy_to_vtk(np.arange(layer.GetNumberOfCells(), dtype=np.int32), deep=True)
        array.SetName(PART)
        copies[name].GetCellData().AddArray(array)
    return copies


def _flattened(
    scene: TopologyScene, datasets: dict[str, vtkPolyData], size: tuple[int, int]
) -> tuple[tuple[np.ndarray, ...], dict[str, Any]]:
    """Moves the layers; returns the ranks with both ends of their lines, and what the header says."""
    arrange = layout_filter()
    datasets["measurements"].GetCellData().AddArray(datasets["ranks"].GetCellData().GetArray("node_id"))
    sizes = arrange.sizes_of(datasets, "flat", size, names=False)
    flat = sizes.flat
    texts = arrange.flatten(datasets, sizes, flat)
    if flat.merged:
        datasets.pop("ranks")  # their values are where their numbers would be
    cells, n_ranks = scene.cells, len(scene.cells.rank)
    ends = np.zeros((2, n_ranks, 3))
    ends[:, :, 0], ends[1, :, 1] = cells.line_x, -scene.comm_offset
    begin, end = (flat.moved(points, scene.placement.node_id[cells.rank])[:, :2] for points in ends)
    rows = [f"rows from the top: {', '.join(flat.rows)}"] if flat.rows else []
    return (cells.rank, begin, end), {
        "box": flat.box,
        "deepest": flat.deepest,
        "texts": [[text.text, text.x, text.y, text.height, text.aligned] for text in texts],
        "notes": [*scene.notes, *rows],
    }


def _groups(scene: TopologyScene) -> _Below:
    groups = {
        "machine": scene.part_ranks,
        "switches": scene.switch_ranks,
        "devices": scene.device_ranks,
    }
    below = {}
    for name, of in groups.items():
        begin, places = of.members()
        below[name] = begin, scene.cells.rank[places]
    return below


def _layer(
    arrays: dict[str, np.ndarray],
    name: str,
    dataset: vtkPolyData,
    ranks: np.ndarray | None,
    below: tuple[np.ndarray, np.ndarray] | None,
) -> dict[str, Any]:
    """Adds the arrays of a layer; returns its row in the header, without words. ranks : of cells of ranks.
    below : as _Below."""
    part = vtk_to_numpy(dataset.GetCellData().GetArray(PART))
    n_parts = int(part.max()) + 1
    is_of_ranks = ranks is not None and name in ("ranks", "measurements")
    rank = ranks[part] if is_of_ranks else np.full(len(part), -1)
    begin, ranks_below = below if below is not None else (np.zeros(n_parts + 1, np.int32), part[:0])
    arrays |= {
        f"{name}/points": vtk_to_numpy(dataset.GetPoints().GetData())[:, :2].astype(np.float32),
        f"{name}/polys": in_cells(dataset.GetPolys()),
        f"{name}/rank": rank.astype(np.int32),
        f"{name}/part": part.astype(np.int32),
        f"{name}/below": ranks_below.astype(np.int32),
        f"{name}/below_begin": begin.astype(np.int32),
    }
    added_up = sorted(ADDED_UP_ON_DEVICES) if name == "devices" else []
    return {"name": name, "n_parts": n_parts, "added_up": added_up}


def _words(name: str, dataset: vtkPolyData) -> dict[str, list[str]]:
    """Name and type of each part."""
    names, types = _names_and_types(name, dataset)
    return {"names": names, "types": types}


def _names_and_types(name: str, dataset: vtkPolyData) -> tuple[list[str], list[str]]:
    if name in ("labels", "ranks", "planes"):
        return [], []
    cells, n_parts = dataset.GetCellData(), dataset.GetNumberOfCells()

    def texts(array: str) -> list[str]:
        found = cells.GetAbstractArray(array)
        return [found.GetValue(n) for n in range(n_parts)] if found is not None else [""] * n_parts

    types = texts("type")
    if name == "switches":
        return texts("switch"), ["switch"] * n_parts
    if name == "devices":
        return [f"{what} on {host}" for what, host in zip(texts("device"), texts("host"))], types
    hosts, number = texts("host"), cells.GetArray("id")
    if number is None:
        return [], types
    numbers = vtk_to_numpy(number).astype(int).tolist()
    return [
        host if kind == "node" else f"{kind} {number} of {host}"
        for host, kind, number in zip(hosts, types, numbers)
    ], types
