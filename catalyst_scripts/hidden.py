# SPDX-License-Identifier: BSD-3-Clause
"""Finds the ranks whose pieces a camera does not see.

Each piece is drawn in a colour of its own, into memory; its pixels are counted and compared with the area
that the box around the piece would cover. A rank is hidden if it shows less than SHOWN of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  draws
from mesh_values import OFFSET, pieces_of
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkUnsignedCharArray
from vtkmodules.vtkCommonDataModel import vtkPolyData
from vtkmodules.vtkFiltersCore import vtkAppendPolyData
from vtkmodules.vtkFiltersGeometry import vtkGeometryFilter
from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper, vtkRenderer, vtkRenderWindow

SHOWN = 0.05
SMALL = 12.0  # square pixels; smaller pieces are not judged
PIXELS = (800, 500)


@dataclass(frozen=True)
class Camera:
    """A parallel projection: the fields are ParaView's of a view."""

    CameraPosition: Sequence[float]
    CameraFocalPoint: Sequence[float]
    CameraViewUp: Sequence[float]
    CameraParallelScale: float


class Surfaces:
    """The surfaces of all pieces at one time. data : the geometry picture, with one block per piece."""

    def __init__(self, data: Any):
        append = vtkAppendPolyData()
        ranks: list[int] = []
        for rank, _, piece in pieces_of(data):
            surface = vtkGeometryFilter()
            surface.SetInputData(piece)
            surface.Update()
            found = surface.GetOutput()
            if found.GetNumberOfPolys():
                bare = vtkPolyData()
                bare.SetPoints(found.GetPoints())
                bare.SetPolys(found.GetPolys())
                bare.GetPointData().AddArray(found.GetPointData().GetArray(OFFSET))
                bare.GetCellData().AddArray(_constant("rank", rank, bare.GetNumberOfCells(), np.int64))
                bare.GetPointData().AddArray(_constant("rank", rank, bare.GetNumberOfPoints(), np.int64))
                append.AddInputData(bare)
                ranks.append(rank)
        self.ranks = sorted(set(ranks))
        if ranks:
            append.Update()
            self._whole = append.GetOutput()
            self._points = vtk_to_numpy(self._whole.GetPoints().GetData()).astype(float)
            self._offsets = vtk_to_numpy(self._whole.GetPointData().GetArray(OFFSET))
            self._of_point = vtk_to_numpy(self._whole.GetPointData().GetArray("rank"))
            self._colour()

    def hidden(self, camera: Camera, factor: float = 0.0) -> set[int]:
        """The ranks that show too little in the mesh exploded by a factor."""
        if len(self.ranks) < 2:
            return set()
        points = self._points + factor * self._offsets
        self._whole.GetPoints().SetData(numpy_to_vtk(points, deep=True))
        self._whole.Modified()
        numbers = _drawn(self._whole, camera)
        seen = np.bincount(numbers, minlength=self.ranks[-1] + 2)
        hidden = set()
        for rank in self.ranks:
            area = _box_area(points[self._of_point == rank], camera)
            if area > SMALL and seen[rank + 1] < SHOWN * area:
                hidden.add(rank)
        return hidden

    def _colour(self) -> None:
        """Gives each cell its rank plus one as a colour; 0 is the background."""
        number = vtk_to_numpy(self._whole.GetCellData().GetArray("rank")) + 1
        parts = np.stack([number >> 16, number >> 8 & 255, number & 255], axis=1).astype(np.uint8)
        colours = numpy_to_vtk(parts, deep=True)
        colours.SetName("colour")
        self._whole.GetCellData().SetScalars(colours)


def _constant(name: str, value: float, size: int, kind: Any) -> Any:
    array = numpy_to_vtk(np.full(size, value, kind), deep=True)
    array.SetName(name)
    return array


def _drawn(surface: vtkPolyData, camera: Camera) -> np.ndarray:
    """The number of the piece at each pixel, as `Surfaces` numbered them."""
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
    window.SetSize(PIXELS)
    window.AddRenderer(renderer)
    window.Render()
    pixels = vtkUnsignedCharArray()
    window.GetPixelData(0, 0, PIXELS[0] - 1, PIXELS[1] - 1, 0, pixels, 0)
    window.Finalize()
    parts = vtk_to_numpy(pixels).astype(np.int64)
    return parts[:, 0] << 16 | parts[:, 1] << 8 | parts[:, 2]


def _box_area(points: np.ndarray, camera: Camera) -> float:
    """Area in pixels of the camera's image of the box around some points."""
    x, y, z = np.ptp(points, axis=0)
    forward = np.subtract(camera.CameraFocalPoint, camera.CameraPosition)
    forward = np.abs(forward) / np.linalg.norm(forward)
    pixel = 2 * camera.CameraParallelScale / PIXELS[1]
    return float(forward @ [y * z, z * x, x * y]) / pixel**2
