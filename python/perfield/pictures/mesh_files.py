# SPDX-License-Identifier: BSD-3-Clause
"""Reads a mesh file of any known format at one of its times.

`FORMATS` has a reader of VTK for each ending of the name; `meshio_files` reads others.
"""

from __future__ import annotations

import locale
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

from perfield.catalyst_scripts.safe_open import safe_open
from perfield.pictures import meshio_files
from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.tried_apart import ENSIGHT, tried_apart
from perfield.pictures.unpacked_size import check_legacy_counts, check_unpacked_size

if TYPE_CHECKING:
    from perfield.run import Frame

READERS = {
    ".vtu": vtkXMLUnstructuredGridReader,
    ".vtp": vtkXMLPolyDataReader,
    ".vti": vtkXMLImageDataReader,
    ".vtr": vtkXMLRectilinearGridReader,
    ".vts": vtkXMLStructuredGridReader,
}
PARALLEL = (".pvtu", ".pvtp", ".pvti", ".pvtr", ".pvts")
EXODUS = (".e", ".exo", ".ex2", ".exii", ".g", ".gen")
SPREAD = re.compile(rf"(.+(?:{'|'.join(map(re.escape, EXODUS))})(?:-s\d+)?)\.(\d+)\.(\d+)")
"""Name of a piece of Exodus: the whole file's, the number of pieces, and its own number, from 0."""


class MeshFile:
    """A mesh file. times : of what it holds, ascending; empty if it has none.

    Raises MeshMissingError, with what to do, if it is missing, damaged or of an unknown format.
    """

    def __init__(self, path: Path):
        if not path.is_file():
            raise MeshMissingError(f"mesh {path} is not a file; name one of {_known()}.")
        format_of = format_for(path)
        if format_of is None:
            raise MeshMissingError(
                f"mesh {path} ends in '{path.suffix}'; known are {_known()}. Convert it to .vtu."
            )
        self.path = path
        with self._naming_errors():
            safe_open(path, most=None).close()  # the libraries below would wait for a pipe
            self._content = format_of(path)
            self.times: list[float] = self._content.times

    def datasets(self, time: float | None) -> list[vtkDataSet]:
        """The blocks at one of `times`, in the order of the file; None for a file without times."""
        with self._naming_errors():
            return [block for block in self._content.read(time) if block.GetNumberOfCells()]

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        """Turns what VTK prints and what Python raises into one sentence."""
        before, said = vtkOutputWindow.GetInstance(), vtkStringOutputWindow()
        verbosity = vtkLogger.GetCurrentVerbosityCutoff()
        vtkOutputWindow.SetInstance(said)
        vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
        reason = ""
        try:
            yield
        except ImportError as error:
            raise MeshMissingError(
                f"reading {self.path} needs a module that Python does not find ({error}); Debian's ParaView "
                f"has all of VTK's, and others come with {meshio_files.INSTALL}."
            ) from error
        except (OSError, ValueError, KeyError, ElementTree.ParseError) as error:
            reason = str(error) or type(error).__name__
        finally:
            vtkOutputWindow.SetInstance(before)
            vtkLogger.SetStderrVerbosity(verbosity)
        reason = reason or next((line for line in said.GetOutput().splitlines() if "): " in line), "")
        if reason:
            reason = reason.split("): ")[-1].strip()
            raise MeshMissingError(
                f"VTK {vtkVersion.GetVTKVersion()} cannot read {self.path} ({reason}): it is "
                "damaged, is still being written, or is not what its name says. Write it again, or convert "
                "it to .vtu with inline data."
            ) from ValueError(reason)


def read_each(paths: list[str], all_times: bool) -> Iterator[str]:
    """Reads mesh files, each at all its times or the last; yields the path of each that was read.

    `tried_apart` calls this in a child. Raises ValueError with what the library says.
    """
    for path in paths:
        try:
            file = MeshFile(Path(path))
            for time in (file.times if all_times else file.times[-1:]) or [None]:
                file.datasets(time)
        except MeshMissingError as error:
            raise ValueError(str(error.__cause__ or error)) from error
        yield path


def pieces_of_exodus(path: Path) -> dict[int, Path]:
    """By number, the pieces of the same mesh in the folder of a piece; none of another file."""
    own = SPREAD.fullmatch(path.name)
    found = {}
    for other in path.parent.iterdir() if own else ():
        name = SPREAD.fullmatch(other.name)
        if name and name[1] == own[1] and int(name[2]) == int(own[2]):
            found[int(name[3])] = other
    return found


