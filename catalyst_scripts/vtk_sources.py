# SPDX-License-Identifier: BSD-3-Clause
"""The sources and filters of `paraview.simple` that pictures use, made of VTK alone, for `vtk_drawing`.

Nothing is computed before `UpdatePipeline`, which takes a time up to the reader and brings the data down.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from safe_open import safe_read
from vtkmodules.vtkCommonDataModel import vtkDataObject, vtkMultiBlockDataSet, vtkPlane
from vtkmodules.vtkCommonExecutionModel import vtkTrivialProducer
from vtkmodules.vtkFiltersCore import (
    vtkCutter,
    vtkFeatureEdges,
    vtkPolyDataNormals,
    vtkThreshold,
    vtkTubeFilter,
)
from vtkmodules.vtkFiltersExtraction import vtkExtractBlockUsingDataAssembly
from vtkmodules.vtkFiltersGeneral import vtkWarpVector
from vtkmodules.vtkFiltersGeometry import vtkDataSetSurfaceFilter
from vtkmodules.vtkFiltersParallel import vtkRemoveGhosts
from vtkmodules.vtkIOXML import vtkXMLGenericDataObjectReader

ASSOCIATIONS = {
    "POINTS": vtkDataObject.FIELD_ASSOCIATION_POINTS,
    "CELLS": vtkDataObject.FIELD_ASSOCIATION_CELLS,
}


class Source:
    """A step of a pipeline. Input : the one before it."""

    def __init__(self, algorithm: Any, Input: Source | None = None, registrationName: str = ""):
        self._algorithm, self.Input = algorithm, Input
        if Input is not None:
            algorithm.SetInputConnection(Input.GetClientSideObject().GetOutputPort())

    def GetClientSideObject(self) -> Any:
        """VTK's algorithm."""
        return self._algorithm

    def GetDataInformation(self) -> Any:
        """The output, which knows its number of cells."""
        return self._algorithm.GetOutputDataObject(0)

    def UpdatePipeline(self, time: float | None = None) -> None:
        """Computes the output of a time; None: of the time that was computed last."""
        if self.Input is not None:
            self.Input.UpdatePipeline(time)
        self._prepare(time)
        self._algorithm.Update()

    def _prepare(self, time: float | None) -> None:
        """Hands the attributes to the algorithm."""

    def _process(self, array: Sequence[str]) -> None:
        """Names the array that the algorithm works on: its association and name."""
        association, name = array
        self._algorithm.SetInputArrayToProcess(0, 0, 0, ASSOCIATIONS[association], name)


class PVDReader(Source):
    """Reads the files that a .pvd names, each when its time is requested."""

    def __init__(self, FileName: str, registrationName: str = ""):
        super().__init__(vtkTrivialProducer())
        path = Path(FileName)
        listed = ET.fromstring(safe_read(path, path.parent)).iter("DataSet")
        self._files = {float(one.get("timestep", "nan")): path.parent / one.get("file", "") for one in listed}
        self._read: Path | None = None

    def _prepare(self, time: float | None) -> None:
        if time is None and self._read is not None:
            return
        nearest = min(self._files, key=lambda known: abs(known - (time or 0.0)))
        if self._files[nearest] != self._read:
            self._read = self._files[nearest]
            reader = vtkXMLGenericDataObjectReader()
            reader.SetFileName(str(self._read))
            reader.Update()
            data = reader.GetOutputDataObject(0)
            if data is None or reader.GetErrorCode():
                raise ValueError(f"{self._read} cannot be read; `perfield render RUN` writes it again")
            self._algorithm.SetOutput(data)


class PVTrivialProducer(Source):
    """Gives what was put into its algorithm with SetOutput."""

    SMProxy = None

    def __init__(self, registrationName: str = ""):
        super().__init__(vtkTrivialProducer())

    def MarkModified(self, proxy: Any) -> None:
        """Does nothing: VTK sees the new output."""


class Changed(Source):
    """Composite data as a function changes it. change : fills an empty vtkMultiBlockDataSet from the input.

    `paraview.simple` has ProgrammableFilter in its place, with a script.
    """

    def __init__(self, Input: Source, change: Callable[[Any, Any], None]):
        super().__init__(vtkTrivialProducer())
        self.Input, self._change, self._before = Input, change, None

    def _prepare(self, time: float | None) -> None:
        data = self.Input.GetDataInformation()
        if data is not self._before:
            self._before, made = data, vtkMultiBlockDataSet()
            self._change(data, made)
            self._algorithm.SetOutput(made)


