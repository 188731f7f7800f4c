# SPDX-License-Identifier: BSD-3-Clause
"""A small mesh file that claims gigabytes is refused, by its headers or by a process that may take less."""

from __future__ import annotations

import re

import numpy as np
import pytest
from known_runs.mesh_file_writers import write_ensight
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
    with pytest.raises(MeshMissingError, match=r"mesh.vtu \(its arrays take [0-9.]+ kB, expected"):
        MeshFile(path)


def test_absurd_headers_cost_nothing():
    head = b'<VTKFile header_type="UInt64" compressor="z"><DataArray format="binary">'
    many = head + b"/" * 32
    assert room.unpacked_size(many) > 1 << 100
    for text in (head, head + b"?" * 40, head.replace(b"binary", b"appended") + b"_", b""):
        assert room.unpacked_size(text) == 0


N = 1_000_000_000
ASCII = "# vtk DataFile Version 3.0\nt\nASCII\nDATASET "
PIECE = '<VTKFile type="{0}"><{0} WholeExtent="0 999 0 999 0 999"><Piece {1}>{2}</Piece></{0}></VTKFile>'
ARRAY = '<{0}><DataArray type="Float64" NumberOfComponents="3" format="ascii">0 0 0</DataArray></{0}>'
IMAGE = 'Extent="0 999 0 999 0 999"'
CLAIMS = {
    "points.vtk": f"{ASCII}UNSTRUCTURED_GRID\nPOINTS {N} double\n0 0 0\nCELLS 1 2\n1 0\nCELL_TYPES 1\n1\n",
    "values.vtk": f"{ASCII}STRUCTURED_POINTS\nDIMENSIONS 9 9 9\nPOINT_DATA {N}\nSCALARS t double\n0\n",
    "field.vtk": f"{ASCII}STRUCTURED_POINTS\nDIMENSIONS 2 2 2\nFIELD a 1\nt 3 {N} double\n0\n",
    "points.vtu": PIECE.format("UnstructuredGrid", f'NumberOfPoints="{N}"', ARRAY.format("Points")),
    "cells.vtu": PIECE.format("UnstructuredGrid", f'NumberOfCells="{N}"', ARRAY.format("CellData")),
    "polygons.vtp": PIECE.format("PolyData", f'NumberOfPolys="{N}"', ARRAY.format("Polys")),
    "points.vti": PIECE.format("ImageData", IMAGE, ARRAY.format("PointData")),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_counts_that_the_file_has_no_room_for_are_refused(tmp_path, name):
    (tmp_path / name).write_text(CLAIMS[name])
    with pytest.raises(
        MeshMissingError, match=r"its arrays take .* expected at most|items, expected less than"
    ):
        MeshFile(tmp_path / name)


def write_xdmf(path):
    """Numbers in the file itself, fewer than it says."""
    item = f'<DataItem Dimensions="{N} 3" Format="XML">0 0 0</DataItem>'
    path.write_text(
        '<Xdmf Version="3.0"><Domain><Grid Name="a"><Topology TopologyType="Polyvertex"/>'
        f'<Geometry GeometryType="XYZ">{item}</Geometry></Grid></Domain></Xdmf>'
    )


def write_med(path):
    """HDF5 that stores none of the numbers that it holds."""
    with pytest.importorskip("h5py").File(path, "w") as file:
        file.create_group("INFOS_GENERALES").attrs.update(MAJ=3, MIN=0)
        mesh = file.create_group("ENS_MAA/mesh")
        mesh.attrs["ESP"] = 3
        points = mesh.create_dataset("step/NOE/COO", (3 * N,), "f8", chunks=(1 << 16,), compression="gzip")
        points.attrs["NBR"] = N


def test_ensight_file_that_claims_more_points_than_fit_is_refused(tmp_path):
    path = write_ensight(tmp_path, {"rank": [0, 1]})
    geometry = tmp_path / "results.geo"
    geometry.write_text(re.sub(r"(?<=coordinates\n) +\d+", str(N), geometry.read_text()))
    with pytest.raises(MeshMissingError, match=r"results\.case \(.*(memory|ended the process)"):
        MeshFile(path)


@pytest.mark.parametrize("write", [write_xdmf, write_med])
def test_file_that_claims_more_than_reading_it_may_take_is_refused(tmp_path, write):
    path = tmp_path / write.__name__.replace("write_", "mesh.")
    write(path)
    with pytest.raises(MeshMissingError, match=r"more than 1.07 GB of memory for the [\d.]+ [kM]B that its"):
        MeshFile(path).datasets(None)