def format_for(path: Path) -> Callable[[Path], Any] | None:
    """What opens a file with this name; None for an unknown ending."""
    if SPREAD.fullmatch(path.name):
        return _exodus
    found = FORMATS.get(path.suffix.lower())
    return found or (meshio_files.MeshioContent if meshio_files.knows(path) else None)


def _known() -> str:
    others = f"those of meshio, as {', '.join(meshio_files.SOME)}"
    needs = "" if meshio_files.is_installed() else f" ({meshio_files.INSTALL})"
    return f"{', '.join(sorted(FORMATS))}, and {others}{needs}"


@contextmanager
def _same_locale() -> Iterator[None]:
    """The process keeps its locale: VTK's reader of `.vtk` files leaves it at C."""
    before = locale.setlocale(locale.LC_ALL)
    try:
        yield
    finally:
        locale.setlocale(locale.LC_ALL, before)


class _ByReader:
    """What one of VTK's readers gives."""

    @_same_locale()
    def __init__(self, reader: Any):
        reader.UpdateInformation()
        self._reader = reader
        about, key = reader.GetOutputInformation(0), vtkStreamingDemandDrivenPipeline.TIME_STEPS()
        known = [about.Get(key, number) for number in range(about.Length(key))] if about.Has(key) else []
        self.times = sorted(float(time) for time in known)

    @_same_locale()
    def read(self, time: float | None) -> list[vtkDataSet]:
        if time is None:
            self._reader.Update()
        else:
            self._reader.UpdateTimeStep(time)
        return _leaves(self._reader.GetOutputDataObject(0))


class _Collection:
    """A .pvd file: one file or several for each time."""

    def __init__(self, path: Path):
        self._files = files_by_time(path)
        if not self._files:
            raise ValueError("it lists no DataSet")
        self.times = sorted(self._files)

    def read(self, time: float | None) -> list[vtkDataSet]:
        files = self._files[self.times[-1] if time is None else time]
        pieces = [piece for file in files for piece in pieces_of(file)]
        return _blocks_of(pieces)


class _Parallel:
    """A .pvtu file and its like: the pieces in their order."""

    def __init__(self, path: Path):
        self.times: list[float] = []
        self._pieces = piece_files(path)

    def read(self, time: float | None) -> list[vtkDataSet]:
        return _blocks_of(self._pieces)


def _blocks_of(files: list[Path]) -> list[vtkDataSet]:
    """The blocks of all files of one time. Raises ValueError if one is listed twice."""
    known: dict[tuple[int, int], Path] = {}
    for file in files:
        if file.exists():  # else reading it reports that
            status = file.stat()
            if known.setdefault((status.st_dev, status.st_ino), file) is not file:
                raise ValueError(f"it lists {file} twice for one time")
    return [block for file in files for block in MeshFile(file).datasets(None)]


def pieces_of(file: Path) -> list[Path]:
    """The pieces of a parallel VTK file, or else the file itself. Raises as `piece_files`."""
    return piece_files(file) if file.suffix.lower() in PARALLEL else [file]


def files_by_time(path: Path) -> dict[float, list[Path]]:
    """The files that a .pvd file lists for each time, in the order of their parts.

    Raises OSError, ValueError or ElementTree.ParseError; also if it lists another list of files by time.
    """
    found: dict[float, list[tuple[int, Path]]] = {}
    for entry in _parsed(path).iter("DataSet"):
        time, part = float(entry.get("timestep", 0)), int(entry.get("part", 0))
        file = _beside(path, str(entry.get("file")))
        if file.suffix.lower() == ".pvd":
            raise ValueError(f"it lists {file}, which is such a list itself")
        found.setdefault(time, []).append((part, file))
    return {
        time: [file for _, file in sorted(files, key=lambda one: one[0])] for time, files in found.items()
    }


def piece_files(path: Path) -> list[Path]:
    """The files that a .pvtu file and its like lists.

    Raises OSError or ElementTree.ParseError, and ValueError if one of them is such a list itself.
    """
    pieces = [_beside(path, str(piece.get("Source"))) for piece in _parsed(path).iter("Piece")]
    for piece in pieces:
        if piece.suffix.lower() in (*PARALLEL, ".pvd"):
            raise ValueError(f"its piece {piece} is a list of pieces itself")
    return pieces


