# SPDX-License-Identifier: BSD-3-Clause
"""The surface of the simulation's mesh: what a browser draws, with the rank of each face.

Values of ranks are joined in the browser, so the mesh is sent once per version. Pieces keep their inner
faces, so that the page can move them apart. Ghost cells are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonDataModel import (
    vtkCellArray,
    vtkCellData,
    vtkDataObject,
    vtkDataSet,
    vtkDataSetAttributes,
    vtkGenericCell,
    vtkPlane,
    vtkPolyData,
    vtkUnstructuredGrid,
)
from vtkmodules.vtkFiltersCore import vtkAppendFilter, vtkCutter, vtkThreshold
from vtkmodules.vtkFiltersGeometry import vtkDataSetSurfaceFilter

from perfield.catalyst_scripts import palette
from perfield.pictures.blocks import MeshError, MeshMissingError, is_owned, shallow
from perfield.pictures.own_fields import name_own_fields, own_fields
from perfield.pictures.pieces import Pieces, StoredPieces
from perfield.pictures.vtk_arrays import vtk_array
from perfield.run import Frame
from perfield.serve.followed import View, is_stored
from perfield.serve.packed import packed

SHARP = 30.0  # degrees between faces that share an edge to draw
LOW, FLAT = 0.15, 1e-6  # parts of the longest side; `looking` says what is flat
_disk = Lock()
RANK, POINT, CELL, OWNED, VALUES = "rank", "point", "cell", "owned", "values"


@dataclass(frozen=True)
class _Surface:
    """packed : for the page. blocks : (rank, number of the block), in the order of the pieces. sizes_of :
    points and cells of each. points, cells : (index in `blocks`, number in the block) of each point and face.
    """

    packed: bytes
    blocks: list[tuple[int, int]]
    sizes_of: list[tuple[int, int]]
    points: np.ndarray
    cells: np.ndarray

    @property
    def nbytes(self) -> int:
        """For `Kept`."""
        return len(self.packed) + self.points.nbytes + self.cells.nbytes


@dataclass(frozen=True)
class _Joined:
    """All pieces as one grid, without ghost cells, and what is known of them."""

    grid: vtkUnstructuredGrid
    blocks: list[tuple[int, int]]
    sizes_of: list[tuple[int, int]]
    own: dict[str, str]
    centres: np.ndarray
    sizes: np.ndarray

    @property
    def nbytes(self) -> int:
        """For `Kept`."""
        return int(self.grid.GetActualMemorySize()) * 1024


def mesh(view: View, version: int) -> bytes:
    """The surface of one version of the mesh.

    Arrays: points float32 (n, 3); verts, strokes and polys uint32, each cell as its number of points and
    these (verts and strokes are empty but for meshes of points or lines); rank int32 of each cell, in the
    order verts, strokes, polys. Edges of pieces: line_points float32 (m, 3), lines as polys, line_rank.
    centres float32 (n_ranks, 3), NaN without a mesh; sizes float32 (n_ranks,), each piece's diagonal.
    Header: version, bounds, n_points, n_cells; flat, direction, up: how to look at it; way: where it comes
    from; notes: sentences on it; solid: whether each piece has a closed surface; own_fields of pieces on disk
    (/api/run gives those of others).
    Raises MeshMissingError if there is no such mesh, MeshError if it cannot be drawn.
    """
    return _surface(view, version).packed


def slice_of(
    view: View, version: int, axis: int, share: float, field: str | None = None, frame: int = 0
) -> bytes:
    """The mesh where a plane cuts it. axis : across which, 0 to 2. share : where, of the mesh's extent.

    Arrays: points, strokes, polys and rank as in `mesh`; strokes where the mesh is flat. With one of the
    simulation's own fields also values, as those of `own_field` in that frame, between whose points they are
    interpolated. Errors as there.
    """
    first = view.run.frame(_first(view, version))
    joined = view.shapes.get(("grid", *_key(view, version)), lambda: _joined(view, first, version))
    grid, association = joined.grid, ""
    if field is not None:
        values, association, _ = _values(view, field, frame, joined, _ids(joined.grid))
        grid = shallow(joined.grid)
        _of(grid, association).AddArray(vtk_array(values, VALUES))
    low, high = np.array(grid.GetBounds()).reshape(3, 2)[axis]
    plane, cutter = vtkPlane(), vtkCutter()
    across = np.arange(3) == axis
    plane.SetOrigin(*(across * (low + np.clip(share, 1e-4, 1 - 1e-4) * (high - low))))
    plane.SetNormal(*across.astype(float))
    cutter.SetInputData(grid)
    cutter.SetCutFunction(plane)
    cutter.GenerateTrianglesOff()
    cutter.Update()
    shape = cutter.GetOutput()
    arrays = {
        "points": _points(shape),
        "strokes": in_cells(shape.GetLines()),
        "polys": in_cells(shape.GetPolys()),
        "rank": _column(shape.GetCellData(), RANK),
    }
    if field is not None:
        found = _of(shape, association).GetArray(VALUES)
        arrays["values"] = vtk_to_numpy(found) if found is not None else np.zeros(0, np.float32)
    return packed(arrays)


def own_field(view: View, field: str, frame: int) -> bytes:
    """One of the simulation's own fields on the surface of a frame's mesh: the array values, float32.

    Vectors become their magnitude. Header: association "point" or "cell" (as rank), version of the mesh, step
    (index of the step in which the newest own field was stored; null if unknown), range, title.
    Raises MeshMissingError if no piece has such a field in this frame.
    """
    return view.answers.get(("own", field, frame, view.version), lambda: _own(view, field, frame))


def _own(view: View, field: str, position: int) -> bytes:
    version = view.frames["mesh_version"][position]
    surface = _surface(view, version)
    ids = {"point": surface.points, "cell": surface.cells}
    values, association, title = _values(view, field, position, surface, ids)
    finite = values[np.isfinite(values)]
    pieces, frame = _pieces(view), view.run.frame(position)
    stored = pieces.fields_index(frame) if isinstance(pieces, StoredPieces) else None
    return packed(
        {"values": values},
        association=association,
        version=version,
        step=stored,
        title=title,
        range=[finite.min(), finite.max()] if len(finite) else None,
    )


def _values(
    view: View, field: str, position: int, shown: _Surface | _Joined, ids_of: dict[str, np.ndarray]
) -> tuple[np.ndarray, str, str]:
    """One of the simulation's own fields in a frame, whether it is of points or cells, and its title.

    shown : with the blocks of the mesh. ids_of : by association, the points and cells that are shown, as
    `_Surface` has them. Raises MeshMissingError if no piece has the field.
    """
    frame, pieces = view.run.frame(position), _pieces(view)
    values, association, title = None, "", field
    of_block = {key: at for at, key in enumerate(shown.blocks)}
    for rank in sorted({rank for rank, _ in shown.blocks}):
        for number, dataset in _blocks(pieces, rank, frame):
            at = of_block.get((rank, number))
            if at is None:
                continue
            if shown.sizes_of[at] != (dataset.GetNumberOfPoints(), dataset.GetNumberOfCells()):
                raise MeshError(
                    f"the mesh of frame {position} on disk is not the one that is shown, so its fields do "
                    "not fit; write that frame with perfield render."
                )
            name_own_fields(dataset, view.names)
            for kind, data in (("point", dataset.GetPointData()), ("cell", dataset.GetCellData())):
                array = data.GetArray(field)
                if array is None or (association and kind != association):
                    continue
                ids = ids_of[kind]
                if values is None:
                    association, title = kind, own_fields(dataset).get(field, field)
                    values = np.full(len(ids), np.nan, np.float32)
                here = ids[:, 0] == at
                values[here] = _scalars(vtk_to_numpy(array))[ids[here, 1]]
    if values is None:
        raise MeshMissingError(f"no piece has the field '{field}' in frame {position}.")
    return values, association, title


def _ids(shape: vtkDataSet) -> dict[str, np.ndarray]:
    """By association, the block and the number in it of each point and cell."""
    return {
        "point": vtk_to_numpy(shape.GetPointData().GetArray(POINT)),
        "cell": vtk_to_numpy(shape.GetCellData().GetArray(CELL)),
    }


def _of(shape: vtkDataSet, association: str) -> vtkDataSetAttributes:
    return shape.GetPointData() if association == "point" else shape.GetCellData()


def _pieces(view: View) -> Pieces:
    if view.pieces is None:
        raise MeshMissingError(" ".join(view.mesh_notes) or "the run has no mesh.")
    return view.pieces


def _surface(view: View, version: int) -> _Surface:
    first = _first(view, version)
    key = "surface", *_key(view, version)
    return view.shapes.get(key, lambda: _made(view, view.run.frame(first), version))


def _first(view: View, version: int) -> int:
    """The first frame with a version of the mesh."""
    _pieces(view)
    first = view.first_of_mesh.get(version)
    if first is None or not len(view.run):
        raise MeshMissingError(f"the run has no mesh of version {version}; /api/run lists those it has.")
    return first


def _key(view: View, version: int) -> tuple[Any, ...]:
    """Changes when more is known of a version of the mesh: while ranks may still describe their pieces, and
    as boxes may become a mesh."""
    n_blocks = view.run.meshes.n_blocks if _grows(view) else 0
    return _pieces(view).way, version, view.frames["n_present"][_first(view, version)], n_blocks


def _grows(view: View) -> bool:
    return view.run.state == "running" and is_stored(view.pieces)


def _joined(view: View, frame: Frame, version: int) -> _Joined:
    pieces, append = _pieces(view), vtkAppendFilter()
    blocks, sizes_of, owned = [], [], []
    own: dict[str, str] = {}
    boxes = []
    for rank in range(view.run.n_ranks):
        for number, dataset in _shapes(pieces, rank, frame):
            if not dataset.GetNumberOfPoints():
                continue
            bare = dataset.NewInstance()
            bare.CopyStructure(dataset)
            append.AddInputData(bare)
            blocks.append((rank, number))
            sizes_of.append((dataset.GetNumberOfPoints(), dataset.GetNumberOfCells()))
            owned.append(is_owned(dataset))
            if not isinstance(pieces, StoredPieces):
                name_own_fields(dataset, view.names)
                own.update(own_fields(dataset))
            boxes.append(dataset.GetBounds())
    if not blocks:
        raise MeshMissingError(f"no rank has a mesh of version {version}.")
    append.Update()
    whole = append.GetOutput()
    for data, name, count in zip(
        (whole.GetPointData(), whole.GetCellData()), (POINT, CELL), np.transpose(sizes_of)
    ):
        block = np.repeat(np.arange(len(blocks)), count)
        _add(data, name, np.stack([block, np.arange(len(block)) - (np.cumsum(count) - count)[block]], axis=1))
    ranks = np.array(blocks)[:, 0]
    _add(whole.GetCellData(), RANK, ranks[block])
    places = _places(ranks, np.array(boxes).reshape(-1, 3, 2), view.run.n_ranks)
    return _Joined(_chosen(whole, np.concatenate(owned)), blocks, sizes_of, own, *places)


def _places(ranks: np.ndarray, boxes: np.ndarray, n_ranks: int) -> tuple[np.ndarray, np.ndarray]:
    """The middle of each rank's blocks, NaN without any, and the diagonal of the box around them.

    ranks : of each block, ascending. boxes : (n_blocks, 3, 2).
    """
    centres, sizes = np.full((n_ranks, 3), np.nan, np.float32), np.zeros(n_ranks, np.float32)
    some, begin = np.unique(ranks, return_index=True)
    low, high = np.minimum.reduceat(boxes[:, :, 0], begin), np.maximum.reduceat(boxes[:, :, 1], begin)
    centres[some], sizes[some] = (low + high) / 2, np.linalg.norm(high - low, axis=1)
    return centres, sizes


def _made(view: View, frame: Frame, version: int) -> _Surface:
    joined, pieces = _joined(view, frame, version), _pieces(view)
    outside = vtkDataSetSurfaceFilter()
    outside.SetNonlinearSubdivisionLevel(0)  # points in between would have no values
    outside.SetInputData(joined.grid)
    outside.Update()
    described = [
        {"name": array, "title": title, "map": palette.colour_map(array)}
        for array, title in sorted(joined.own.items())
    ]
    made = getattr(pieces, "made", pieces)  # of boxes, which are placed by now
    notes = [*view.mesh_notes, *getattr(made, "notes", ())]
    about = {
        "version": version,
        "own_fields": described,
        "way": made.way,
        "notes": list(dict.fromkeys(notes)),
        "solid": _is_solid(joined.grid),
    }
    arrays, none = {"centres": joined.centres, "sizes": joined.sizes}, np.zeros(0)
    made_of = _Surface(b"", joined.blocks, joined.sizes_of, none, none)
    return _drawn(outside.GetOutput(), made_of, arrays, about)


def _is_solid(cells: vtkUnstructuredGrid) -> bool:
    """Whether all cells fill space, so that the surface of each piece is closed."""
    cell = vtkGenericCell()
    for kind in np.unique(vtk_to_numpy(cells.GetCellTypesArray())).tolist():
        cell.SetCellType(kind)
        if cell.GetCellDimension() != 3:
            return False
    return True


def _chosen(whole: vtkUnstructuredGrid, owned: np.ndarray) -> vtkUnstructuredGrid:
    """The cells of a mesh that are no ghosts. owned : bool (n_cells,)."""
    if owned.all():
        return whole
    _add(whole.GetCellData(), OWNED, owned)
    some = vtkThreshold()
    some.SetInputData(whole)
    some.SetInputArrayToProcess(0, 0, 0, vtkDataObject.FIELD_ASSOCIATION_CELLS, OWNED)
    some.SetThresholdFunction(vtkThreshold.THRESHOLD_UPPER)
    some.SetUpperThreshold(0.5)
    some.Update()
    return some.GetOutput()


def edges_of(shape: vtkPolyData) -> tuple[np.ndarray, np.ndarray]:
    """The edges of pieces: where faces end, and where two meet at a sharp angle.

    Returns the points of each, int (m, 2), and a face at it, int (m,): the edges that vtkPolyDataNormals and
    vtkFeatureEdges find, without their search for points at the same place.
    """
    begin = vtk_to_numpy(shape.GetPolys().GetOffsetsArray()).astype(np.int64)
    corners = vtk_to_numpy(shape.GetPolys().GetConnectivityArray()).astype(np.int64)
    n_corners = np.diff(begin)
    face, following = np.repeat(np.arange(len(n_corners)), n_corners), np.arange(1, len(corners) + 1)
    following[begin[1:][n_corners > 0] - 1] = begin[:-1][n_corners > 0]
    ends = np.stack([corners, corners[following]])  # of each side of each face
    side = np.flatnonzero(ends[0] != ends[1])
    key = (ends.min(axis=0) * shape.GetNumberOfPoints() + ends.max(axis=0))[side]
    order = np.argsort(key, kind="stable")
    side, key = side[order], key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    n_faces = np.diff(first, append=len(key))
    one, other = side[first[n_faces == 2]], side[first[n_faces == 2] + 1]
    normals = _normals(_points(shape), begin, corners)
    cosine = np.einsum("ij,ij->i", normals[face[one]], normals[face[other]])
    # Faces that pass a side in the same direction turn their backs on each other; one is seen from behind.
    cosine[ends[0, one] == ends[0, other]] *= -1
    found = np.concatenate([side[first[n_faces == 1]], one[cosine <= np.cos(np.radians(SHARP))]])
    return ends[:, found].T, face[found]


def _normals(points: np.ndarray, begin: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """The unit normal of each face, float32 (n_faces, 3), 0 where it has no area.

    begin : (n_faces + 1,), where in `corners` the points of each face begin.
    """
    normals = np.zeros((len(begin) - 1, 3), np.float32)
    for n_corners in np.unique(np.diff(begin)).tolist():
        some = np.flatnonzero(np.diff(begin) == n_corners)
        at = begin[:-1][some]
        ways = [points[corners[at + n]] - points[corners[at]] for n in range(1, n_corners)]
        for one, other in zip(ways, ways[1:]):
            normals[some] += np.cross(one, other)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return normals / np.where(length > 0, length, 1)


def _drawn(
    shape: vtkPolyData, surface: _Surface, arrays: dict[str, np.ndarray], about: dict[str, Any]
) -> _Surface:
    """The surface with its arrays for the page. arrays, about : what else goes there."""
    if not shape.GetNumberOfCells():
        raise MeshError("the pieces of the mesh have points, but no cells of their own, so nothing is drawn.")
    (ends, face), points = edges_of(shape), _points(shape)
    used, lines = np.unique(ends, return_inverse=True)
    rank = _column(shape.GetCellData(), RANK)
    n_others = shape.GetNumberOfCells() - shape.GetNumberOfPolys()  # verts and strokes are before the faces
    bounds = shape.GetBounds()
    flat, direction, up = looking(bounds)
    arrays |= {
        "points": points,
        "verts": in_cells(shape.GetVerts()),
        "strokes": in_cells(shape.GetLines()),
        "polys": in_cells(shape.GetPolys()),
        "rank": rank,
        "line_points": points[used],
        "lines": np.insert(lines.reshape(-1, 2), 0, 2, axis=1).astype(np.uint32).ravel(),
        "line_rank": rank[n_others + face],
    }
    return replace(
        surface,
        packed=packed(
            arrays,
            **about,
            flat=flat,
            direction=direction,
            up=up,
            bounds=bounds,
            n_points=shape.GetNumberOfPoints(),
            n_cells=shape.GetNumberOfCells(),
        ),
        points=_ids(shape)["point"],
        cells=_ids(shape)["cell"],
    )


def looking(bounds: Sequence[float]) -> tuple[bool, list[float], list[float]]:
    """Whether a mesh is flat, along which direction to look at it, and what is up; as in images.

    bounds : x0, x1, y0, y1, z0, z1. A mesh that is low is looked at from above, one without extent across x
    or y from the side.
    """
    sides = np.diff(np.array(bounds).reshape(3, 2))[:, 0]
    if sides[2] <= LOW * sides.max():
        return True, [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]
    for axis in (0, 1):
        if sides[axis] <= FLAT * sides.max():
            return True, [-1.0 * (axis == 0), 1.0 * (axis == 1), 0.0], [0.0, 0.0, 1.0]
    return False, [-1.0, 0.75, -0.6], [0.0, 0.0, 1.0]


def in_cells(cells: vtkCellArray) -> np.ndarray:
    """Cells as vtk.js takes them: uint32, each as its number of points and these."""
    ends = vtk_to_numpy(cells.GetOffsetsArray()).astype(np.int64)
    points = vtk_to_numpy(cells.GetConnectivityArray())
    n_cells = len(ends) - 1
    if n_cells < 1:
        return np.zeros(0, np.uint32)
    packed = np.empty(n_cells + len(points), np.uint32)
    heads = ends[:-1] + np.arange(n_cells)
    packed[heads] = np.diff(ends)
    rest = np.ones(len(packed), bool)
    rest[heads] = False
    packed[rest] = points
    return packed


def _points(shape: vtkPolyData) -> np.ndarray:
    if not shape.GetNumberOfPoints():
        return np.zeros((0, 3), np.float32)
    return vtk_to_numpy(shape.GetPoints().GetData()).astype(np.float32)


def _column(data: vtkCellData, name: str) -> np.ndarray:
    array = data.GetArray(name)
    return vtk_to_numpy(array).astype(np.int32) if array is not None else np.zeros(0, np.int32)


def _scalars(values: np.ndarray) -> np.ndarray:
    """Values as they are; the magnitude of vectors."""
    if values.ndim == 1:
        return values
    return values[:, 0] if values.shape[1] == 1 else np.linalg.norm(values.astype(float), axis=1)


def _blocks(pieces: Pieces, rank: int, frame: Frame) -> list[tuple[int, vtkDataSet]]:
    """The blocks of a rank with own fields; sources on disk keep what they read last, so one at a time."""
    if isinstance(pieces, StoredPieces):
        return pieces.blocks(rank, frame)
    with _disk:
        return pieces.blocks(rank, frame)


def _shapes(pieces: Pieces, rank: int, frame: Frame) -> list[tuple[int, vtkDataSet]]:
    """The blocks of a rank; without own fields, where that saves reading them."""
    if isinstance(pieces, StoredPieces):
        return pieces.shapes(rank, int(frame.mesh_version[rank]))
    return _blocks(pieces, rank, frame)


def _add(data: vtkDataSetAttributes, name: str, values: np.ndarray) -> None:
    array = numpy_to_vtk(np.ascontiguousarray(values.astype(np.int32)), deep=True)
    array.SetName(name)
    data.AddArray(array)
