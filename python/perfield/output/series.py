# SPDX-License-Identifier: BSD-3-Clause
"""Writes a series of pictures that stock ParaView opens: one .pvd and the files that it names.

Each file is written under a temporary name and then renamed, data first and the .pvd last, so a reader never
sees an incomplete file. A dataset that does not change is written once, and every step names it. Stock
ParaView cannot read a mesh and its values from two files, so each step writes unstructured pieces anew.
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
    """Writing a picture failed; the text says which file and why."""


class Series:
    """The files `NAME.pvd` and `NAME/...` in a directory; close() makes them visible to readers.

    bytes : total size of the written files.
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
        """Writes a dataset for several steps; pass the returned path to `add` in its place."""
        return self._write(self._directory / self._name / name, dataset)

    def add(self, index: int, time: float, blocks: Iterable[tuple[str, vtkDataSet | Path]]) -> None:
        """Adds a step made of named blocks, each a dataset or a path from `static`."""
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
        """Writes the .pvd, then removes the files that an earlier series of this name left."""
        self._text(self.path, collection(self._steps))
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
        writer.SetDataModeToBinary()  # VTK 9.1 with Debian 12's Expat or Expat 2.6 cannot read appended data
        writer.SetCompressorTypeToZLib()
        writer.SetHeaderTypeToUInt64()
        for speaker in (writer, writer.GetExecutive()):  # keeps VTK's own error text off stderr
            speaker.AddObserver("ErrorEvent", lambda *_: None)
        if not writer.Write() or writer.GetErrorCode():
            reason = vtkErrorCode.GetStringFromErrorCode(writer.GetErrorCode())
            temporary.unlink(missing_ok=True)
            raise OutputError(
                f"{path} could not be written ({reason}); choose a directory with enough room with -o DIR."
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


def collection(steps: Iterable[tuple[float, str]]) -> str:
    """The text of a .pvd. steps : (time, file relative to the .pvd), in the order of time."""
    lines = [f'    <DataSet timestep="{time!r}" part="0" file={quoteattr(file)}/>\n' for time, file in steps]
    body = f"  <Collection>\n{''.join(lines)}  </Collection>\n"
    return _vtk_file("Collection", "0.1", body)


def _vtk_file(kind: str, version: str, body: str) -> str:
    opening = f'<VTKFile type="{kind}" version="{version}" byte_order="LittleEndian">'
    return f'<?xml version="1.0"?>\n{opening}\n{body}</VTKFile>\n'
