# SPDX-License-Identifier: BSD-3-Clause
"""Writes a series of pictures that stock ParaView opens: one .pvd, and the files that it names.

Every file is written under a temporary name and renamed, data first and the .pvd last, so that a reader
never sees half of anything. What does not change is written once and named by every step. Stock ParaView
cannot take a mesh and its values from two files, so an unstructured piece is written with each step.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import quoteattr

from vtkmodules.vtkCommonDataModel import vtkDataSet
from vtkmodules.vtkCommonMisc import vtkErrorCode
from vtkmodules.vtkIOXML import (
    vtkXMLImageDataWriter,
    vtkXMLPolyDataWriter,
    vtkXMLRectilinearGridWriter,
    vtkXMLStructuredGridWriter,
    vtkXMLUnstructuredGridWriter,
    vtkXMLWriter,
)

WRITERS: dict[str, type[vtkXMLWriter]] = {
    "vtkImageData": vtkXMLImageDataWriter,
    "vtkPolyData": vtkXMLPolyDataWriter,
    "vtkRectilinearGrid": vtkXMLRectilinearGridWriter,
    "vtkStructuredGrid": vtkXMLStructuredGridWriter,
    "vtkUnstructuredGrid": vtkXMLUnstructuredGridWriter,
}


class OutputError(OSError):
    """A picture could not be written; the text says which file and why."""


class Series:
    """The files `NAME.pvd` and `NAME/...` in a directory; close() makes them visible to readers.

    bytes : size of all files written.
    """

    def __init__(self, directory: Path, name: str):
        self.path = directory / f"{name}.pvd"
        self.bytes = 0
        self._directory = directory
        self._name = name
        self._steps: list[tuple[float, str]] = []
        self._written: set[Path] = set()
        (directory / name).mkdir(parents=True, exist_ok=True)

    def static(self, name: str, dataset: vtkDataSet) -> Path:
        """Writes a dataset that several steps show; give the path to `add` in its place."""
        return self._write(self._directory / self._name / name, dataset)

    def add(self, index: int, time: float, blocks: Iterable[tuple[str, vtkDataSet | Path]]) -> None:
        """Adds a step made of named blocks, each a dataset or what `static` gave for it."""
        folder = self._directory / self._name
        step = folder / f"step_{index:06d}"
        step.mkdir(exist_ok=True)
        lines = []
        for number, (name, block) in enumerate(blocks):
            path = block if isinstance(block, Path) else self._write(step / name, block)
            relative = path.relative_to(folder).as_posix()
            lines.append(
                f'    <DataSet index="{number}" name={quoteattr(name)} file={quoteattr(relative)}/>\n'
            )
        kind = "vtkMultiBlockDataSet"
        text = f"  <{kind}>\n{''.join(lines)}  </{kind}>\n"
        self._text(folder / f"step_{index:06d}.vtm", _vtk_file(kind, "1.0", text))
        self._steps.append((time, f"{self._name}/step_{index:06d}.vtm"))

    def add_one(self, index: int, time: float, dataset: vtkDataSet) -> None:
        """Adds a step made of a single dataset."""
        path = self._write(self._directory / self._name / f"step_{index:06d}", dataset)
        self._steps.append((time, path.relative_to(self._directory).as_posix()))

    def close(self) -> Path:
        """Writes the .pvd, then removes files of an earlier series of this name that it does not use."""
        lines = [
            f'    <DataSet timestep="{time!r}" part="0" file={quoteattr(file)}/>\n'
            for time, file in self._steps
        ]
        body = f"  <Collection>\n{''.join(lines)}  </Collection>\n"
        self._text(self.path, _vtk_file("Collection", "0.1", body))
        folder = self._directory / self._name
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_dir():
                if not any(path.iterdir()):
                    path.rmdir()
            elif path not in self._written:
                path.unlink()
        return self.path

    def _write(self, stem: Path, dataset: vtkDataSet) -> Path:
        writer = WRITERS[dataset.GetClassName()]()
        path = stem.with_name(f"{stem.name}.{writer.GetDefaultFileExtension()}")
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        writer.SetFileName(str(temporary))
        writer.SetInputDataObject(dataset)
        writer.SetDataModeToBinary()  # appended data is not read by VTK 9.1 with Expat 2.6 or Debian 12's
        writer.SetCompressorTypeToZLib()
        writer.SetHeaderTypeToUInt64()
        for speaker in (writer, writer.GetExecutive()):  # VTK's own words would go to stderr
            speaker.AddObserver("ErrorEvent", lambda *_: None)
        if not writer.Write() or writer.GetErrorCode():
            reason = vtkErrorCode.GetStringFromErrorCode(writer.GetErrorCode())
            temporary.unlink(missing_ok=True)
            raise OutputError(
                f"{path} could not be written ({reason}); give a directory with room for it, with -o DIR."
            )
        return self._rename(temporary, path)

    def _text(self, path: Path, text: str) -> None:
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_text(text, encoding="utf-8")
        self._rename(temporary, path)

    def _rename(self, temporary: Path, path: Path) -> Path:
        self.bytes += temporary.stat().st_size
        temporary.replace(path)
        self._written.add(path)
        return path


def _vtk_file(kind: str, version: str, body: str) -> str:
    opening = f'<VTKFile type="{kind}" version="{version}" byte_order="LittleEndian">'
    return f'<?xml version="1.0"?>\n{opening}\n{body}</VTKFile>\n'
