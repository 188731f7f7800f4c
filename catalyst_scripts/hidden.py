# SPDX-License-Identifier: BSD-3-Clause
"""Finds what a camera sees of each rank's piece.

Each piece is drawn in a colour of its own, into memory, and its pixels are counted and compared with the
area that the box around the piece would cover. A rank is hidden if it shows less than SHOWN of that.
Geometry alone does not decide it: it depends on the camera.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  draws
from cuts import Plane, cut_of
from mesh_values import OFFSET, MeshValues, pieces_of
from mesh_views import MeshView
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkUnsignedCharArray
from vtkmodules.vtkCommonDataModel import vtkPolyData
from vtkmodules.vtkFiltersCore import vtkAppendPolyData
from vtkmodules.vtkFiltersGeometry import vtkGeometryFilter
from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper, vtkRenderer, vtkRenderWindow

SHOWN = 0.05
SMALL = 12.0  # square pixels; smaller pieces are not tested
HEIGHT = 450  # pixels
PLAIN = MeshView()


class Sight:
    """What the camera of images sees of the mesh, step by step.

    camera : for a way to show the mesh, an object with ParaView's properties of a view: ViewSize,
    CameraPosition, CameraFocalPoint, CameraViewUp and CameraParallelScale.
    """

    def __init__(self, values: MeshValues, camera: Callable[[MeshView], Any]):
        self._values, self._camera = values, camera
        self._surfaces: tuple[Any, Surfaces] | None = None
        self._images: dict[Any, np.ndarray] = {}
        self._hidden: dict[Any, set[int]] = {}

    def hidden(self, time: float, way: MeshView = PLAIN) -> set[int]:
        """The ranks that show too little in the mesh, plain or exploded."""
        key = (self._values.at(time).shape, way.factor)
        if key not in self._hidden:
            moment = self._values.at(time)
            seen = np.bincount(self.image(time, way).ravel() + 1, minlength=max(moment.boxes, default=0) + 2)
            areas = {rank: _box_area(box, self._camera(way)) for rank, box in moment.boxes.items()}
            self._hidden[key] = {
                rank
                for rank, area in areas.items()
                if len(areas) > 1 and area > SMALL and seen[rank + 1] < SHOWN * area
            }
        return self._hidden[key]

    def image(self, time: float, way: MeshView = PLAIN, only: Collection[int] = ()) -> np.ndarray:
        """The rank at each pixel, (height, width) from the lower left; -1 where there is none.

        only : the ranks to draw; empty for all.
        """
        of = (self._values.at(time).shape, way.plane)
        key = (*of, way.factor, tuple(only))
        if key not in self._images:
            if self._surfaces is None or self._surfaces[0] != of:
                self._surfaces = (of, Surfaces(self._values.data(time), way.plane))
            self._images[key] = self._surfaces[1].drawn(self._camera(way), way.factor, only)
        return self._images[key]

    def place(self, time: float, rank: int, way: MeshView = PLAIN, only: Collection[int] = ()) -> Any:
        """A point (3,) that the camera sees well within a rank's piece; None if it sees none of the rank."""
        found = _inmost(self.image(time, way, only) == rank)
        return None if found is None else _point(found, self._camera(way))

    def covers(self, time: float, point: np.ndarray, only: Collection[int]) -> bool:
        """Whether the pieces of some ranks lie at the pixel of a point (3,)."""
        row, column = _pixel(point, self._camera(PLAIN))
        image = self.image(time, PLAIN, only)
        return 0 <= row < image.shape[0] and 0 <= column < image.shape[1] and image[row, column] >= 0


class Surfaces:
    """The surfaces of all pieces at one time, or what a plane shows of them.

    data : the geometry picture, with one block per piece.
    """

    def __init__(self, data: Any, plane: Plane | None = None):
        self._pieces: list[tuple[int, vtkPolyData]] = []
        for rank, _, piece in pieces_of(data):
            found = cut_of(piece, plane) if plane else _surface(piece)
            if found.GetNumberOfPolys():
                bare = vtkPolyData()
                bare.SetPoints(found.GetPoints())
                bare.SetPolys(found.GetPolys())
                bare.GetPointData().AddArray(found.GetPointData().GetArray(OFFSET))
                bare.GetCellData().SetScalars(_colours(rank + 1, bare.GetNumberOfCells()))
                self._pieces.append((rank, bare))

    def drawn(self, camera: Any, factor: float, only: Collection[int] = ()) -> np.ndarray:
        """As `Sight.image`."""
        append = vtkAppendPolyData()
        chosen = [piece for rank, piece in self._pieces if not only or rank in only]
        for piece in chosen:
            append.AddInputData(piece)
        width = round(HEIGHT * camera.ViewSize[0] / camera.ViewSize[1])
        if not chosen:
            return np.full((HEIGHT, width), -1)
        append.Update()
        whole = append.GetOutput()
        if factor:
            points = vtk_to_numpy(whole.GetPoints().GetData()).astype(float)
            offsets = vtk_to_numpy(whole.GetPointData().GetArray(OFFSET))
            whole.GetPoints().SetData(numpy_to_vtk(points + factor * offsets, deep=True))
        return _drawn(whole, camera, width)


