# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the machine, without values: layers of cells, and which ranks each cell stands for.

Values are joined in the browser: a rank's cell shows its value, a part of the machine what the ranks below it
have, a device what the ranks that use it have. So the picture is sent once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkPolyData

from perfield.pictures.machine_values import ADDED_UP_ON_DEVICES
from perfield.pictures.overview import EXPLAINED, Overview
from perfield.pictures.topology_picture import TopologyScene, topology_scene
from perfield.serve.about import is_overview
from perfield.serve.followed import View
from perfield.serve.packed import packed
from perfield.serve.surface import in_cells

LAYERS = ("planes", "machine", "ranks", "measurements", "labels", "switches", "links", "devices")
_Below = dict[str, tuple[np.ndarray, np.ndarray]]  # by layer: begin of each part's ranks, and the ranks


def machine(view: View, overview: bool | None = None) -> bytes:
    """The layers of the machine that have any cell.

    overview : one cell per node; None does so for many nodes or ranks.

    Arrays of each layer: LAYER/points float32 (n, 3), LAYER/lines and LAYER/polys uint32, each cell as its
    number of points and these; and of each cell, lines first: LAYER/rank int32 (-1: a part of the machine)
    and LAYER/part int32, the row of the part in the header's lists. The ranks of part p are LAYER/below int32
    from LAYER/below_begin[p] to LAYER/below_begin[p + 1] - 1.
    line_from, line_to : float32 (n_ranks, 3); a message is a line from line_from[source] to line_to[target],
    NaN for ranks without a place.
    Header: overview, bounds, explained (what an overview shows), notes, and layers: [{"name", "n_parts",
    "names", "types", "added_up"}] with a name and a type in words of each part ("" where it has none), and
    the fields whose sum over its ranks a part has; of others it has the mean.
    """
    coarse = is_overview(view) if overview is None else overview
    # All that places ranks is written when they check in and when they end.
    key = "machine", coarse, view.run.state, sum(entry is not None for entry in view.run.rank_entries)
    return view.shapes.get(key, lambda: _made(view, coarse))


def _made(view: View, coarse: bool) -> bytes:
    scene = topology_scene(view.run, view.placement, overview=coarse, without=("messages", "collectives"))
    if isinstance(scene, Overview):
        datasets, of_ranks = scene.without_values(), ()
        groups = {name: of.members() for name, of in scene.groups().items()}
    else:
        datasets, of_ranks = {name: getattr(scene, name) for name in LAYERS}, ("ranks", "measurements")
        groups = _groups(scene)
    arrays: dict[str, np.ndarray] = {}
    layers, boxes = [], []
    for name in LAYERS:
        dataset = datasets[name]
        if not dataset.GetNumberOfCells():
            continue
        ranks = scene.cells.rank if name in of_ranks else np.full(dataset.GetNumberOfCells(), -1)
        layers.append(_layer(arrays, name, dataset, ranks, groups.get(name)))
        boxes.append(dataset.GetBounds())
    arrays["line_from"], arrays["line_to"] = _ends(view, scene)
    box = np.array(boxes).reshape(-1, 3, 2)
    bounds = np.stack([box[:, :, 0].min(axis=0), box[:, :, 1].max(axis=0)], axis=1).ravel() if boxes else None
    return packed(
        arrays,
        overview=isinstance(scene, Overview),
        bounds=bounds,
        explained=EXPLAINED if isinstance(scene, Overview) else "",
        notes=list(scene.notes),
        layers=layers,
    )


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
    ranks: np.ndarray,
    below: tuple[np.ndarray, np.ndarray] | None,
) -> dict[str, Any]:
    """Adds the arrays of a layer; returns its row in the header. ranks : of its parts. below : as _Below."""
    lines, polys = in_cells(dataset.GetLines()), in_cells(dataset.GetPolys())
    n_parts = dataset.GetNumberOfCells()
    part = np.arange(n_parts, dtype=np.int32)
    if dataset.GetStrips().GetNumberOfCells():  # of switches, which layouts bend
        polys, part = _quads(dataset)
    points = vtk_to_numpy(dataset.GetPoints().GetData()).astype(np.float32)
    begin, ranks_below = below if below is not None else (np.zeros(n_parts + 1, np.int32), part[:0])
    arrays |= {
        f"{name}/points": points,
        f"{name}/lines": lines,
        f"{name}/polys": polys,
        f"{name}/rank": ranks.astype(np.int32)[part],
        f"{name}/part": part,
        f"{name}/below": ranks_below.astype(np.int32),
        f"{name}/below_begin": begin.astype(np.int32),
    }
    names, types = _words(name, dataset)
    added_up = sorted(ADDED_UP_ON_DEVICES) if name == "devices" else []
    return {"name": name, "n_parts": n_parts, "names": names, "types": types, "added_up": added_up}


def _quads(dataset: vtkPolyData) -> tuple[np.ndarray, np.ndarray]:
    """Strips of triangles as quads, and the strip of each."""
    strips = dataset.GetStrips()
    ends = vtk_to_numpy(strips.GetOffsetsArray()).astype(np.int64)
    points = vtk_to_numpy(strips.GetConnectivityArray())
    quads, part = [], []
    for strip, (begin, end) in enumerate(zip(ends[:-1], ends[1:])):
        pairs = points[begin:end].reshape(-1, 2)
        quads.append(np.column_stack([np.full(len(pairs) - 1, 4), pairs[:-1], pairs[1:, ::-1]]))
        part += [strip] * (len(pairs) - 1)
    return np.concatenate(quads).astype(np.uint32).ravel(), np.array(part, np.int32)


def _words(name: str, dataset: vtkPolyData) -> tuple[list[str], list[str]]:
    """Name and type of each part, in words."""
    if name in ("labels", "ranks", "planes", "links"):
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


def _ends(view: View, scene: TopologyScene | Overview) -> tuple[np.ndarray, np.ndarray]:
    """Where lines of messages begin and end, float32 (n_ranks, 3) each."""
    begin, end = np.full((2, view.run.n_ranks, 3), np.nan, np.float32)
    if isinstance(scene, Overview):
        node = view.placement.node_id
        placed = node >= 0
        begin[placed] = end[placed] = scene.middles()[node[placed]]
        return begin, end
    cells = scene.cells
    z = cells.z[cells.ranks]
    begin[cells.rank] = np.stack([cells.line_x, np.zeros(len(z)), z], axis=1)
    end[cells.rank] = np.stack([cells.line_x, np.full(len(z), -scene.comm_offset), z], axis=1)
    return begin, end
