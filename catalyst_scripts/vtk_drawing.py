# SPDX-License-Identifier: BSD-3-Clause
"""Draws images with VTK alone: the names of `paraview.simple` that pictures use, with the same meaning.

Sources, displays, views, colour tables and legends have those attributes of ParaView's proxies that pictures
change; others have the one value that pictures give them. `SaveScreenshot` hands all to VTK, which draws in
memory. What pictures newly take from `paraview.simple` has to be added here, or in `vtk_sources` and
`vtk_legend`. tests/catalyst_scripts/test_drawing.py compares the images of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import vtkmodules.vtkRenderingOpenGL2 as drawing_library
from vtk_flat import DPI, RGB, boxes_of, extent, letters, text_at
from vtk_legend import Legend, Table
from vtk_sources import (
    Changed,
    ExtractBlock,
    ExtractSurface,
    FeatureEdges,
    GenerateSurfaceNormals,
    PVDReader,
    PVTrivialProducer,
    RemoveGhostInformation,
    Slice,
    Source,
    Text,
    Threshold,
    Tube,
    WarpByVector,
)
from vtkmodules.vtkCommonDataModel import vtkMultiBlockDataSet, vtkPolyData
from vtkmodules.vtkCommonMisc import vtkErrorCode
from vtkmodules.vtkFiltersGeometry import vtkGeometryFilter
from vtkmodules.vtkIOImage import vtkPNGWriter
from vtkmodules.vtkRenderingCore import (
    vtkActor,
    vtkActor2D,
    vtkCompositePolyDataMapper,
    vtkLightKit,
    vtkMapper,
    vtkRenderer,
    vtkRenderWindow,
    vtkWindowToImageFilter,
)

__all__ = [
    "Changed",
    "ColorBy",
    "CreateRenderView",
    "Delete",
    "ExtractBlock",
    "ExtractSurface",
    "FeatureEdges",
    "GenerateSurfaceNormals",
    "GetActiveViewOrCreate",
    "GetColorTransferFunction",
    "GetDisplayProperties",
    "GetScalarBar",
    "HideScalarBarIfNotNeeded",
    "PVDReader",
    "PVTrivialProducer",
    "RemoveGhostInformation",
    "SaveScreenshot",
    "Show",
    "Slice",
    "Text",
    "Threshold",
    "Tube",
    "WarpByVector",
]

vtkMapper.SetResolveCoincidentTopologyToPolygonOffset()  # lines before their faces, as in ParaView

# Until VTK 9.2, the mapper of the usual name draws nothing that is translucent.
MAPPER = getattr(drawing_library, "vtkCompositePolyDataMapper2", vtkCompositePolyDataMapper)
PEELS = 4  # layers of what is translucent, as in ParaView
SAMPLES = 8  # of each pixel, or as many as OpenGL has


class Display:
    """How a view shows a source."""

    Representation, Interpolation, BackfaceRepresentation = "Surface", "Gouraud", "Follow Frontface"
    ColorArrayName: Sequence[str] = ("POINTS", "")
    DiffuseColor: RGB = (1.0, 1.0, 1.0)
    AmbientColor: RGB = (1.0, 1.0, 1.0)
    EdgeColor: RGB = (0.0, 0.0, 0.5)
    Ambient, Diffuse, Specular = 0.0, 1.0, 0.0
    Opacity, LineWidth, PointSize = 1.0, 1.0, 2.0
    Position: RGB = (0.0, 0.0, 0.0)
    Visibility = 1

    def __init__(self, source: Source):
        self.Input = source
        self._mapper, self.actor = MAPPER(), vtkActor()
        self.actor.SetMapper(self._mapper)
        self._shown: tuple[Any, int] = (None, 0)

    def SetScalarBarVisibility(self, view: View, visible: bool) -> None:
        """Shows or hides the legend of the array that colours this display."""
        if self.ColorArrayName[1]:
            GetScalarBar(GetColorTransferFunction(self.ColorArrayName[1]), view).Visibility = int(visible)

    def prepare(self, time: float) -> None:
        """Hands everything to VTK, for the image of a time."""
        self.actor.SetVisibility(bool(self.Visibility))
        if not self.Visibility:
            return
        self.Input.UpdatePipeline(time)
        data = self.Input.GetDataInformation()
        if self._shown != (data, data.GetUpdateTime()):
            self._shown = (data, data.GetUpdateTime())
            self._mapper.SetInputDataObject(_surfaces(data))
        self._colour(*self.ColorArrayName)
        look = self.actor.GetProperty()
        look.SetAmbientColor(*self.AmbientColor)
        look.SetDiffuseColor(*self.DiffuseColor)
        look.SetEdgeColor(*self.EdgeColor)
        look.SetAmbient(self.Ambient)
        look.SetDiffuse(self.Diffuse)
        look.SetSpecular(self.Specular)
        look.SetOpacity(self.Opacity)
        look.SetLineWidth(self.LineWidth)
        look.SetPointSize(self.PointSize)
        if self.Representation == "Wireframe":
            look.SetRepresentationToWireframe()
        else:
            look.SetRepresentationToSurface()
        look.SetEdgeVisibility(self.Representation == "Surface With Edges")
        look.SetBackfaceCulling(self.BackfaceRepresentation == "Cull Backface")
        if self.Interpolation == "Flat":
            look.SetInterpolationToFlat()
        else:
            look.SetInterpolationToGouraud()
        self.actor.SetPosition(*self.Position)

    def _colour(self, association: str, name: str, component: str = "") -> None:
        self._mapper.SetScalarVisibility(bool(name))
        if not name:
            return
        self._mapper.SetLookupTable(GetColorTransferFunction(name).function(component))
        self._mapper.UseLookupTableScalarRangeOn()
        self._mapper.InterpolateScalarsBeforeMappingOn()
        if association == "CELLS":
            self._mapper.SetScalarModeToUseCellFieldData()
        else:
            self._mapper.SetScalarModeToUsePointFieldData()
        self._mapper.SelectColorArray(name)


class TextDisplay:
    """How a view shows a text. Position : its lower left, as fractions of the view.

    Padding : pixels around the text, to the ends of its background, which has a colour with ShowBorder.
    """

    Position: Sequence[float] = (0.05, 0.05)
    Color: RGB = (1.0, 1.0, 1.0)
    BackgroundColor: RGB = (1.0, 1.0, 1.0, 0.2)
    ShowBorder, Padding = "Only on hover", 1
    FontSize, LineSpacing = 18, 1.0
    Visibility = 1

    def __init__(self, source: Text):
        self.Input = source

    def drawn(self, size: tuple[int, int]) -> list[vtkActor2D]:
        """The actors in an image of a size."""
        text = self.Input.Text
        if not self.Visibility or not text:
            return []
        x, y = (part * length for part, length in zip(self.Position, size))
        look = letters(self.FontSize, self.Color, self.LineSpacing)
        made = []
        if self.ShowBorder == "Always":
            left, right, low, high = extent(text, look)
            wide, up = right - left + 1 + 2 * self.Padding, high - low + 1 + 2 * self.Padding
            *rgb, opacity = self.BackgroundColor
            made.append(boxes_of([(x, y, x + wide, y + up, rgb)], opacity))
        return [*made, text_at(text, x + self.Padding, y + self.Padding, look)]


class View:
    """What an image shows, and from where."""

    ViewSize: Sequence[int] = (400, 400)
    Background: RGB = (1.0, 1.0, 1.0)
    CameraPosition: RGB = (0.0, 0.0, 1.0)
    CameraFocalPoint: RGB = (0.0, 0.0, 0.0)
    CameraViewUp: RGB = (0.0, 1.0, 0.0)
    CameraParallelProjection, CameraParallelScale, CameraViewAngle = 0, 1.0, 30.0
    UseFXAA = 1
    ViewTime = 0.0

    def __init__(self) -> None:
        self.Representations: list[Any] = []  # displays, in the order of their first showing
        self.legends: dict[str, Legend] = {}
        self._bodies, self._flat, self._window = vtkRenderer(), vtkRenderer(), vtkRenderWindow()
        self._bodies.AutomaticLightCreationOff()
        vtkLightKit().AddLightsToRenderer(self._bodies)
        self._bodies.SetMaximumNumberOfPeels(PEELS)
        self._flat.SetLayer(1)
        self._flat.InteractiveOff()
        self._window.SetOffScreenRendering(1)
        self._window.SetAlphaBitPlanes(1)
        self._window.SetDPI(DPI)
        self._window.SetNumberOfLayers(2)
        self._window.AddRenderer(self._bodies)
        self._window.AddRenderer(self._flat)

    def image(self, size: tuple[int, int]) -> vtkWindowToImageFilter:
        """Draws an image of a size."""
        self._window.SetSize(*size)
        self._bodies.SetBackground(*self.Background)
        self._flat.RemoveAllViewProps()
        for display in self.Representations:
            if isinstance(display, Display):
                display.prepare(self.ViewTime)
                if not self._bodies.HasViewProp(display.actor):
                    self._bodies.AddActor(display.actor)
        self._smooth()
        texts = [display for display in self.Representations if isinstance(display, TextDisplay)]
        for actor in (actor for one in [*self.legends.values(), *texts] for actor in one.drawn(size)):
            self._flat.AddViewProp(actor)
        camera = self._bodies.GetActiveCamera()
        camera.SetPosition(*self.CameraPosition)
        camera.SetFocalPoint(*self.CameraFocalPoint)
        camera.SetViewUp(*self.CameraViewUp)
        camera.SetParallelProjection(self.CameraParallelProjection)
        camera.SetParallelScale(self.CameraParallelScale)
        camera.SetViewAngle(self.CameraViewAngle)
        self._bodies.ResetCameraClippingRange()
        self._window.Render()
        image = vtkWindowToImageFilter()
        image.SetInput(self._window)
        image.ReadFrontBufferOff()
        image.ShouldRerenderOff()
        return image

    def _smooth(self) -> None:
        """Smooths edges: of what is flat by samples, which keep small letters legible. They spoil what is
        translucent, and show the seams of a shaded mesh's triangles."""
        bodies = (one for one in self.Representations if isinstance(one, Display) and one.Visibility)
        sampled = all(display.Opacity == 1 and display.Diffuse == 0 for display in bodies)
        self._window.SetMultiSamples(SAMPLES if sampled else 0)
        self._bodies.SetUseDepthPeeling(not sampled)
        self._bodies.SetUseFXAA(bool(self.UseFXAA) and not sampled)