def _surface(piece: Any) -> vtkPolyData:
    surface = vtkGeometryFilter()
    surface.SetInputData(piece)
    surface.Update()
    return surface.GetOutput()


def _colours(number: int, size: int) -> vtkUnsignedCharArray:
    """A number as the colour of all cells; 0 is the background."""
    parts = np.array([number >> 16, number >> 8 & 255, number & 255], np.uint8)
    array = numpy_to_vtk(np.broadcast_to(parts, (size, 3)).copy(), deep=True)
    array.SetName("colour")
    return array


def _drawn(surface: vtkPolyData, camera: Any, width: int) -> np.ndarray:
    """The rank at each pixel, (HEIGHT, width); -1 where there is none."""
    mapper = vtkPolyDataMapper()
    mapper.SetInputData(surface)
    mapper.SetScalarModeToUseCellData()
    actor = vtkActor()
    actor.SetMapper(mapper)
    actor.GetProperty().LightingOff()
    renderer = vtkRenderer()
    renderer.AddActor(actor)
    eye = renderer.GetActiveCamera()
    eye.ParallelProjectionOn()
    eye.SetPosition(camera.CameraPosition)
    eye.SetFocalPoint(camera.CameraFocalPoint)
    eye.SetViewUp(camera.CameraViewUp)
    eye.SetParallelScale(camera.CameraParallelScale)
    renderer.ResetCameraClippingRange()
    window = vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetMultiSamples(0)
    window.SetSize(width, HEIGHT)
    window.AddRenderer(renderer)
    window.Render()
    pixels = vtkUnsignedCharArray()
    window.GetPixelData(0, 0, width - 1, HEIGHT - 1, 0, pixels, 0)
    window.Finalize()
    parts = vtk_to_numpy(pixels).astype(np.int64).reshape(HEIGHT, width, 3)
    return (parts[..., 0] << 16 | parts[..., 1] << 8 | parts[..., 2]) - 1


def _axes(camera: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """The camera's directions to the right, up and forward, and the length of a pixel."""
    forward = np.subtract(camera.CameraFocalPoint, camera.CameraPosition)
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, camera.CameraViewUp)
    right /= np.linalg.norm(right)
    return right, np.cross(right, forward), forward, 2 * camera.CameraParallelScale / HEIGHT


def _middle(camera: Any) -> tuple[float, float]:
    """Row and column of the camera's focal point."""
    return HEIGHT / 2, HEIGHT * camera.ViewSize[0] / camera.ViewSize[1] / 2


def _point(place: tuple[int, int], camera: Any) -> np.ndarray:
    """The point (3,) at a pixel, at the depth of the camera's focal point."""
    right, up, _, pixel = _axes(camera)
    rows, columns = np.add(place, 0.5) - _middle(camera)
    return np.array(camera.CameraFocalPoint) + pixel * (columns * right + rows * up)


def _pixel(point: np.ndarray, camera: Any) -> tuple[int, int]:
    """Row and column of a point (3,)."""
    right, up, _, pixel = _axes(camera)
    way = np.subtract(point, camera.CameraFocalPoint) / pixel
    row, column = _middle(camera)
    return int(np.floor(row + way @ up)), int(np.floor(column + way @ right))


def _box_area(box: np.ndarray, camera: Any) -> float:
    """Area in pixels of the camera's image of a box, x0 to z1."""
    x, y, z = box[1::2] - box[0::2]
    _, _, forward, pixel = _axes(camera)
    return float(np.abs(forward) @ [y * z, z * x, x * y]) / pixel**2


def _inmost(shown: np.ndarray) -> tuple[int, int] | None:
    """Row and column of the pixel of a mask that is farthest from its border; None if it is empty."""
    rows, columns = np.flatnonzero(shown.any(axis=1)), np.flatnonzero(shown.any(axis=0))
    if not len(rows):
        return None
    left = np.pad(shown[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], 1)
    while True:
        less = left.copy()
        less[1:-1, 1:-1] &= left[:-2, 1:-1] & left[2:, 1:-1] & left[1:-1, :-2] & left[1:-1, 2:]
        if not less.any():
            break
        left = less
    places = np.argwhere(left)
    nearest = np.abs(places - places.mean(axis=0)).sum(axis=1).argmin()
    row, column = places[nearest] - 1
    return int(row + rows[0]), int(column + columns[0])
