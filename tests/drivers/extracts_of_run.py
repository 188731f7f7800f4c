# SPDX-License-Identifier: BSD-3-Clause
"""Reads the extracts that pipelines wrote inside a program, and compares datasets array by array."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkStringArray
from vtkmodules.vtkIOXML import vtkXMLMultiBlockDataReader

import perfield
from perfield.pictures.geometry_picture import GeometryOptions, geometry_blocks
from perfield.pictures.mesh_files import READERS
from perfield.pictures.pieces import choose_pieces
from perfield.pictures.topology_picture import topology, topology_scene

OF_CATALYST = {"TimeValue", "__CatalystChannel__"}


def read(path: Path):
    """The dataset of one file."""
    reader = READERS[path.suffix]()
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutput()


def listed(pvd: Path) -> list[tuple[float, str]]:
    """(time, file) of each step that a .pvd names."""
    entries = ElementTree.parse(pvd).iter("DataSet")
    return [(float(entry.get("timestep")), entry.get("file")) for entry in entries]


def read_multiblock(path: Path):
    """The multiblock of a .vtm."""
    reader = vtkXMLMultiBlockDataReader()
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutput()


def pieces(run: Path, index: int, place: str = "catalyst") -> list:
    """The pieces of the geometry at a step, in the order of their files."""
    return [read(path) for path in sorted((run / place / f"geometry_{index:06d}").iterdir())]


def layers(run: Path, index: int, place: str = "catalyst") -> list:
    """The layers of the topology at a step, in their order."""
    files = (run / place / f"topology_{index:06d}").iterdir()
    return [read(path) for path in sorted(files, key=lambda path: int(path.stem.split("_")[2]))]


def arrays(dataset) -> dict[str, np.ndarray]:
    """All point and cell arrays by "point name" and "cell name", and the coordinates as "points"."""
    found = {"points": np.array([dataset.GetPoint(number) for number in range(dataset.GetNumberOfPoints())])}
    for word, data in (("point", dataset.GetPointData()), ("cell", dataset.GetCellData())):
        for number in range(data.GetNumberOfArrays()):
            array = data.GetAbstractArray(number)
            texts = isinstance(array, vtkStringArray)
            values = [array.GetValue(n) for n in range(array.GetNumberOfValues())] if texts else []
            found[f"{word} {array.GetName()}"] = np.array(values) if texts else vtk_to_numpy(array)
    return found


def assert_equal(inside, afterwards, later: str | None = None) -> None:
    """Fails unless two datasets have the same points and the same arrays.

    later : prefix of arrays that only appear after that step.
    """
    first, second = arrays(inside), arrays(afterwards)
    if later is not None:
        second = {name: values for name, values in second.items() if not name.split()[-1].startswith(later)}
    assert first.keys() == second.keys()
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], err_msg=name)
    texts = [dataset.GetFieldData() for dataset in (inside, afterwards)]
    names = [{data.GetArrayName(n) for n in range(data.GetNumberOfArrays())} - OF_CATALYST for data in texts]
    assert names[0] == names[1]


def assert_as_afterwards(
    folder: Path,
    indexes: Iterable[int],
    n_pieces: int = 2,
    later: str | None = None,
    focus: tuple[int, ...] = (),
    place: str = "catalyst",
) -> None:
    """Fails unless the extracts equal the pictures of the finished run. focus : as in `GeometryOptions`.

    place : the extracts' folder. A picture has rows for the communicators that ranks used until then, named
    by these, so rows and their letters are compared where no rank used another one later.
    """
    run = perfield.open(folder)
    options, scene = GeometryOptions(pieces=choose_pieces(run), focus=focus), topology_scene(run)
    for index in indexes:
        frame = run.frame(index)
        blocks = [dataset for _, dataset in geometry_blocks(run, frame, options)]
        extracts = pieces(folder, index, place)
        assert len(extracts) == len(blocks) == n_pieces
        for inside, afterwards in zip(extracts, blocks):
            assert_equal(inside, afterwards, later)
        made = topology(run, frame, scene).layers()
        made = {name: layer for name, layer in made.items() if layer.GetNumberOfCells()}
        extracts = layers(folder, index, place)
        assert len(extracts) == len(made)
        inside = dict(zip(made, extracts))
        if "collectives" in made:
            some, every = (rows(of["collectives"]) for of in (inside, made))
            assert 0 < len(some) <= len(every)
            if some != every:
                made.pop("collectives"), made.pop("labels")
        for name, afterwards in made.items():
            assert_equal(inside[name], afterwards, later)


def rows(collectives) -> list[str]:
    """The names of a picture's rows of collective operations."""
    names = collectives.GetFieldData().GetAbstractArray("row_names")
    return [names.GetValue(n) for n in range(names.GetNumberOfValues())]