def _parsed(path: Path) -> ElementTree.ElementTree:
    with safe_open(path, most=None) as file:
        return ElementTree.parse(file)


def _beside(path: Path, named: str) -> Path:
    """A file that `path` names, relative to its folder; a program on Windows wrote backslashes."""
    found = path.parent / named
    return found if found.exists() else path.parent / named.replace("\\", "/")


def _xml(path: Path) -> _ByReader:
    check_unpacked_size(path)
    reader = READERS[path.suffix.lower()]()
    reader.SetFileName(os.fsencode(path))
    return _ByReader(reader)


def _named(module: str, reader: str, path: Path) -> Any:
    """One of VTK's readers, loaded only now. Raises ImportError where VTK lacks it."""
    made = getattr(import_module(f"vtkmodules.{module}"), reader)()
    made.SetFileName(os.fsencode(path))
    return made


def _legacy(path: Path) -> _ByReader:
    check_legacy_counts(path)
    return _ByReader(_named("vtkIOLegacy", "vtkGenericDataObjectReader", path))


def _ensight(path: Path) -> _ByReader:
    from vtkmodules.vtkIOEnSight import vtkGenericEnSightReader

    tried_apart(path)
    reader = vtkGenericEnSightReader()
    reader.SetCaseFileName(os.fsencode(path))
    return _ByReader(reader)


def _exodus(path: Path) -> _ByReader:
    with path.open("rb") as file:
        if not file.read(4).startswith((b"CDF", b"\x89HDF")):  # its library prints about others
            raise ValueError("it is not a file of netCDF")
    tried_apart(path, lambda: pieces_of_exodus(path).values())
    reader = _named("vtkIOExodus", "vtkExodusIIReader", path)
    reader.SetGenerateObjectIdCellArray(0)
    reader.UpdateInformation()
    for kind in (reader.NODAL, reader.ELEM_BLOCK):
        reader.SetAllArrayStatus(kind, 1)
    return _ByReader(reader)


def _cgns(path: Path) -> _ByReader:
    tried_apart(path)
    reader = _named("vtkIOCGNSReader", "vtkCGNSReader", path)
    reader.UpdateInformation()
    reader.EnableAllBases()
    reader.EnableAllPointArrays()
    reader.EnableAllCellArrays()
    return _ByReader(reader)


def _xdmf(path: Path) -> _ByReader:
    tried_apart(path)
    try:
        return _ByReader(_named("vtkIOXdmf3", "vtkXdmf3Reader", path))
    except ImportError:  # pip's VTK
        return _ByReader(_named("vtkIOXdmf2", "vtkXdmfReader", path))


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
    **dict.fromkeys(ENSIGHT, _ensight),
    **dict.fromkeys(EXODUS, _exodus),
    ".cgns": _cgns,
    ".xdmf": _xdmf,
    ".xmf": _xdmf,
    ".vtm": lambda path: _ByReader(_named("vtkIOXML", "vtkXMLMultiBlockDataReader", path)),
    ".vtk": _legacy,
}


def newest_time(times: list[float], frame: Frame | None) -> float:
    """The newest of the times at or before the frame's; the first if there is none, the last without a frame
    or if it has no time.

    times : ascending; 0 is returned if there are none.
    """
    return newest_until(times, float("nan") if frame is None else float(frame.time))


def begin_of(frame: Frame) -> float:
    """When a frame began, on the run's common clock: on the lowest rank that is known; NaN where none is."""
    known = frame.begin_s[np.isfinite(frame.begin_s)]
    return float(known[0]) if len(known) else float("nan")


def newest_until(times: list[float], time: float) -> float:
    """The newest of the times at or before another one, as for `newest_time`; NaN takes the last."""
    if not times:
        return 0.0
    if np.isnan(time):
        return times[-1]
    before = [written for written in times if written <= time + 1e-9 * max(1.0, abs(time))]
    return before[-1] if before else times[0]


def time_if_other(written: float | None, frame: Frame) -> float | None:
    """The time of what was written, where that is not the frame's own; None if it is, or has none."""
    is_same = written is None or np.isclose(written, float(frame.time), rtol=1e-9, atol=0)
    return None if is_same else written