_tables: dict[str, Table] = {}
_views: list[View] = []


def CreateRenderView() -> View:
    """A new view, with nothing in it."""
    _views.append(View())
    return _views[-1]


def GetActiveViewOrCreate(kind: str) -> View:
    """The view that was made last, or a new one."""
    return _views[-1] if _views else CreateRenderView()


def GetDisplayProperties(source: Any, view: View) -> Any:
    """How a view shows a source; made when it is asked for first."""
    display = next((known for known in view.Representations if known.Input is source), None)
    if display is None:
        display = TextDisplay(source) if isinstance(source, Text) else Display(source)
        view.Representations.append(display)
    return display


def Show(source: Any, view: View, kind: str = "") -> Any:
    """Shows a source in a view; returns its display."""
    display = GetDisplayProperties(source, view)
    display.Visibility = 1
    return display


def ColorBy(display: Display, value: Sequence[str]) -> None:
    """Colours a display by an array: its association and name, and of vectors "Magnitude"."""
    display.ColorArrayName = list(value)


def GetColorTransferFunction(name: str) -> Table:
    """The colours of an array, the same in all views."""
    return _tables.setdefault(name, Table(name))


def GetScalarBar(table: Table, view: View) -> Legend:
    """The legend of a table in a view."""
    return view.legends.setdefault(table.name, Legend(table))


