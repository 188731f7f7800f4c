# SPDX-License-Identifier: BSD-3-Clause
"""A series of pictures on disk: complete files, nothing written twice, times and values as given."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from known_runs import fake_run
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOXML import vtkXMLMultiBlockDataReader

from perfield.catalyst_scripts.owned_folder import LIST, OwnedFolder
from perfield.output.series import OutputError, Series
from perfield.pictures.blocks import attach, dataset_of


def cube(value, kind="unstructured"):
    """A cube with the point field "wait"."""
    dataset = dataset_of(fake_run.cube(0, kind))
    attach(dataset, "wait", np.full(64, value), "point")
    return dataset


def entries(path):
    """(time, file) of each line of a .pvd."""
    found = ElementTree.parse(path).iter("DataSet")
    return [(float(entry.get("timestep")), entry.get("file")) for entry in found]


def test_pvd_names_steps_with_times_and_blocks_read_back(tmp_path):
    series = Series(OwnedFolder(tmp_path), "geometry")
    for number, time in ((0, 0.1), (7, 0.30000000000000004)):
        series.add(number, time, [("rank_0", cube(number)), ("rank_1", cube(number + 0.5, "image"))])
    path = series.close()
    assert path == tmp_path / "geometry.pvd"
    assert entries(path) == [
        (0.1, "geometry/step_000000.vtm"),
        (0.30000000000000004, "geometry/step_000007.vtm"),
    ]
    reader = vtkXMLMultiBlockDataReader()
    reader.SetFileName(str(tmp_path / entries(path)[1][1]))
    reader.Update()
    picture = reader.GetOutput()
    assert picture.GetNumberOfBlocks() == 2
    assert picture.GetBlock(1).GetClassName() == "vtkImageData"
    assert vtk_to_numpy(picture.GetBlock(1).GetPointData().GetArray("wait")).tolist() == [7.5] * 64


def test_static_dataset_is_written_once_and_named_by_every_step(tmp_path):
    series = Series(OwnedFolder(tmp_path), "topology")
    machine = series.static("machine", cube(1.0))
    for number in range(5):
        series.add(number, float(number), [("machine", machine), ("ranks", cube(number))])
    series.close()
    assert len(list(tmp_path.rglob("machine*"))) == 1
    assert len(list(tmp_path.rglob("ranks*"))) == 5
    steps = [path.read_text() for path in tmp_path.rglob("*.vtm")]
    assert all('file="machine.vtu"' in text for text in steps)


def test_no_temporary_file_remains_and_bytes_add_up(tmp_path):
    series = Series(OwnedFolder(tmp_path), "geometry")
    series.add(0, 0.0, [("rank_0", cube(1.0))])
    series.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != LIST]
    assert not [path for path in tmp_path.rglob(".*") if path.name != LIST]
    assert series.bytes == sum(path.stat().st_size for path in files)


def test_old_series_stays_complete_until_new_one_closes(tmp_path):
    old = Series(OwnedFolder(tmp_path), "geometry")
    old.add(3, 0.0, [("rank_0", cube(1.0))])
    old.close()
    new = Series(OwnedFolder(tmp_path), "geometry")
    new.add(4, 0.0, [("rank_0", cube(2.0))])
    assert (tmp_path / entries(tmp_path / "geometry.pvd")[0][1]).exists()
    new.close()
    assert entries(tmp_path / "geometry.pvd") == [(0.0, "geometry/step_000004.vtm")]
    assert not list(tmp_path.rglob("*step_000003*"))


def test_failed_write_names_the_file(tmp_path, capfd):
    series = Series(OwnedFolder(tmp_path), "geometry")
    with pytest.raises(OutputError, match=r"geometry/m+\.vtu could not be written"):
        series.static("m" * 300, cube(1.0))  # longer than names may be
    assert capfd.readouterr().err == ""
