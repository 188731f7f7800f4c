# SPDX-License-Identifier: BSD-3-Clause
"""Finds which ranks are neighbours on the mesh: points of their pieces are at most one cell apart.

So pieces that share points are neighbours, pieces that own neighbouring points, and pieces that meet at a
corner. Pieces that meet only across a periodic boundary are not: the mesh does not say where that is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkDataSet, vtkImageData, vtkRectilinearGrid
from vtkmodules.vtkFiltersGeneral import vtkImageDataToPointSet, vtkRectilinearGridToPointSet

from perfield.analysis.pair_keys import ends_of, pair_keys
from perfield.pictures.blocks import MeshError, MeshMissingError
from perfield.pictures.pieces import Pieces
from perfield.pictures.shown_mesh import mesh_of

if TYPE_CHECKING:
    from perfield.run import AnyRun, Frame

REACH = 1.01  # cells between points of neighbours, with room for rounding
SAMPLE = 200  # cells of a piece that give the size of its cells
MOST_POINTS = 10_000_000  # of all pieces, and
MOST_PIECES = 2048  # pieces: `touching` takes about 15 s for so many


@dataclass(frozen=True)
class _Piece:
    """points : float64 (n, 3). cell : float64 (3,), the typical size of a cell along each axis. low, high :
    the ends of the box around the points."""

    points: np.ndarray
    cell: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Touching:
    """pairs : of ranks whose pieces touch, int64 (n, 2) in both directions. boxes : float64 (n_ranks, 2, 3),
    the lowest and the highest corner of each rank's piece; NaN for a rank without one."""

    pairs: np.ndarray
    boxes: np.ndarray


def touching(
    run: AnyRun, mesh: str | None = None, rank_array: str | None = None
) -> tuple[Touching | None, str]:
    """Which pieces touch in a run's last frame, and "". mesh, rank_array : as for `choose_pieces`.

    None without a mesh, with ""; None and the reason in a sentence if the mesh is too large to look at in
    seconds, or damaged.
    """
    if not len(run):
        return None, ""
    frame = run.frame(len(run) - 1)
    n_points = float(np.nansum(frame.values["points"])) if "points" in frame.values else 0.0
    if n_points > MOST_POINTS or run.n_ranks > MOST_PIECES:
        return None, (
            f"Nobody looked which pieces of the mesh touch: {run.n_ranks:,} ranks have {n_points:,.0f} "
            f"points, and perfield looks at up to {MOST_PIECES:,} pieces and {MOST_POINTS:,} points."
        )
    try:
        found = _pieces(mesh_of(run, mesh, rank_array), run.n_ranks, frame)
    except MeshMissingError:
        return None, ""
    except MeshError as error:
        return None, f"Which pieces of the mesh touch is unknown: {error}"
    source, target = ends_of(_neighbours(found))
    apart = source != target
    boxes = np.full((run.n_ranks, 2, 3), np.nan)
    for rank, piece in found.items():
        boxes[rank] = piece.low, piece.high
    return Touching(np.stack([source[apart], target[apart]], axis=1).astype(np.int64), boxes), ""


def neighbours(pieces: Pieces, n_ranks: int, frame: Frame) -> np.ndarray:
    """The `pair_keys` of all neighbours on the mesh of a frame, int64, ascending, for both directions.

    A rank without a mesh has no neighbours; each rank with one is its own.
    """
    return _neighbours(_pieces(pieces, n_ranks, frame))


def _pieces(pieces: Pieces, n_ranks: int, frame: Frame) -> dict[int, _Piece]:
    return {rank: piece for rank in range(n_ranks) if (piece := _piece(pieces, rank, frame)) is not None}


def _neighbours(found: dict[int, _Piece]) -> np.ndarray:
    if not found:
        return np.zeros(0, np.int64)
    ranks = np.array(list(found))
    reach = REACH * np.array([piece.cell for piece in found.values()])
    low = np.array([piece.low for piece in found.values()]) - reach
    high = np.array([piece.high for piece in found.values()]) + reach
    pairs = [(rank, rank) for rank in ranks.tolist()]
    order = np.argsort(low[:, 0], kind="stable")
    begins = low[order, 0]
    for place, one in enumerate(order.tolist()):
        near = order[place + 1 : np.searchsorted(begins, high[one, 0], side="right")]
        near = near[((low[near] <= high[one]) & (low[one] <= high[near])).all(axis=1)]
        for other in near.tolist():
            if _touch(found[ranks[one]], found[ranks[other]]):
                pairs += [(ranks[one], ranks[other]), (ranks[other], ranks[one])]
    source, target = np.array(pairs).T
    return np.sort(pair_keys(source, target))


def _touch(one: _Piece, other: _Piece) -> bool:
    cell = np.maximum(one.cell, other.cell)
    near = [
        piece.points[((piece.points >= low) & (piece.points <= high)).all(axis=1)] / cell
        for piece, low, high in (
            (one, other.low - REACH * cell, other.high + REACH * cell),
            (other, one.low - REACH * cell, one.high + REACH * cell),
        )
    ]
    if not all(map(len, near)):
        return False
    few, many = sorted(near, key=len)
    from scipy.spatial import cKDTree

    distance, _ = cKDTree(many).query(few, p=np.inf, distance_upper_bound=REACH)
    return bool(np.isfinite(distance).any())


def _piece(pieces: Pieces, rank: int, frame: Frame) -> _Piece | None:
    """A rank's piece with all its blocks; None without points."""
    datasets = [dataset for _, dataset in pieces.blocks(rank, frame) if dataset.GetNumberOfPoints()]
    if not datasets:
        return None
    points = np.concatenate([_points(dataset) for dataset in datasets])
    low, high = points.min(axis=0), points.max(axis=0)
    cell = np.max([_cell_size(dataset) for dataset in datasets], axis=0)
    flat = 1e-6 * max(float((high - low).max()), 1e-300)  # a flat mesh has no size across
    return _Piece(points, np.maximum(cell, flat), low, high)


def _points(dataset: vtkDataSet) -> np.ndarray:
    for kind, filtering in (
        (vtkImageData, vtkImageDataToPointSet),
        (vtkRectilinearGrid, vtkRectilinearGridToPointSet),
    ):
        if isinstance(dataset, kind):
            convert = filtering()
            convert.SetInputData(dataset)
            convert.Update()
            dataset = convert.GetOutput()
    return vtk_to_numpy(dataset.GetPoints().GetData()).astype(float)


def _cell_size(dataset: vtkDataSet) -> np.ndarray:
    """The median size of cells along each axis, of a sample; zeros without cells."""
    n_cells = dataset.GetNumberOfCells()
    sample = np.unique(np.linspace(0, n_cells - 1, min(n_cells, SAMPLE)).astype(int)).tolist()
    boxes = np.array([dataset.GetCell(cell).GetBounds() for cell in sample]).reshape(-1, 3, 2)
    return np.median(boxes[:, :, 1] - boxes[:, :, 0], axis=0) if sample else np.zeros(3)