def HideScalarBarIfNotNeeded(table: Table, view: View) -> None:
    """Hides the legend of a table if nothing visible has its colours."""
    shown = (one for one in view.Representations if isinstance(one, Display) and one.Visibility)
    if all(display.ColorArrayName[1] != table.name for display in shown):
        GetScalarBar(table, view).Visibility = 0


def SaveScreenshot(
    path: str, view: View, ImageResolution: tuple[int, int], CompressionLevel: str = "5", **_: Any
) -> None:
    """Draws a view into a .png file."""
    image, writer = view.image(tuple(ImageResolution)), vtkPNGWriter()
    writer.SetInputConnection(image.GetOutputPort())
    writer.SetCompressionLevel(int(CompressionLevel))
    writer.SetFileName(path)
    writer.Write()
    if writer.GetErrorCode():
        reason = vtkErrorCode.GetStringFromErrorCode(writer.GetErrorCode())
        raise OSError(f"{path} could not be written: {reason}")


def Delete(view: View) -> None:
    """Forgets a view."""
    _views.remove(view)


def _surfaces(data: Any) -> vtkMultiBlockDataSet:
    """What can be drawn of data: the surfaces of all datasets that are not empty."""
    found = vtkMultiBlockDataSet()
    for dataset in _datasets(data):
        if dataset.GetNumberOfPoints():
            found.SetBlock(found.GetNumberOfBlocks(), _surface(dataset))
    return found


def _datasets(data: Any) -> list[Any]:
    if not data.IsA("vtkCompositeDataSet"):
        return [data]
    found, iterator = [], data.NewIterator()
    iterator.InitTraversal()
    while not iterator.IsDoneWithTraversal():
        found.append(iterator.GetCurrentDataObject())
        iterator.GoToNextItem()
    return found


def _surface(dataset: Any) -> vtkPolyData:
    if dataset.IsA("vtkPolyData"):
        return dataset
    surface = vtkGeometryFilter()
    surface.SetInputData(dataset)
    surface.Update()
    return surface.GetOutput()