class ExtractBlock(Source):
    """Those blocks of composite data that selectors as "/Root/name" name."""

    def __init__(self, Input: Source, Selectors: Sequence[str] = (), registrationName: str = ""):
        super().__init__(vtkExtractBlockUsingDataAssembly(), Input)
        self._algorithm.SetAssemblyName("Hierarchy")
        self.Selectors = Selectors

    def _prepare(self, time: float | None) -> None:
        known = [self._algorithm.GetSelector(n) for n in range(self._algorithm.GetNumberOfSelectors())]
        if known != list(self.Selectors):
            self._algorithm.ClearSelectors()
            for selector in self.Selectors:
                self._algorithm.AddSelector(selector)


class Threshold(Source):
    """The cells with values between two thresholds."""

    Scalars: Sequence[str] = ("CELLS", "")
    LowerThreshold = UpperThreshold = 0.0

    def __init__(self, Input: Source, registrationName: str = ""):
        super().__init__(vtkThreshold(), Input)

    def _prepare(self, time: float | None) -> None:
        self._process(self.Scalars)
        self._algorithm.SetLowerThreshold(self.LowerThreshold)
        self._algorithm.SetUpperThreshold(self.UpperThreshold)


class Tube(Source):
    """Lines as tubes, as thick as an array of their points says."""

    Scalars: Sequence[str] = ("POINTS", "")
    NumberofSides = 6

    def __init__(self, Input: Source, registrationName: str = ""):
        super().__init__(vtkTubeFilter(), Input)
        self._algorithm.SetVaryRadiusToVaryRadiusByAbsoluteScalar()
        self._algorithm.CappingOn()

    def _prepare(self, time: float | None) -> None:
        self._process(self.Scalars)
        self._algorithm.SetNumberOfSides(self.NumberofSides)


class ExtractSurface(Source):
    """The outer faces of a mesh."""

    def __init__(self, Input: Source, registrationName: str = ""):
        super().__init__(vtkDataSetSurfaceFilter(), Input)


class GenerateSurfaceNormals(Source):
    """A surface with normals. Consistency : all faces turn the same side outwards."""

    Consistency = Splitting = 1

    def __init__(self, Input: Source, registrationName: str = ""):
        super().__init__(vtkPolyDataNormals(), Input)

    def _prepare(self, time: float | None) -> None:
        self._algorithm.SetConsistency(self.Consistency)
        self._algorithm.SetSplitting(self.Splitting)


class FeatureEdges(Source):
    """The sharp edges of a surface and those at its border."""

    NonManifoldEdges = 1

    def __init__(self, Input: Source, registrationName: str = ""):
        super().__init__(vtkFeatureEdges(), Input)
        self._algorithm.ColoringOff()

    def _prepare(self, time: float | None) -> None:
        self._algorithm.SetNonManifoldEdges(self.NonManifoldEdges)


class RemoveGhostInformation(Source):
    """Cells without ghosts."""

    def __init__(self, Input: Source, registrationName: str = ""):
        super().__init__(vtkRemoveGhosts(), Input)


class Slice(Source):
    """What a plane shows of a mesh."""

    Triangulatetheslice = 1

    def __init__(self, Input: Source, registrationName: str = ""):
        super().__init__(vtkCutter(), Input)
        self.SliceType = SimpleNamespace(Origin=(0.0, 0.0, 0.0), Normal=(1.0, 0.0, 0.0))
        self._plane = vtkPlane()
        self._algorithm.SetCutFunction(self._plane)

    def _prepare(self, time: float | None) -> None:
        self._plane.SetOrigin(self.SliceType.Origin)
        self._plane.SetNormal(self.SliceType.Normal)
        self._algorithm.SetGenerateTriangles(self.Triangulatetheslice)


class WarpByVector(Source):
    """A mesh whose points move along a vector."""

    Vectors: Sequence[str] = ("POINTS", "")
    ScaleFactor = 1.0

    def __init__(self, Input: Source, registrationName: str = ""):
        super().__init__(vtkWarpVector(), Input)

    def _prepare(self, time: float | None) -> None:
        self._process(self.Vectors)
        self._algorithm.SetScaleFactor(self.ScaleFactor)


class Text:
    """A text, which a view shows at a place of its own."""

    def __init__(self, Text: str = "", registrationName: str = ""):
        self.Text = Text
