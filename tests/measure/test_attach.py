# SPDX-License-Identifier: BSD-3-Clause
"""perfield.attach in a Python adaptor: VTK treats the rank's values as ordinary arrays."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

import perfield
from perfield.pictures.mesh_messages import focus_values

HEAD = """
import json, sys
import numpy as np
import perfield
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import *

def grid_of(n):
    grid = vtkImageData()
    grid.SetDimensions(n, n, n)
    return grid

def step(number):
    with perfield.region("solve"):
        sum(range(10000))
    perfield.step(number, 0.5 * number)

perfield.initialize()
"""


@pytest.fixture
def adaptor(mpirun, bin_dir, tmp_path):
    """adaptor(text, *before): runs a Python program under perfield-exec; returns its JSON output and the run.

    before : words in front of perfield-exec.
    """

    def run(text: str, *before: str) -> tuple[object, perfield.run.AnyRun]:
        (tmp_path / "adaptor.py").write_text(HEAD + text)
        command = [*before, bin_dir / "perfield-exec", sys.executable, "adaptor.py"]
        result = mpirun(1, *command, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout), perfield.open(tmp_path / "perfield-run")

    return run


def test_attached_arrays_hold_the_frames_values(adaptor):
    reported, run = adaptor("""
step(0)
grid = grid_of(30)
names = perfield.attach(grid)
points = grid.GetPointData()
more = [perfield.attach(grid, association, ["solve_time_s"]) for association in ("cells", "field")]
arrays = [d.GetArray("solve_time_s") for d in (points, grid.GetCellData(), grid.GetFieldData())]
print(json.dumps({
    "names": names, "more": more,
    "found": [points.GetArrayName(i) for i in range(points.GetNumberOfArrays())],
    "tuples": [a.GetNumberOfTuples() for a in arrays], "ranges": [a.GetRange() for a in arrays],
    "numpy": [float(np.ptp(vtk_to_numpy(a))) for a in arrays],
    "doubles": [a.IsA("vtkDoubleArray") for a in arrays],
}))
""")
    value = run.frame(0).values["solve_time_s"][0]
    assert reported["names"] == reported["found"]
    assert len(reported["names"]) > 20
    assert reported["more"] == [["solve_time_s"]] * 2
    assert reported["tuples"] == [27000, 29**3, 1]
    assert reported["ranges"] == [[value, value]] * 3
    assert reported["numpy"] == [0, 0, 0]
    assert reported["doubles"] == [1, 1, 1]


def test_focus_ranks_have_arrays_of_what_the_rank_exchanged_with_them(adaptor):
    answer, run = adaptor(
        """
from mpi4py import MPI
MPI.COMM_WORLD.Sendrecv(np.zeros(5), 0, recvbuf=np.zeros(5))
step(0)
grid = grid_of(3)
names = perfield.attach(grid)
points = grid.GetPointData()
print(json.dumps({name: points.GetArray(name).GetRange() for name in names if name.endswith("_0")}))
""",
        "env",
        "PERFIELD_FOCUS_RANKS=0",
    )
    shown = focus_values(run.frame(0), [0], 1)
    assert answer["sendrecv_bytes_to_0"] == [40, 40]
    assert answer["received_count_from_0"] == [1, 1]
    assert answer == {name: [shown[name][0]] * 2 for name in answer}
    assert len(answer) == 6


def test_attach_accepts_composites_and_wrapped_datasets(adaptor):
    reported, _ = adaptor("""
from vtkmodules.numpy_interface import dataset_adapter
step(0)
blocks = vtkMultiBlockDataSet()
blocks.SetBlock(0, grid_of(3))
blocks.SetBlock(2, grid_of(30))
parts = vtkPartitionedDataSetCollection()
parts.SetPartition(0, 0, grid_of(20))
parts.SetPartition(0, 1, vtkUnstructuredGrid())
one = grid_of(4)
for dataset in (dataset_adapter.WrapDataObject(blocks), parts, dataset_adapter.WrapDataObject(one)):
    perfield.attach(dataset, names=["solve_count"])
grids = [blocks.GetBlock(0), blocks.GetBlock(2), parts.GetPartition(0, 0), parts.GetPartition(0, 1), one]
del blocks, parts, one, dataset
arrays = [grid.GetPointData().GetArray("solve_count") for grid in grids]
print(json.dumps([[a.GetNumberOfTuples(), *(a.GetRange() if a.GetNumberOfTuples() else [])] for a in arrays]))
""")
    assert reported == [[27, 1, 1], [27000, 1, 1], [8000, 1, 1], [0], [64, 1, 1]]


def test_arrays_live_as_long_as_vtk_needs_them(adaptor):
    reported, _ = adaptor("""
import gc
step(0)
def mappings():
    with open("/proc/self/maps") as file:
        return sum("memfd:perfield" in line for line in file)
grid = grid_of(60)
perfield.attach(grid, names=["solve_count", "rank"])
copy = grid.NewInstance()
copy.ShallowCopy(grid)
del grid
gc.collect()
alive = mappings(), copy.GetPointData().GetArray("solve_count").GetRange()
copy.GetPointData().GetArray("solve_count").SetTuple1(5, 9)
written = [copy.GetPointData().GetArray("solve_count").GetTuple1(n) for n in (5, 6, 100000)]
del copy
next_one = grid_of(3)  # VTK forgets what Python kept for an array when it comes by again
perfield.attach(next_one)
del next_one
gc.collect()
print(json.dumps([*alive, written, mappings()]))
""")
    assert reported[0] > 10
    assert reported[1:] == [[1, 1], [9, 1, 1], 0]


def test_filters_writers_and_rendering_accept_attached_arrays(adaptor):
    if not shutil.which("xvfb-run"):
        pytest.skip("xvfb-run is not installed, and rendering needs it")
    reported, run = adaptor(
        """
