# SPDX-License-Identifier: BSD-3-Clause
"""A small mesh file that would unpack to gigabytes is refused by its headers; others are read."""

from __future__ import annotations

import numpy as np
import pytest
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import VTK_VERTEX, vtkUnstructuredGrid
from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridWriter

from perfield.pictures import unpacked_size as room
from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.mesh_files import MeshFile

VALUES = 20_000


@pytest.fixture(params=["binary", "appended base64", "appended raw"])
def written(request, tmp_path):
    """written(header_bits=64, packs=True): a .vtu file of a point with VALUES zeros in its field data."""
    mode, _, encoding = request.param.partition(" ")

    def write(header_bits=64, packs=True):
        points, mesh, writer = vtkPoints(), vtkUnstructuredGrid(), vtkXMLUnstructuredGridWriter()
        points.InsertNextPoint(0, 0, 0)
        mesh.SetPoints(points)
        mesh.InsertNextCell(VTK_VERTEX, 1, [0])
        array = numpy_to_vtk(np.zeros(VALUES), deep=True)
        array.SetName("zeros")
        mesh.GetFieldData().AddArray(array)
        writer.SetHeaderTypeToUInt64() if header_bits == 64 else writer.SetHeaderTypeToUInt32()
        writer.SetDataModeToBinary() if mode == "binary" else writer.SetDataModeToAppended()
        writer.SetEncodeAppendedData(encoding != "raw")
        if not packs:
            writer.SetCompressorTypeToNone()
        writer.SetInputData(mesh)
        writer.SetFileName(str(tmp_path / "mesh.vtu"))
        assert writer.Write()
        return tmp_path / "mesh.vtu"

    return write


@pytest.mark.parametrize("header_bits", [32, 64])
def test_size_is_that_of_all_arrays(written, header_bits):
    arrays = 8 * VALUES + 3 * 4 + 8 + 8 + 1  # zeros, a point of float32, connectivity, offset and type
    assert room.unpacked_size(written(header_bits).read_bytes()) == arrays


def test_file_without_compression_is_left_to_its_own_size(written):
    assert room.unpacked_size(written(packs=False).read_bytes()) == 0


def test_small_file_that_unpacks_to_more_than_it_may_is_a_sentence(written, monkeypatch):
    path = written()
    assert MeshFile(path).datasets(None)[0].GetNumberOfPoints() == 1
    monkeypatch.setattr(room, "MOST_UNPACKED", 1000)
    monkeypatch.setattr(room, "LARGEST_RATIO", 2)
    with pytest.raises(MeshMissingError, match=r"mesh.vtu \(its arrays unpack to [0-9.]+ kB, expected"):
        MeshFile(path)


def test_absurd_headers_cost_nothing():
    head = b'<VTKFile header_type="UInt64" compressor="z"><DataArray format="binary">'
    many = head + b"/" * 32
    assert room.unpacked_size(many) > 1 << 100
    for text in (head, head + b"?" * 40, head.replace(b"binary", b"appended") + b"_", b""):
        assert room.unpacked_size(text) == 0
