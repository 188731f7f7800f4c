# SPDX-License-Identifier: BSD-3-Clause
"""Finds the faces between pieces of different ranks, so that pictures show messages where they pass.

Two faces meet if they look at each other, at most one cell apart: pieces need not share points, and a coarse
cell may meet several finer ones. Of a mesh of surfaces the edges meet. Blocks along the axes are boxes: where
two of them meet is computed, not searched. Pieces that meet only at an edge or a corner, or across a periodic
boundary, share no face.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonDataModel import (
    vtkCellArray,
    vtkDataSet,
    vtkImageData,
    vtkPolyData,
    vtkUnstructuredGrid,
)
from vtkmodules.vtkFiltersCore import vtkCellCenters, vtkFeatureEdges
from vtkmodules.vtkFiltersGeometry import vtkGeometryFilter

from perfield.pictures.blocks import cells_of, is_owned
from perfield.pictures.pieces import Pieces, mesh_at

if TYPE_CHECKING:
    from perfield.run import AnyRun, Frame

MOST_FACES = 500_000  # on the surfaces of all pieces, about; they take some seconds
MOST_BOXES = 20_000
REACH = 1.01  # cells between faces that meet, with room for rounding
EQUAL = 0.01  # cells between faces at one place
NEAR = 16  # nearest faces among which the one that meets is searched
AT_ONCE = 1 << 16  # faces that are searched together
MIDDLE = "middle_of_cell"


@dataclass(frozen=True)
class Faces:
    """Faces between pieces. ranks : int32 (n_faces, 2), the lower and the higher rank of each.

    points : float32 (n_points, 3). sizes : int64 (n_faces,), how many points each face has, which follow each
    other; two are a line. words : why there are none, where nobody looked.
    """

    ranks: np.ndarray
    points: np.ndarray
    sizes: np.ndarray
    words: str = ""

    def chosen(self, keep: np.ndarray) -> Faces:
        """The faces for which keep (n_faces,) is true."""
        return Faces(self.ranks[keep], self.points[np.repeat(keep, self.sizes)], self.sizes[keep])


NO_FACES = Faces(np.zeros((0, 2), np.int32), np.zeros((0, 3), np.float32), np.zeros(0, np.int64))


class SharedFaces:
    """The faces between the pieces of a run's mesh, found once for each of its meshes."""

    def __init__(self, run: AnyRun, pieces: Pieces):
        self._run, self._pieces = run, pieces
        self._known: tuple[object, Faces] | None = None

    def at(self, frame: Frame) -> Faces:
        """The faces in a frame."""
        mesh = mesh_at(self._pieces, frame)
        if self._known is None or self._known[0] != mesh:
            self._known = mesh, faces_between(self._run.n_ranks, frame, self._pieces)
        return self._known[1]


def faces_between(n_ranks: int, frame: Frame, pieces: Pieces) -> Faces:
    """The faces between the pieces of all ranks in a frame; none, with a reason, if they are too many."""
    own, n_faces, are_boxes = [], 0.0, True
    for rank in range(n_ranks):
        datasets = [dataset for _, dataset in pieces.blocks(rank, frame) if dataset.GetNumberOfCells()]
        are_boxes &= all(isinstance(dataset, vtkImageData) for dataset in datasets)
        n_faces += sum(6.0 * dataset.GetNumberOfCells() ** (2 / 3) for dataset in datasets)
        if not are_boxes and n_faces > MOST_FACES:
            return replace(
                NO_FACES,
                words=f"the mesh is too large to look for faces between pieces (over {MOST_FACES:,})",
            )
        own += [(rank, dataset) for dataset in datasets]
    if not are_boxes:
        return _between_cells(own)
    if len(own) > MOST_BOXES:
        return replace(NO_FACES, words=f"{len(own):,} blocks are too many to look for faces between them")
    return _between_boxes(own, getattr(pieces, "gap", None))


