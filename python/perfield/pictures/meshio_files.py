# SPDX-License-Identifier: BSD-3-Clause
"""Mesh files that VTK does not read, by meshio: Gmsh, MED, Abaqus, SU2, Medit and others.

A partitioned file of Gmsh (MSH 4.1) gets the array `gmsh:partition`, which meshio itself does not read.

meshio writes a `.vtu`, which VTK reads. That is slower than to convert its arrays, but uses only its public
interface.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkUnstructuredGrid
from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader

from perfield.pictures.tried_apart import tried_apart

if TYPE_CHECKING:
    import meshio

INSTALL = "pip install 'perfield[meshio]'"
SOME = (".msh", ".med", ".inp", ".su2", ".mesh", ".bdf")  # that it reads, for sentences
PARTITION = "gmsh:partition"


def is_installed() -> bool:
    """Whether Python finds meshio; does not load it."""
    return find_spec("meshio") is not None


def knows(path: Path) -> bool:
    """Whether meshio reads files whose name ends so."""
    if not is_installed():
        return False
    import meshio

    return path.suffix.lower() in meshio.extension_to_filetypes


class MeshioContent:
    """A file that meshio reads. times : none. Raises ValueError if it cannot be read."""

    def __init__(self, path: Path):
        tried_apart(path)
        self.times: list[float] = []
        self._path = path

    def read(self, time: float | None) -> list[vtkUnstructuredGrid]:
        """The cells of the highest dimension: others are those of borders. time : not used."""
        with tempfile.TemporaryDirectory(prefix="perfield-mesh-") as folder, _silent():
            mesh = _read(self._path, Path(folder))
            most = max((block.dim for block in mesh.cells), default=0)
            kept = [number for number, block in enumerate(mesh.cells) if block.dim == most]
            mesh.cells = [mesh.cells[number] for number in kept]
            mesh.cell_data = {name: [of[n] for n in kept] for name, of in mesh.cell_data.items()}
            mesh.cell_sets, mesh.point_sets, mesh.field_data = {}, {}, {}
            converted = Path(folder) / "mesh.vtu"
            mesh.write(converted, file_format="vtu", compression=None)
            reader = vtkXMLUnstructuredGridReader()
            reader.SetFileName(str(converted))
            reader.Update()
        return [reader.GetOutput()]


@contextlib.contextmanager
def _silent():
    """Keeps meshio from printing, and turns its way to end the program into an error."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            yield
    except SystemExit:
        raise ValueError(" ".join(said.getvalue().split()) or "meshio gives no reason") from None
    except (OSError, ImportError):
        raise
    except Exception as error:  # of its many readers, on damaged files
        raise ValueError(f"meshio says {type(error).__name__}: {error}") from error


def _read(path: Path, folder: Path) -> meshio.Mesh:
    import meshio

    data = path.read_bytes() if path.suffix.lower() == ".msh" else b""
    if b"$PartitionedEntities" not in data:
        return meshio.read(path)
    partition = partitions(data)
    plain = folder / "plain.msh"
    plain.write_bytes(_without(_without(data, "Entities"), "PartitionedEntities"))
    mesh = meshio.read(plain)
    mesh.cell_data[PARTITION] = [
        np.full(len(block.data), partition.get((block.dim, int(tags[0])) if len(tags) else (0, 0), 0))
        for block, tags in zip(mesh.cells, mesh.cell_data["gmsh:geometrical"])
    ]
    return mesh


def partitions(data: bytes) -> dict[tuple[int, int], int]:
    """The lowest partition of each entity of a partitioned file of Gmsh, by dimension and tag.

    data : a file of format MSH 4.1, as text or binary. Partitions count from 1. Raises ValueError if there
    are none. Source: Gmsh's reference manual, "MSH file format".
    """
    version, is_binary, size = data.split(b"\n", 2)[1].split()[:3]
    if version != b"4.1":
        raise ValueError(
            f"it is of format MSH {version.decode()}; write it as MSH 4.1, with gmsh -format msh41"
        )
    numbers = _Numbers(_section(data, "PartitionedEntities"), is_binary != b"0", int(size))
    found = {}
    numbers.sizes(1)
    (n_ghosts,) = numbers.sizes(1)
    numbers.ints(2 * n_ghosts)
    for dimension, n_entities in enumerate(numbers.sizes(4)):
        for _ in range(n_entities):
            tag, _, _ = numbers.ints(3)
            of_entity = numbers.ints(numbers.sizes(1)[0])
            numbers.doubles(6 if dimension else 3)  # the box around it
            numbers.ints(numbers.sizes(1)[0])  # physical tags
            if dimension:
                numbers.ints(numbers.sizes(1)[0])  # entities at its border
            found[dimension, tag] = min(of_entity, default=0)
    return found


class _Numbers:
    """Numbers of a section, one after another."""

    def __init__(self, data: bytes, is_binary: bool, size: int):
        self._data, self._at, self._is_binary, self._size = data, 0, is_binary, size
        self._words = [] if is_binary else data.split()

    def ints(self, count: int) -> list[int]:
        return [int(number) for number in self._take("i4", count)]

    def sizes(self, count: int) -> list[int]:
        return [int(number) for number in self._take(f"u{self._size}", count)]

    def doubles(self, count: int) -> None:
        self._take("f8", count)

    def _take(self, kind: str, count: int) -> list:
        width = np.dtype(kind).itemsize if self._is_binary else 1
        begin, self._at = self._at, self._at + count * width
        if self._is_binary:
            return np.frombuffer(self._data[begin : self._at], kind, count).tolist()
        return self._words[begin : self._at]


def _section(data: bytes, name: str) -> bytes:
    """The content of a section."""
    begin = data.index(b"$" + name.encode() + b"\n") + len(name) + 2
    return data[begin : data.index(b"$End" + name.encode(), begin)]


def _without(data: bytes, name: str) -> bytes:
    """The file without a section, if it has it."""
    begin, end = data.find(f"\n${name}\n".encode()), f"$End{name}\n".encode()
    return data if begin < 0 else data[: begin + 1] + data[data.index(end, begin) + len(end) :]
