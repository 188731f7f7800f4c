# SPDX-License-Identifier: BSD-3-Clause
"""Writes a series of pictures that stock ParaView opens: one .pvd and the files that it names.

Each file gets its name when it is complete, data first and the .pvd last, so a reader never sees an
incomplete file. A dataset that does not change is written once, and every step names it. Stock ParaView
cannot read a mesh and its values from two files, so each step writes unstructured pieces anew.
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

from perfield.catalyst_scripts.owned_folder import OwnedFolder

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
    """The files `NAME.pvd` and `NAME/...` in a folder of perfield's; close() shows them to readers."""

    def __init__(self, folder: OwnedFolder, name: str):
        """Raises NotOursError if perfield must not write there."""
        self.path = folder.path / f"{name}.pvd"
        self._folder, self._name = folder, name
        self._steps: list[tuple[float, str]] = []
        folder.check(self.path.name)
        folder.check_folder(name)

    @property
    def bytes(self) -> int:
        """Total size of the files written so far."""
        mine = (self.path.name, f"{self._name}/")
        return sum(size for name, size in self._folder.bytes.items() if name.startswith(mine))

    def static(self, name: str, dataset: vtkDataSet) -> Path:
        """Writes a dataset for several steps; pass the returned path to `add` in its place."""
        return self._write(name, dataset)

    def add(self, index: int, time: float, blocks: Iterable[tuple[str, vtkDataSet | Path]]) -> None:
        """Adds a step made of named blocks, each a dataset or a path from `static`."""
        step = f"step_{index:06d}"
        lines = []
        for number, (name, block) in enumerate(blocks):
            path = block if isinstance(block, Path) else self._write(f"{step}/{name}", block)
            relative = path.relative_to(self._folder.path / self._name).as_posix()
            lines.append(
                f'    <DataSet index="{number}" name={quoteattr(name)} file={quoteattr(relative)}/>\n'
            )
        kind = "vtkMultiBlockDataSet"
        text = f"  <{kind}>\n{''.join(lines)}  </{kind}>\n"
        self._folder.write(f"{self._name}/{step}.vtm", _vtk_file(kind, "1.0", text))
        self._steps.append((time, f"{self._name}/{step}.vtm"))

    def add_one(self, index: int, time: float, dataset: vtkDataSet) -> None:
        """Adds a step made of a single dataset."""
        path = self._write(f"step_{index:06d}", dataset)
        self._steps.append((time, path.relative_to(self._folder.path).as_posix()))

    def close(self) -> Path:
        """Writes the .pvd, then removes the files that an earlier series of this name left."""
        self._folder.write(self.path.name, collection(self._steps))
        self._folder.remove_stale(self._name)
        return self.path

    def _write(self, stem: str, dataset: vtkDataSet) -> Path:
        writer = WRITERS[dataset.GetClassName()]()
        name = f"{self._name}/{stem}.{writer.GetDefaultFileExtension()}"
        path = self._folder.path / name
        writer.SetInputDataObject(dataset)
        writer.SetDataModeToBinary()  # VTK 9.1 with Debian 12's Expat or Expat 2.6 cannot read appended data
        writer.SetCompressorTypeToZLib()
        writer.SetHeaderTypeToUInt64()
        for speaker in (writer, writer.GetExecutive()):  # keeps VTK's own error text off stderr
            speaker.AddObserver("ErrorEvent", lambda *_: None)
        with self._folder.writing(name) as place:
            writer.SetFileName(os.fsencode(place))
            if not writer.Write() or writer.GetErrorCode():
                reason = vtkErrorCode.GetStringFromErrorCode(writer.GetErrorCode())
                raise OutputError(
                    f"{path} could not be written ({reason}); choose a directory with enough room with -o "
                    "DIR."
                )
        return path


def collection(steps: Iterable[tuple[float, str]]) -> str:
    """The text of a .pvd. steps : (time, file relative to the .pvd), in the order of time."""
    lines = [f'    <DataSet timestep="{time!r}" part="0" file={quoteattr(file)}/>\n' for time, file in steps]
    body = f"  <Collection>\n{''.join(lines)}  </Collection>\n"
    return _vtk_file("Collection", "0.1", body)


def _vtk_file(kind: str, version: str, body: str) -> str:
    opening = f'<VTKFile type="{kind}" version="{version}" byte_order="LittleEndian">'
    return f'<?xml version="1.0"?>\n{opening}\n{body}</VTKFile>\n'
