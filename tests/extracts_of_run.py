# SPDX-License-Identifier: BSD-3-Clause
"""Reads what pipelines wrote inside a program, and compares datasets array by array."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOXML import (
    vtkXMLImageDataReader,
    vtkXMLPolyDataReader,
    vtkXMLRectilinearGridReader,
    vtkXMLStructuredGridReader,
    vtkXMLUnstructuredGridReader,
)

READERS = {
    ".vti": vtkXMLImageDataReader,
    ".vtp": vtkXMLPolyDataReader,
    ".vtr": vtkXMLRectilinearGridReader,
    ".vts": vtkXMLStructuredGridReader,
    ".vtu": vtkXMLUnstructuredGridReader,
}
OF_CATALYST = {"TimeValue", "__CatalystChannel__"}


def read(path: Path):
    """The dataset of one file."""
    reader = READERS[path.suffix]()
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutput()


def pieces(run: Path, index: int) -> list:
    """The pieces of the geometry at a step, in the order of their files."""
    return [read(path) for path in sorted((run / "catalyst" / f"geometry_{index:06d}").iterdir())]


def layers(run: Path, index: int) -> list:
    """The layers of the topology at a step, in their order."""
    return [read(path) for path in sorted((run / "catalyst" / f"topology_{index:06d}").iterdir())]


def arrays(dataset) -> dict[str, np.ndarray]:
    """All point and cell arrays by "point name" and "cell name", and the points' places as "points"."""
    found = {"points": np.array([dataset.GetPoint(number) for number in range(dataset.GetNumberOfPoints())])}
    for word, data in (("point", dataset.GetPointData()), ("cell", dataset.GetCellData())):
        for number in range(data.GetNumberOfArrays()):
            found[f"{word} {data.GetArrayName(number)}"] = vtk_to_numpy(data.GetArray(number))
    return found


def assert_equal(one, other) -> None:
    """Fails unless two datasets have the same points and the same arrays."""
    first, second = arrays(one), arrays(other)
    assert first.keys() == second.keys()
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], err_msg=name)
    texts = [dataset.GetFieldData() for dataset in (one, other)]
    names = [{data.GetArrayName(n) for n in range(data.GetNumberOfArrays())} - OF_CATALYST for data in texts]
    assert names[0] == names[1]
