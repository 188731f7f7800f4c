# SPDX-License-Identifier: BSD-3-Clause
"""Reads a mesh file of any known format at one of its times: VTK's own formats, EnSight, Exodus, CGNS.

`FORMATS` has a reader per ending of the name.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from vtkmodules.vtkCommonCore import vtkLogger, vtkOutputWindow, vtkStringOutputWindow, vtkVersion
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkDataObject, vtkDataSet
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOXML import (
    vtkXMLImageDataReader,
    vtkXMLPolyDataReader,
    vtkXMLRectilinearGridReader,
    vtkXMLStructuredGridReader,
    vtkXMLUnstructuredGridReader,
)

from perfield.pictures.blocks import MeshMissingError

READERS = {
    ".vtu": vtkXMLUnstructuredGridReader,
    ".vtp": vtkXMLPolyDataReader,
    ".vti": vtkXMLImageDataReader,
    ".vtr": vtkXMLRectilinearGridReader,
    ".vts": vtkXMLStructuredGridReader,
}
PARALLEL = (".pvtu", ".pvtp", ".pvti", ".pvtr", ".pvts")


class MeshFile:
    """A mesh file. times : of what it holds, ascending; empty if it tells none.

    Raises MeshMissingError, with what to do, if it is missing, damaged or of an unknown format.
    """

    def __init__(self, path: Path):
        if not path.is_file():
            raise MeshMissingError(f"mesh {path} is not a file; name one of {_known()}.")
        if path.suffix.lower() not in FORMATS:
            raise MeshMissingError(
                f"mesh {path} ends in '{path.suffix}'; known are {_known()}. Convert it to .vtu."
            )
        self._path = path
        with self._telling():
            self._content = FORMATS[path.suffix.lower()](path)
            self.times: list[float] = self._content.times

    def datasets(self, time: float | None) -> list[vtkDataSet]:
        """The blocks at one of `times`, in the order of the file; None for a file without times."""
        with self._telling():
            return [block for block in self._content.read(time) if block.GetNumberOfCells()]

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Turns what VTK prints and what Python raises into one sentence."""
        before, said = vtkOutputWindow.GetInstance(), vtkStringOutputWindow()
        verbosity = vtkLogger.GetCurrentVerbosityCutoff()
        vtkOutputWindow.SetInstance(said)
        vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
        reason = ""
        try:
            yield
        except (OSError, ValueError, KeyError, ElementTree.ParseError) as error:
            reason = str(error) or type(error).__name__
        finally:
            vtkOutputWindow.SetInstance(before)
            vtkLogger.SetStderrVerbosity(verbosity)
        reason = reason or next((line for line in said.GetOutput().splitlines() if "): " in line), "")
        if reason:
            reason = reason.split("): ")[-1].strip()
            raise MeshMissingError(
                f"VTK {vtkVersion.GetVTKVersion()} cannot read {self._path} ({reason}): it is "
                "damaged, is still being written, or is not what its name says. Write it again, or convert "
                "it to .vtu with inline data."
            )


def _known() -> str:
    return ", ".join(sorted(FORMATS))


class _ByReader:
    """What one of VTK's readers gives."""

    def __init__(self, reader: Any):
        reader.UpdateInformation()
        self._reader = reader
        about, key = reader.GetOutputInformation(0), vtkStreamingDemandDrivenPipeline.TIME_STEPS()
        known = [about.Get(key, number) for number in range(about.Length(key))] if about.Has(key) else []
        self.times = sorted(float(time) for time in known)

    def read(self, time: float | None) -> list[vtkDataSet]:
        if time is None:
            self._reader.Update()
        else:
            self._reader.UpdateTimeStep(time)
        return _leaves(self._reader.GetOutputDataObject(0))


class _Collection:
    """A .pvd file: one file or several for each time."""

    def __init__(self, path: Path):
        self._files: dict[float, list[Path]] = {}
        for entry in ElementTree.parse(path).iter("DataSet"):
            time = float(entry.get("timestep", 0))
            self._files.setdefault(time, []).append(path.parent / str(entry.get("file")))
        if not self._files:
            raise ValueError("it lists no DataSet")
        self.times = sorted(self._files)

    def read(self, time: float | None) -> list[vtkDataSet]:
        files = self._files[self.times[-1] if time is None else time]
        return [block for file in files for block in MeshFile(file).datasets(None)]


class _Parallel:
    """A .pvtu file and its like: the pieces in their order."""

    def __init__(self, path: Path):
        self.times: list[float] = []
        self._pieces = piece_files(path)

    def read(self, time: float | None) -> list[vtkDataSet]:
        return [block for piece in self._pieces for block in MeshFile(piece).datasets(None)]


def piece_files(path: Path) -> list[Path]:
    """The files that a .pvtu file and its like lists. Raises OSError or ElementTree.ParseError."""
    return [path.parent / str(piece.get("Source")) for piece in ElementTree.parse(path).iter("Piece")]


def _xml(path: Path) -> _ByReader:
    reader = READERS[path.suffix.lower()]()
    reader.SetFileName(str(path))
    return _ByReader(reader)


def _ensight(path: Path) -> _ByReader:
    from vtkmodules.vtkIOEnSight import vtkGenericEnSightReader

    reader = vtkGenericEnSightReader()
    reader.SetCaseFileName(str(path))
    return _ByReader(reader)


def _leaves(data: vtkDataObject | None) -> list[vtkDataSet]:
    if not isinstance(data, vtkCompositeDataSet):
        return [data] if isinstance(data, vtkDataSet) else []
    found, iterator = [], data.NewIterator()
    iterator.InitTraversal()
    while not iterator.IsDoneWithTraversal():
        found += _leaves(iterator.GetCurrentDataObject())
        iterator.GoToNextItem()
    return found


FORMATS: dict[str, Callable[[Path], Any]] = {
    **dict.fromkeys(READERS, _xml),
    **dict.fromkeys(PARALLEL, _Parallel),
    ".pvd": _Collection,
    ".case": _ensight,
    ".encas": _ensight,
}


def newest_time(times: list[float], time: float) -> float:
    """The newest of the times at or before `time`; the first if there is none, the last if `time` is NaN.

    times : ascending; 0 is returned if there are none.
    """
    if not times:
        return 0.0
    if np.isnan(time):
        return times[-1]
    before = [written for written in times if written <= time + 1e-9 * max(1.0, abs(time))]
    return before[-1] if before else times[0]