from vtkmodules.vtkFiltersGeneral import vtkClipDataSet
from vtkmodules.vtkFiltersGeometry import vtkGeometryFilter
from vtkmodules.vtkIOXML import vtkXMLImageDataReader, vtkXMLImageDataWriter
from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper, vtkRenderer, vtkRenderWindow
from vtkmodules.vtkRenderingCore import vtkWindowToImageFilter
import vtkmodules.vtkRenderingOpenGL2
step(0)
grid = grid_of(40)
perfield.attach(grid)
found = {}

clip = vtkClipDataSet()
clip.SetInputData(grid)
clip.SetInputArrayToProcess(0, 0, 0, vtkDataObject.FIELD_ASSOCIATION_POINTS, "solve_count")
clip.SetValue(0.5)
clip.Update()
found["clipped"] = clip.GetOutput().GetPointData().GetArray("solve_time_s").GetRange()

writer = vtkXMLImageDataWriter()
writer.SetInputData(grid)
writer.SetFileName("grid.vti")
writer.SetDataModeToAscii()
writer.Write()
reader = vtkXMLImageDataReader()
reader.SetFileName("grid.vti")
reader.Update()
found["read"] = reader.GetOutput().GetPointData().GetArray("solve_count").GetRange()

surface = vtkGeometryFilter()
surface.SetInputData(grid)
mapper = vtkPolyDataMapper()
mapper.SetInputConnection(surface.GetOutputPort())
mapper.SetScalarModeToUsePointFieldData()
mapper.SelectColorArray("solve_count")
mapper.SetScalarRange(0, 1)
actor = vtkActor()
actor.SetMapper(mapper)
actor.GetProperty().LightingOff()
renderer = vtkRenderer()
renderer.AddActor(actor)
window = vtkRenderWindow()
window.SetOffScreenRendering(1)
window.SetSize(50, 50)
window.AddRenderer(renderer)
window.Render()
image = vtkWindowToImageFilter()
image.SetInput(window)
image.Update()
found["middle"] = [image.GetOutput().GetScalarComponentAsDouble(25, 25, 0, c) for c in range(3)]
found["expected"] = [255 * c for c in mapper.GetLookupTable().GetTable().GetTuple(255)[:3]]
print(json.dumps(found))
""",
        "xvfb-run",
        "-a",
    )
    value = run.frame(0).values["solve_time_s"][0]
    assert reported["clipped"] == [value, value]
    assert reported["read"] == [1, 1]
    assert reported["middle"] == [c / 255 for c in reported["expected"]] == [0, 0, 255]


def test_attach_rejects_wrong_arguments(adaptor):
    reported, _ = adaptor("""
def complaint(*arguments):
    try:
        perfield.attach(*arguments)
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
step(0)
print(json.dumps([complaint(grid_of(2), "faces"), complaint([1]), complaint(grid_of(2), "cells")]))
""")
    assert reported == [
        "ValueError: association is 'faces'; expected one of points, cells, field",
        "TypeError: found a list; expected a vtkDataSet or a composite of them",
        None,
    ]


def test_attach_adds_nothing_without_measuring(mpirun, tmp_path):
    text = HEAD.replace("perfield.initialize()", "print(perfield.attach(grid_of(3)))")
    (tmp_path / "adaptor.py").write_text(text)
    result = mpirun(1, sys.executable, "adaptor.py", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "[]\n"), result.stderr


def test_constant_arrays_limit_their_mappings():
    arrays = [perfield._bridge.Constant(0.5, 1 << 19) for _ in range(300)]  # 64 mappings each
    assert 0 < Path("/proc/self/maps").read_text().count("memfd:perfield") <= 16384
    assert {memoryview(array)[at] for array in arrays for at in (0, 99999, -1)} == {0.5}
    del arrays
    again = perfield._bridge.Constant(2.5, 1 << 19)  # reuses the released mappings
    assert Path("/proc/self/maps").read_text().count("memfd:perfield") == 64
    assert set(memoryview(again)[:: 1 << 12]) == {2.5}


def test_attached_grids_give_the_size_of_the_mesh(adaptor):
    """Ghosts do not count, the parts of a composite add up, and two associations count once."""
    _, run = adaptor("""
grid, other = grid_of(5), grid_of(3)
ghosts = grid.AllocateCellGhostArray()
ghosts.SetValue(0, vtkDataSetAttributes.DUPLICATECELL)
ghosts.SetValue(1, vtkDataSetAttributes.HIDDENCELL)
both = vtkMultiBlockDataSet()
both.SetBlock(0, grid)
both.SetBlock(1, other)
step(0)
perfield.attach(both)
perfield.attach(grid, "cells")
step(1)
step(2)
print("0")
""")
    seen = [
        [float(frame.values[name][0]) for name in ("cells", "points", "ghost_cells")]
        for frame in run.frames()
    ]
    assert seen[1:] == [[64 + 8 - 1, 125 + 27, 1]] * 2
    assert seen[0][0] != seen[0][0]
