# SPDX-License-Identifier: BSD-3-Clause
"""Writes small mesh files: a row of unit cubes along x, one cell each, with arrays on cells or points.

`lows` says which of them are in a piece.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData, vtkUnstructuredGrid
from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridWriter

from perfield.pictures.blocks import attach

HEXAHEDRON = 12


def corners(n_cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Points ((n_cells + 1) * 4, 3) and the cubes' corners (n_cells, 8) among them."""
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    points = np.array([[x, y, z] for x in range(n_cells + 1) for y, z in square], dtype=float)
    cells = np.arange(n_cells)[:, None] * 4 + np.array([0, 4, 5, 1, 3, 7, 6, 2])
    return points, cells


def row_of_cubes(n_cells: int, on_cells: dict | None = None, on_points: dict | None = None):
    """The row as a VTK dataset."""
    points, cells = corners(n_cells)
    grid, places = vtkUnstructuredGrid(), vtkPoints()
    for point in points:
        places.InsertNextPoint(point)
    grid.SetPoints(places)
    for cell in cells.tolist():
        grid.InsertNextCell(HEXAHEDRON, 8, cell)
    for association, arrays in (("cell", on_cells), ("point", on_points)):
        for name, values in (arrays or {}).items():
            attach(grid, name, np.asarray(values), association)
    return grid


def turned_triangles(n: int) -> vtkPolyData:
    """A square of n x n squares of two triangles each, of which every other one is seen from behind."""
    points = vtkPoints()
    for number in range((n + 1) ** 2):
        points.InsertNextPoint(number % (n + 1), number // (n + 1), 0)
    triangles = vtkCellArray()
    for row in range(n):
        for low in range(row * (n + 1), row * (n + 1) + n):
            for corners in ((low, low + 1, low + n + 1), (low + n + 1, low + n + 2, low + 1)):
                triangles.InsertNextCell(3, corners)
    made = vtkPolyData()
    made.SetPoints(points)
    made.SetPolys(triangles)
    return made


def write_vtu(path: Path, grid: vtkUnstructuredGrid) -> Path:
    """Writes inline data, which every build of VTK reads."""
    writer = vtkXMLUnstructuredGridWriter()
    writer.SetDataModeToBinary()
    return written_by(writer, path, grid)


def written_by(writer, path: Path, data) -> Path:
    """What one of VTK's writers makes of a dataset."""
    writer.SetFileName(str(path))
    writer.SetInputDataObject(data)
    assert writer.Write()
    return path


def write_exodus(path: Path, grid: vtkUnstructuredGrid, times: tuple[float, ...] = ()) -> Path:
    """With an array `time` on cells that holds each time's, if there are times."""
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
    from vtkmodules.vtkFiltersPython import vtkPythonAlgorithm
    from vtkmodules.vtkIOExodus import vtkExodusIIWriter

    class Source:
        """Gives the grid at each time."""

        def Initialize(self, algorithm):
            algorithm.SetNumberOfInputPorts(0)
            algorithm.SetNumberOfOutputPorts(1)

        def FillOutputPortInformation(self, algorithm, port, about):
            about.Set(vtkUnstructuredGrid.DATA_TYPE_NAME(), "vtkUnstructuredGrid")
            return 1

        def ProcessRequest(self, algorithm, request, inputs, outputs):
            keys, about = vtkStreamingDemandDrivenPipeline, outputs.GetInformationObject(0)
            if request.Has(keys.REQUEST_DATA_OBJECT()):
                about.Set(vtkUnstructuredGrid.DATA_OBJECT(), vtkUnstructuredGrid())
            elif request.Has(keys.REQUEST_INFORMATION()) and times:
                about.Set(keys.TIME_STEPS(), times, len(times))
                about.Set(keys.TIME_RANGE(), (times[0], times[-1]), 2)
            elif request.Has(keys.REQUEST_DATA()):
                made = about.Get(vtkUnstructuredGrid.DATA_OBJECT())
                made.ShallowCopy(grid)
                if times:
                    time = about.Get(keys.UPDATE_TIME_STEP())
                    attach(made, "time", np.full(grid.GetNumberOfCells(), time), "cell")
                    made.GetInformation().Set(made.DATA_TIME_STEP(), time)
            return 1

    source, writer = vtkPythonAlgorithm(), vtkExodusIIWriter()
    source.SetPythonObject(Source())
    writer.SetFileName(str(path))
    writer.SetInputConnection(source.GetOutputPort())
    writer.SetWriteAllTimeSteps(bool(times))
    assert writer.Write()
    return path


def write_cgns(path: Path, grid: vtkUnstructuredGrid) -> Path:
    """A base with one zone, and the arrays of cells as a solution. Needs ParaView's modules."""
    from paraview.modules.vtkPVVTKExtensionsIOCGNSWriter import vtkCGNSWriter

    return written_by(vtkCGNSWriter(), path, grid)


def write_ensight(folder: Path, on_cells: dict[str, list], times: tuple[float, ...] = ()) -> Path:
    """An EnSight Gold case in ASCII. on_cells : name -> values, of each time where there are times."""
    several = len(times) > 0
    n_cells = len(next(iter(on_cells.values()))[0] if several else next(iter(on_cells.values())))
    points, cells = corners(n_cells)
    geometry = ["a row", "of cubes", "node id assign", "element id assign", "part", f"{1:10}", "Fluid domain"]
    geometry += ["coordinates", f"{len(points):10}", *(f"{value:12.5e}" for value in points.T.ravel())]
    geometry += ["hexa8", f"{n_cells:10}", *("".join(f"{n + 1:10}" for n in cell) for cell in cells.tolist())]
    (folder / "results.geo").write_text("\n".join(geometry) + "\n")
    case = ["FORMAT", "type: ensight gold", "GEOMETRY", "model: results.geo", "VARIABLE"]
    for name, values in on_cells.items():
        for number, of_time in enumerate(values if several else [values]):
            body = [name, "part", f"{1:10}", "hexa8", *(f"{value:12.5e}" for value in of_time)]
            file = f"results.{name}.{number:05}" if several else f"results.{name}"
            (folder / file).write_text("\n".join(body) + "\n")
        case.append(f"scalar per element: {'1 ' * several}{name} results.{name}{'.*****' * several}")
    if several:
        case += ["TIME", "time set: 1", f"number of steps: {len(times)}", "filename start number: 0"]
        case += ["filename increment: 1", "time values: " + " ".join(map(str, times))]
    path = folder / "results.case"
    path.write_text("\n".join(case) + "\n")
    return path


def lows(pieces, rank: int, frame=None) -> list[float]:
    """The low x of each cell of a rank's piece."""
    found = []
    for _, dataset in pieces.blocks(rank, frame):
        found += [dataset.GetCell(n).GetBounds()[0] for n in range(dataset.GetNumberOfCells())]
    return found