def _between_boxes(own: list[tuple[int, vtkImageData]], gap: float | None) -> Faces:
    """gap : between boxes that are neighbours; None: up to a cell of the blocks."""
    known = [(rank, block.GetSpacing(), box) for rank, block in own if (box := _box(block)) is not None]
    if len(known) < 2:
        return NO_FACES
    rank, cell, boxes = (np.array(column) for column in zip(*known))
    low, high = boxes[:, 0], boxes[:, 1]
    rounding = 1e-6 * float((high.max(axis=0) - low.min(axis=0)).max())
    reach = (REACH * cell if gap is None else np.full(cell.shape, gap)) + rounding
    order = np.argsort(low[:, 0], kind="stable")
    begins, furthest = low[order, 0], reach[:, 0].max()
    pairs = []
    for place, one in enumerate(order.tolist()):
        near = order[place + 1 : np.searchsorted(begins, high[one, 0] + furthest, side="right")]
        near = near[rank[near] != rank[one]]
        between = np.maximum(low[near], low[one]) - np.minimum(high[near], high[one])
        near = near[(between <= np.maximum(reach[near], reach[one])).all(axis=1)]
        pairs += [(one, other) for other in near.tolist()]
    a, b = np.array(pairs, np.int64).reshape(-1, 2).T
    least, most = np.maximum(low[a], low[b]), np.minimum(high[a], high[b])
    between, length = least - most, np.minimum(high[a] - low[a], high[b] - low[b])
    flat = (high - low).max(axis=0) <= rounding  # no box has a length along these axes
    is_beside = (abs(between) <= np.maximum(reach[a], reach[b])) & (between > -length / 2) & ~flat
    overlaps = (between < -rounding) | flat
    pair, axis = np.nonzero(is_beside & (np.roll(overlaps, -1, axis=1) & np.roll(overlaps, -2, axis=1)))
    first, last = least[pair], most[pair]
    rows = np.arange(len(pair))
    first[rows, axis] = last[rows, axis] = (first[rows, axis] + last[rows, axis]) / 2
    corners = np.stack([first, first, last, last], axis=1)
    across = (axis + 1) % 3
    corners[rows, 1, across], corners[rows, 3, across] = last[rows, across], first[rows, across]
    corners = corners[:, ::2] if flat.any() else corners
    ranks = np.sort(np.stack([rank[a[pair]], rank[b[pair]]], axis=1), axis=1).astype(np.int32)
    sizes = np.full(len(ranks), corners.shape[1])
    return Faces(ranks, corners.reshape(-1, 3).astype(np.float32), sizes) if flat.sum() < 2 else NO_FACES


def _box(block: vtkImageData) -> np.ndarray | None:
    """The lowest and the highest corner (2, 3) of a block without its ghosts; None if nothing is left."""
    owned = is_owned(block)
    ends = np.array(block.GetBounds()).reshape(3, 2).T
    if owned.all():
        return ends
    n_cells = np.maximum(np.array(block.GetDimensions()) - 1, 1)
    index = np.unravel_index(np.flatnonzero(owned), n_cells, order="F")
    if not len(index[0]):
        return None
    cell = np.array(block.GetSpacing())
    first, last = (np.array([getattr(one, end)() for one in index]) for end in ("min", "max"))
    high = np.where(ends[1] > ends[0], ends[0] + (last + 1) * cell, ends[1])
    return np.stack([ends[0] + first * cell, high])


@dataclass(frozen=True)
class _Surface:
    """The faces on the surface of a piece.

    points, sizes : as in Faces. middle, outward : float64 (n_faces, 3), of the faces, and the unit vector out
    of the cell. depth, radius : float64 (n_faces,), twice the way from the middle of the cell, and the way
    from the middle of the face to its furthest point.
    """

    points: np.ndarray
    sizes: np.ndarray
    middle: np.ndarray
    outward: np.ndarray
    depth: np.ndarray
    radius: np.ndarray


def _between_cells(own: list[tuple[int, vtkDataSet]]) -> Faces:
    found = [(rank, _surface(dataset)) for rank, dataset in own]
    found = [(rank, surface) for rank, surface in found if len(surface.sizes)]
    if not found:
        return NO_FACES
    surfaces = [surface for _, surface in found]
    names = ("points", "sizes", "middle", "outward", "depth", "radius")
    all_of = _Surface(*(np.concatenate([getattr(one, name) for one in surfaces]) for name in names))
    rank = np.repeat([rank for rank, _ in found], [len(one.sizes) for one in surfaces])
    face, other, apart = _meeting(all_of, rank)
    ends = np.stack([rank[face], rank[other]], axis=1)
    is_lower = ends[:, 0] < ends[:, 1]
    pairs, pair = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
    pair = pair.ravel()
    touch = np.zeros(len(pairs), bool)
    touch[pair[apart <= EQUAL]] = True  # then faces a cell away lie behind those that touch
    keep = (apart <= EQUAL) | ~touch[pair]
    of_lower, of_higher = (
        np.bincount(pair[keep & side], minlength=len(pairs)) for side in (is_lower, ~is_lower)
    )
    keep &= is_lower == (of_lower >= of_higher)[pair]  # the finer side, else both would be drawn
    shown = Faces(np.zeros((len(rank), 2), np.int32), all_of.points, all_of.sizes)
    shown.ranks[face[keep]] = pairs[pair[keep]]
    drawn = np.zeros(len(rank), bool)
    drawn[face[keep]] = True
    return shown.chosen(drawn)


