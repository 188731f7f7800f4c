# SPDX-License-Identifier: BSD-3-Clause
"""The field of costs in an OpenFOAM case, and cases that do not fit."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from known_runs.foam_cases import collate, write_case, write_foam, write_mesh
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.analysis.cell_costs import CellCosts
from perfield.balance import BalanceError
from perfield.balance.openfoam import (
    divided_case_fields,
    labels,
    start_time,
    whole_case_costs,
    whole_case_fields,
)
from perfield.pictures.openfoam_pieces import OpenFoamPieces


@pytest.fixture
def costs():
    """Rank 0 has 2 cells of 1 ms, rank 1 has 3 of 2 ms."""
    return costs_of([2, 3])


def costs_of(n_cells):
    n_ranks = len(n_cells)
    return CellCosts(
        rank=np.arange(n_ranks),
        block=np.zeros(n_ranks, int),
        n_cells=np.array(n_cells),
        cost_s=1e-3 * np.arange(1, n_ranks + 1),
        measured=np.ones(n_ranks, bool),
        n_ranks=n_ranks,
        n_steps=3,
    )


@pytest.fixture
def case(tmp_path):
    """A row of five cells. Rank 1 owns the cells 0, 2 and 4, and has another patch."""
    write_case(tmp_path, times=("0", "1"))
    write_mesh(tmp_path / "constant/polyMesh", 0, cells=5)
    (tmp_path / "0").mkdir()
    for rank, cells in enumerate(([3, 1], [0, 2, 4])):
        mesh = tmp_path / f"processor{rank}/constant/polyMesh"
        write_mesh(mesh, 10 * rank, cells=len(cells))
        text = f"{len(cells)}({' '.join(map(str, cells))})\n"
        write_foam(mesh / "cellProcAddressing", "labelList", text)
    return tmp_path


def test_cells_of_the_undivided_case_get_the_costs_of_their_ranks(case, costs):
    assert whole_case_costs(case, costs, 1.0)[""].tolist() == [2e-3, 1e-3, 2e-3, 1e-3, 2e-3]


def test_field_is_written_where_decompose_par_reads_it(case, costs):
    (field,) = whole_case_fields(case, costs, 1.0)
    assert field.file == case / "0/cellCost"
    assert (
        "internalField nonuniform List<scalar> 5\n(2.000000e-03\n1.600000e-06\n2.000000e-03\n1.0"
        in field.text
    )
    assert "walls { type calculated; value uniform 0; }" in field.text


def test_whole_multiples_of_the_smallest_value_keep_the_ratios(case):
    costs = replace(costs_of([2, 3]), cost_s=np.array([1e-3, 1.9e-3]))
    (field,) = whole_case_fields(case, costs, 1.0)
    numbers = field.text.partition("List<scalar> 5\n(")[2].partition("\n)")[0]
    values = np.array(numbers.split(), float)
    cut = (values / values.min()).astype(int)  # as scotch does
    assert cut[0] / cut[3] == pytest.approx(1.9, rel=0.01)


def test_free_cells_get_a_value_above_zero(case):
    for cost_s in ([0.0, 1e-3], [0.0, 0.0]):
        (field,) = whole_case_fields(case, replace(costs_of([2, 3]), cost_s=np.array(cost_s)), 1.0)
        numbers = field.text.partition("List<scalar> 5\n(")[2].partition("\n)")[0]
        assert min(map(float, numbers.split())) > 0


def test_patches_that_a_field_must_follow_keep_their_type(case, costs):
    boundary = "2(front { type empty; nFaces 1; } half { type cyclicAMI; neighbourPatch (a b); })\n"
    write_foam(case / "constant/polyMesh/boundary", "polyBoundaryMesh", boundary)
    (field,) = whole_case_fields(case, costs, 1.0)
    assert "front { type empty; }" in field.text and "half { type cyclicAMI; }" in field.text


def test_fields_of_ranks_are_read_back_by_vtk(case, costs):
    for field in divided_case_fields(case, costs, 1.0):
        field.file.write_text(field.text)
    assert sorted(path.parent.parent.name for path in case.glob("processor*/1/cellCost")) == [
        "processor0",
        "processor1",
    ]

    last = SimpleNamespace(time=1.0, values={})
    ((_, dataset),) = OpenFoamPieces(case, 2).blocks(1, last)
    assert vtk_to_numpy(dataset.GetCellData().GetArray("cellCost")) == pytest.approx([2e-3] * 3)
    ((_, dataset),) = OpenFoamPieces(case, 2).blocks(0, last)
    assert vtk_to_numpy(dataset.GetCellData().GetArray("cellCost")) == pytest.approx([1.6e-6, 1e-3])


def test_collated_pieces_say_the_same(case, costs):
    collate(case, 2)
    assert whole_case_costs(case, costs, 1.0)[""].tolist() == [2e-3, 1e-3, 2e-3, 1e-3, 2e-3]
    with pytest.raises(
        BalanceError, match="processors2 is collated, and perfield writes fields of ranks only"
    ):
        divided_case_fields(case, costs, 1.0)


def test_each_region_of_the_mesh_gets_its_field(tmp_path):
    write_case(tmp_path, times=("0",), regions=("fluid", "solid"))
    for region in ("fluid", "solid"):
        write_mesh(tmp_path / "constant" / region / "polyMesh", 0, cells=2)
        for rank in range(2):
            mesh = tmp_path / f"processor{rank}/constant" / region / "polyMesh"
            write_foam(mesh / "cellProcAddressing", "labelList", f"1({rank})\n")
        (tmp_path / "0" / region).mkdir(parents=True)
    fields = whole_case_fields(tmp_path, costs_of([2, 2]), 1.0)
    assert [field.file for field in fields] == [
        tmp_path / f"0/{name}/cellCost" for name in ("fluid", "solid")
    ]
    assert [field.n_cells for field in fields] == [2, 2]


def test_changed_mesh_is_written_for_redistribute_par(case):
    write_mesh(case / "processor0/1/polyMesh", 0, cells=7)
    costs = costs_of([7, 3])
    with pytest.raises(BalanceError, match=r"rank 0 began with 2 cells and has 7.*--redistribute") as error:
        whole_case_costs(case, costs, 1.0)
    assert "has changed since it was divided" in str(error.value)
    fields = divided_case_fields(case, costs, 1.0)
    assert [field.n_cells for field in fields] == [7, 3]
    assert [field.file.parent.name for field in fields] == ["1", "1"]
    # Before the change the mesh of the start holds.
    assert [field.n_cells for field in divided_case_fields(case, costs_of([2, 3]), 0.5)] == [2, 3]


@pytest.mark.parametrize(
    ("n_cells", "words"),
    [
        ([2, 4], r"rank 1 has 3 cells in .*processor1 at time 1, but 4 when it was measured; 1 of 2 ranks"),
        ([2, 3, 1], "holds 2 pieces, but the run has 3 ranks"),
    ],
)
def test_case_of_another_run_is_refused(case, n_cells, words):
    with pytest.raises(BalanceError, match=words):
        whole_case_costs(case, costs_of(n_cells), 1.0)


def test_case_that_was_meshed_again_is_refused(case, costs):
    write_mesh(case / "constant/polyMesh", 0, cells=6)
    with pytest.raises(BalanceError, match="polyMesh has 6 cells, but the pieces of the ranks have 5"):
        whole_case_costs(case, costs, 1.0)


def test_pieces_of_two_decompositions_are_refused(case, costs):
    mesh = case / "processor0/constant/polyMesh"
    write_foam(mesh / "cellProcAddressing", "labelList", "2(3 4)\n")
    with pytest.raises(BalanceError, match="does not name each of 5 cells once"):
        whole_case_costs(case, costs, 1.0)


def test_case_without_the_time_is_refused(case, costs):
    (case / "0").rmdir()
    with pytest.raises(BalanceError, match=r"no directory 0, but decomposePar reads .*cp -r 0"):
        whole_case_fields(case, costs, 1.0)


def test_no_directory_is_no_case(tmp_path, costs):
    with pytest.raises(BalanceError, match="nowhere is not a directory; expected an OpenFOAM case"):
        whole_case_costs(tmp_path / "nowhere", costs, 1.0)


@pytest.mark.parametrize(
    ("control", "time"),
    [
        ("startFrom latestTime; startTime 0;", "0.5"),
        ("startFrom firstTime;", "0"),
        ("// startFrom latestTime;\nstartFrom startTime;\nstartTime 0.50;", "0.5"),
        ("startFrom startTime; startTime 0;", "0"),
    ],
)
def test_start_time_is_that_of_the_control_dict(tmp_path, control, time):
    for name in ("0", "0.5", "0.orig"):
        (tmp_path / name).mkdir()
    write_foam(tmp_path / "system/controlDict", "dictionary", control + "\n")
    assert start_time(tmp_path) == time


@pytest.mark.parametrize(
    ("file", "numbers"),
    [
        (b"FoamFile { format ascii; }\n// note\n\n3\n(\n4\n5\n6\n)\n", [4, 5, 6]),
        (b"FoamFile { format ascii; }\n3{7}\n", [7, 7, 7]),
        (b"FoamFile { format ascii; }\n0()\n", []),
        (b"FoamFile { format binary; arch \"label=32;\"; }\n2(\x01\0\0\0\x02\0\0\0)", [1, 2]),
        (b"FoamFile { format binary; arch \"label=64;\"; }\n1\n(\x01\0\0\0\0\0\0\x01)", [2**56 + 1]),
    ],
)  # fmt: skip
def test_lists_of_numbers_are_read_as_openfoam_writes_them(file, numbers):
    assert labels(file).tolist() == numbers


@pytest.mark.parametrize("file", [b"", b"FoamFile { format ascii; }\n3(1 2)", b"\x1f\x8b\x08 }"])
def test_damaged_lists_are_refused(file):
    with pytest.raises(BalanceError, match="no list of numbers as OpenFOAM writes it"):
        labels(file)
