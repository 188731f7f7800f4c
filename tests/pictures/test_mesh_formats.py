# SPDX-License-Identifier: BSD-3-Clause
"""Formats of mesh files with an array of ranks: what VTK reads, and what meshio reads."""

from __future__ import annotations

import locale
import shutil
import subprocess
import sys

import numpy as np
import pytest
from known_runs import fake_run
from known_runs.mesh_file_writers import corners, lows, row_of_cubes, write_cgns, write_exodus, written_by
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures import meshio_files
from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.rank_array import RankArrayPieces

RANKS = [1.0, 0.0, 1.0]


def write_xdmf(path):
    """As FEniCSx writes it, with numbers in the file itself."""
    points, cells = corners(3)

    def item(values):
        size = " ".join(map(str, np.shape(values)))
        kind = "Int" if np.asarray(values).dtype.kind == "i" else "Float"
        numbers = " ".join(map(str, np.ravel(values)))
        return f'<DataItem Dimensions="{size}" NumberType="{kind}" Format="XML">{numbers}</DataItem>'

    path.write_text(
        '<Xdmf Version="3.0"><Domain><Grid Name="mesh" GridType="Uniform">'
        f'<Topology TopologyType="Hexahedron" NumberOfElements="3">{item(cells)}</Topology>'
        f'<Geometry GeometryType="XYZ">{item(points)}</Geometry>'
        f'<Attribute Name="rank" AttributeType="Scalar" Center="Cell">{item(RANKS)}</Attribute>'
        "</Grid></Domain></Xdmf>"
    )
    return path


def write_legacy(path):
    """VTK's old format, whose writer leaves another locale behind."""
    from vtkmodules.vtkIOLegacy import vtkUnstructuredGridWriter

    before = locale.setlocale(locale.LC_ALL)
    written_by(vtkUnstructuredGridWriter(), path, row_of_cubes(3, {"rank": RANKS}))
    locale.setlocale(locale.LC_ALL, before)
    return path


def write_blocks(path):
    """A multiblock file with one block."""
    from vtkmodules.vtkCommonDataModel import vtkMultiBlockDataSet
    from vtkmodules.vtkIOXML import vtkXMLMultiBlockDataWriter

    blocks = vtkMultiBlockDataSet()
    blocks.SetBlock(0, row_of_cubes(3, {"rank": RANKS}))
    writer = vtkXMLMultiBlockDataWriter()
    writer.SetDataModeToBinary()
    return written_by(writer, path, blocks)


WRITERS = {
    "m.exo": lambda path: write_exodus(path, row_of_cubes(3, {"rank": RANKS})),
    "m.cgns": lambda path: write_cgns(path, row_of_cubes(3, {"Rank": RANKS})),
    "m.xdmf": write_xdmf,
    "m.vtk": write_legacy,
    "m.vtm": write_blocks,
}


@pytest.mark.parametrize("name", WRITERS)
def test_each_rank_gets_its_cells_of_any_format(tmp_path, name):
    pieces = RankArrayPieces(WRITERS[name](tmp_path / name), 2)
    assert [lows(pieces, rank) for rank in range(2)] == [[1], [0, 2]]
    assert pieces.way.lower() == f"mesh from {name}, ranks by rank"


@pytest.mark.parametrize("name", WRITERS)
def test_reading_any_format_leaves_the_locale_as_it_is(tmp_path, name):
    before = locale.setlocale(locale.LC_ALL)
    try:
        other = locale.setlocale(locale.LC_ALL, "C.UTF-8")
        RankArrayPieces(WRITERS[name](tmp_path / name), 2)
        assert locale.setlocale(locale.LC_ALL) == other
    finally:
        locale.setlocale(locale.LC_ALL, before)


@pytest.mark.parametrize("name", WRITERS)
def test_file_without_the_array_says_so_in_any_format(tmp_path, name):
    with pytest.raises(MeshMissingError, match=r"has no array 'owner'; it has .*[rR]ank"):
        RankArrayPieces(WRITERS[name](tmp_path / name), 2, "owner")


@pytest.mark.parametrize("name", [*WRITERS, "m.med", "m.msh", "m.su2", "m.inp"])
def test_damaged_file_of_any_format_is_reported(tmp_path, name, capfd):
    if name not in WRITERS:
        pytest.importorskip("meshio", reason="formats of meshio need it")
    (tmp_path / name).write_bytes(b"no mesh at all\n")
    with pytest.raises(MeshMissingError, match=rf"{name}") as error:
        RankArrayPieces(tmp_path / name, 2, "rank")
    assert "ended the process" not in str(error.value)
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


def test_exodus_gives_the_newest_time_until_the_frame(tmp_path):
    path = write_exodus(tmp_path / "m.e", row_of_cubes(3, {"rank": RANKS}), (0.5, 1.0))
    run = fake_run.FakeRun(tmp_path, ranks=2, steps=4)  # at times 0, 0.5, 1.0, 1.5
    pieces = RankArrayPieces(path, 2)
    times = []
    for number in range(4):
        ((_, dataset),) = pieces.blocks(1, run.frame(number))
        times.append(vtk_to_numpy(dataset.GetCellData().GetArray("time")).tolist())
    assert times == [[0.5, 0.5], [0.5, 0.5], [1.0, 1.0], [1.0, 1.0]]