def _meeting(faces: _Surface, rank: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Faces, the face of another rank that each meets, and how many cells these are apart."""
    from scipy.spatial import cKDTree

    tree, near = cKDTree(faces.middle), min(NEAR, len(rank))
    found: list[tuple[np.ndarray, ...]] = []
    for begin in range(0, len(rank), AT_ONCE):
        mine = np.arange(begin, min(begin + AT_ONCE, len(rank)))
        _, others = tree.query(faces.middle[mine], near)
        others = others.reshape(len(mine), near)
        own = mine[:, None]
        way = faces.middle[others] - faces.middle[own]
        ahead = (way * faces.outward[own]).sum(axis=2)
        sideways = np.linalg.norm(way - ahead[:, :, None] * faces.outward[own], axis=2)
        depth = np.maximum(faces.depth[others], faces.depth[own])
        meets = (rank[others] != rank[own]) & (abs(ahead) <= REACH * depth)
        meets &= (faces.outward[others] * faces.outward[own]).sum(axis=2) < -0.5
        meets &= sideways <= REACH * np.maximum(faces.radius[others], faces.radius[own])
        nearest = meets.argmax(axis=1)
        rows = np.flatnonzero(meets[np.arange(len(mine)), nearest])
        chosen = rows, nearest[rows]
        found.append((mine[rows], others[chosen], abs(ahead[chosen]) / depth[chosen]))
    return tuple(np.concatenate(column) for column in zip(*found))


def _surface(dataset: vtkDataSet) -> _Surface:
    """The outer faces of a piece without its ghosts; of a mesh of surfaces, its outer edges."""
    mesh = _with_middles(dataset)
    outside = vtkGeometryFilter()
    outside.SetInputData(mesh)
    outside.Update()
    surface, is_flat = outside.GetOutput(), _dimension(mesh) < 3
    if is_flat:
        edges = vtkFeatureEdges()
        edges.SetInputData(surface)
        edges.ColoringOff()
        edges.FeatureEdgesOff()
        edges.NonManifoldEdgesOff()
        edges.Update()
        surface = edges.GetOutput()
    return _faces_of(surface, surface.GetLines() if is_flat else surface.GetPolys())


def _faces_of(surface: vtkPolyData, cells: vtkCellArray) -> _Surface:
    n_faces, middles = cells.GetNumberOfCells(), surface.GetCellData().GetArray(MIDDLE)
    if not n_faces or middles is None:
        none = np.zeros((0, 3))
        return _Surface(none, np.zeros(0, np.int64), none, none, np.zeros(0), np.zeros(0))
    first = 0 if cells is surface.GetLines() else surface.GetNumberOfVerts() + surface.GetNumberOfLines()
    offsets = vtk_to_numpy(cells.GetOffsetsArray()).astype(np.int64)
    numbers = vtk_to_numpy(cells.GetConnectivityArray())
    points = vtk_to_numpy(surface.GetPoints().GetData())[numbers].astype(float)
    sizes, begins = np.diff(offsets), offsets[:-1]
    middle = np.add.reduceat(points, begins) / sizes[:, None]
    out = middle - vtk_to_numpy(middles)[first : first + n_faces]
    radius = np.maximum.reduceat(np.linalg.norm(points - np.repeat(middle, sizes, axis=0), axis=1), begins)
    away = np.linalg.norm(out, axis=1)
    keep = away > 1e-6 * radius  # a cell of lower dimension than the mesh has no way out
    outward = out[keep] / away[keep, None]
    return _Surface(
        points[np.repeat(keep, sizes)], sizes[keep], middle[keep], outward, 2 * away[keep], radius[keep]
    )


def _with_middles(dataset: vtkDataSet) -> vtkDataSet:
    """The cells of a piece that are no ghosts, each with its middle, and no other arrays."""
    owned = is_owned(dataset)
    mesh = dataset.NewInstance()
    mesh.CopyStructure(dataset)
    if not owned.all():
        mesh = cells_of(mesh, np.flatnonzero(owned))
    middles = vtkCellCenters()
    middles.SetInputData(mesh)
    middles.Update()
    points = middles.GetOutput()
    if points.GetNumberOfPoints() == mesh.GetNumberOfCells() > 0:
        array = numpy_to_vtk(vtk_to_numpy(points.GetPoints().GetData()).astype(float), deep=True)
        array.SetName(MIDDLE)
        mesh.GetCellData().AddArray(array)
    return mesh


def _dimension(mesh: vtkDataSet) -> int:
    """Of the cells of the highest dimension."""
    n_cells = mesh.GetNumberOfCells()
    some = [0, n_cells - 1] if n_cells else []  # of vtkPolyData, those of the lowest come first
    if isinstance(mesh, vtkUnstructuredGrid) and n_cells:
        some = np.unique(vtk_to_numpy(mesh.GetCellTypesArray()), return_index=True)[1].tolist()
    return max((mesh.GetCell(cell).GetCellDimension() for cell in some), default=0)
