"""Messages on the mesh, without one array per possible peer.

Lines join the centres of the pieces that talk; a few chosen ranks also get arrays that say, on every piece, what
its rank exchanges with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData

POINTS_PER_LINE = 13
BEND = 0.12  # how far a line leaves the straight way, in parts of its length
LOOP = 0.15  # radius of a message to oneself, in parts of the piece's diagonal


def calls_of(frame: Any) -> list[str]:
    """Names of the calls that send in this run, the same in all of its frames."""
    names = [name[: -len("_bytes")] for name in frame.values if name.endswith("_bytes")]
    return [name for name in names if f"{name}_count" in frame.values and name not in ("sent", "received")]


def pairs_of(messages: np.ndarray, calls: Sequence[str]) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Messages of a frame, one row per pair of ranks.

    messages : `frame.messages`. Returns sources (n,), targets (n,), both world ranks, and per call
    `<call>_count`, `<call>_bytes` and their sums `sent_count`, `sent_bytes`, each (n,) float64.
    """
    known = messages[(messages["source"] >= 0) & (messages["target"] >= 0)]
    ends = np.stack([known["source"], known["target"]], axis=1).astype(np.int64)
    pairs, of_row = np.unique(ends, axis=0, return_inverse=True)
    of_row = of_row.ravel()
    called = known["call"].astype(str)
    sums = {}
    for call in (*calls, "sent"):
        weight = np.ones(len(known)) if call == "sent" else (called == call).astype(float)
        for quantity in ("count", "bytes"):
            sums[f"{call}_{quantity}"] = np.bincount(of_row, weight * known[quantity], minlength=len(pairs))
    return pairs[:, 0], pairs[:, 1], sums


def message_lines(frame: Any, centres: np.ndarray, sizes: np.ndarray) -> vtkPolyData:
    """One bent line from the centre of the sender's piece to that of the receiver's.

    centres : (n_ranks, 3), NaN where a rank has no mesh: its messages are left out; sizes : (n_ranks,) length of
    a piece's diagonal. Lines A to B and B to A bend to opposite sides; a message to oneself is a loop.
    Cell arrays: source, target, `<call>_count`, `<call>_bytes`, sent_count, sent_bytes.
    """
    sources, targets, sums = pairs_of(frame.messages, calls_of(frame))
    drawn = np.isfinite(centres[sources, 0]) & np.isfinite(centres[targets, 0])
    sources, targets = sources[drawn], targets[drawn]
    lines = vtkPolyData()
    points = vtkPoints()
    coordinates = _bent(centres[sources], centres[targets], sizes[sources])
    points.SetData(numpy_to_vtk(coordinates.reshape(-1, 3).astype(np.float32), deep=True))
    lines.SetPoints(points)
    cells = vtkCellArray()
    ends = np.arange(len(sources) + 1, dtype=np.int64) * POINTS_PER_LINE
    numbers = np.arange(len(sources) * POINTS_PER_LINE, dtype=np.int64)
    cells.SetData(numpy_to_vtk(ends, deep=True), numpy_to_vtk(numbers, deep=True))
    lines.SetLines(cells)
    columns = {"source": sources.astype(np.int32), "target": targets.astype(np.int32)}
    columns.update((name, values[drawn]) for name, values in sums.items())
    for name, values in columns.items():
        array = numpy_to_vtk(np.ascontiguousarray(values), deep=True)
        array.SetName(name)
        lines.GetCellData().AddArray(array)
    return lines


def focus_values(frame: Any, focus: Iterable[int], n_ranks: int) -> dict[str, np.ndarray]:
    """What every rank exchanges with each rank f of `focus`: (n_ranks,) float64 each, NaN where nothing.

    `<call>_count_to_<f>`, `<call>_bytes_to_<f>`: what this rank sent to f; `..._from_<f>`: what f sent to it.
    With `sent` in place of the call: all calls together.
    Raises ValueError for a rank that the run does not have.
    """
    sources, targets, sums = pairs_of(frame.messages, calls_of(frame))
    values = {}
    for chosen in focus:
        if not 0 <= chosen < n_ranks:
            raise ValueError(
                f"focus rank {chosen} is not in this run, which has ranks 0 to {n_ranks - 1}; name one of these in "
                "--focus or focus_ranks."
            )
        for name, column in sums.items():
            for direction, own, other in (("to", sources, targets), ("from", targets, sources)):
                row = np.full(n_ranks, np.nan)
                hit = (other == chosen) & (column > 0 if name.endswith("_count") else _counted(name, sums))
                row[own[hit]] = column[hit]
                values[f"{name}_{direction}_{chosen}"] = row
    return values


def _counted(name: str, sums: dict[str, np.ndarray]) -> np.ndarray:
    """Where there was a message at all: empty ones have no bytes, and yet are not absent."""
    return sums[name.replace("_bytes", "_count")] > 0


def _bent(start: np.ndarray, end: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Points (n, POINTS_PER_LINE, 3) of arcs from start to end, each (n, 3); a loop where they are the same."""
    along = end - start
    length = np.linalg.norm(along, axis=1, keepdims=True)
    upward = np.where(np.abs(along[:, 2:3]) < 0.9 * length, [[0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0]])
    aside = np.cross(along, upward)
    aside *= length / np.maximum(np.linalg.norm(aside, axis=1, keepdims=True), 1e-300)
    way = np.linspace(0.0, 1.0, POINTS_PER_LINE)[None, :, None]
    arcs = start[:, None] + along[:, None] * way + aside[:, None] * (BEND * np.sin(np.pi * way))
    angle = 2 * np.pi * way
    loops = np.concatenate([np.sin(angle), 1 - np.cos(angle), np.zeros_like(angle)], axis=2)
    loops = start[:, None] + LOOP * size[:, None, None] * loops
    return np.where(length[:, None] > 0, arcs, loops)