# --- meshio ---------------------------------------------------------------------------------------


@pytest.fixture
def meshio():
    """The library; tests of its formats need it."""
    return pytest.importorskip("meshio", reason="formats of meshio need it: pip install 'perfield[meshio]'")


def mesh_of(meshio, **arrays):
    """A row of three cubes, with a quadrilateral of its border."""
    points, cells = corners(3)
    of_cells = {name: [np.asarray(values), np.full(1, -5)] for name, values in arrays.items()}
    return meshio.Mesh(points, [("hexahedron", cells), ("quad", [[0, 1, 2, 3]])], cell_data=of_cells)


def test_med_and_medit_files_are_read_by_meshio(meshio, tmp_path):
    pytest.importorskip("h5py", reason="MED files are HDF5")
    path = tmp_path / "m.med"
    mesh_of(meshio, rank=RANKS).write(path)
    assert [lows(RankArrayPieces(path, 2), rank) for rank in range(2)] == [[1], [0, 2]]
    path = tmp_path / "m.mesh"
    mesh_of(meshio, **{"medit:ref": [1, 0, 1]}).write(path)
    pieces = RankArrayPieces(path, 2, "medit:ref")
    assert [lows(pieces, rank) for rank in range(2)] == [[1], [0, 2]]  # without the border


def test_a_file_of_meshio_without_arrays_lists_none(meshio, tmp_path):
    points, cells = corners(1)
    rows = [f"{x} {y} {z} {n}" for n, (x, y, z) in enumerate(points.tolist())]
    words = ["NDIME= 3", "NELEM= 1", f"12 {' '.join(map(str, cells[0]))} 0", f"NPOIN= {len(rows)}", *rows]
    (tmp_path / "m.su2").write_text("\n".join([*words, "NMARK= 0"]) + "\n")
    with pytest.raises(MeshMissingError, match=r"m\.su2 has no array with a common name"):
        RankArrayPieces(tmp_path / "m.su2", 2)


def test_without_meshio_its_formats_are_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(meshio_files, "find_spec", lambda name: None)
    (tmp_path / "m.med").write_text("")
    with pytest.raises(MeshMissingError, match=r"known are .*\.cgns.*meshio, as \.msh.*perfield\[meshio\]"):
        RankArrayPieces(tmp_path / "m.med", 2)


@pytest.mark.parametrize("options", [[], ["-bin"]])
def test_partitions_of_gmsh_are_ranks_from_one_on(meshio, tmp_path, options):
    if shutil.which("gmsh") is None:
        pytest.skip("the mesh generator gmsh is not installed (.ci/packages, group long)")
    (tmp_path / "box.geo").write_text('SetFactory("OpenCASCADE"); Box(1) = {0, 0, 0, 2, 1, 1};\n')
    command = ["gmsh", "-3", "box.geo", "-part", "4", *options, "-o", "box.msh"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    pieces = RankArrayPieces(tmp_path / "box.msh", 4)
    sizes = [sum(block.GetNumberOfCells() for _, block in pieces.blocks(rank, None)) for rank in range(4)]
    assert min(sizes) > 0.8 * max(sizes)  # METIS balances
    data = (tmp_path / "box.msh").read_bytes()
    entities = meshio_files.partitions(data)
    assert {part for (dimension, _), part in entities.items() if dimension == 3} == {1, 2, 3, 4}
    assert pieces.way == "mesh from box.msh, ranks by gmsh:partition"


def test_old_partitioned_files_of_gmsh_are_reported():
    data = b"$MeshFormat\n4 0 8\n$EndMeshFormat\n$PartitionedEntities\n$EndPartitionedEntities\n"
    with pytest.raises(ValueError, match=r"format MSH 4; write it as MSH 4\.1"):
        meshio_files.partitions(data)


def test_mesh_is_read_under_limits_of_the_user(meshio, tmp_path):
    mesh_of(meshio, rank=RANKS).write(tmp_path / "m.med")
    script = "import sys; from pathlib import Path; from perfield.pictures.mesh_files import MeshFile as F;"
    words = [sys.executable, "-c", f"{script} print(len(F(Path('m.med')).datasets(None)))"]
    done = subprocess.run(
        ["sh", "-c", 'ulimit -t 8; exec "$@"', "sh", *words],
        **{"cwd": tmp_path, "capture_output": True, "text": True, "check": False},
    )
    assert (done.stdout, done.returncode) == ("1\n", 0), done.stderr


def test_meshio_is_loaded_only_for_its_formats(tmp_path):
    path = write_legacy(tmp_path / "m.vtk")
    script = (
        "import sys; from pathlib import Path; from perfield.pictures.rank_array import RankArrayPieces as R;"
        "R(Path(sys.argv[1]), 2); print('meshio' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"
