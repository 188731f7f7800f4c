# SPDX-License-Identifier: BSD-3-Clause
"""The heat case from start to both pictures, in C++ and Fortran: the slowest rank is the hot one, and both
languages give the same arrays."""

from __future__ import annotations

import re

import numpy as np
import pytest
from conftest import WITH_ONE_MPI
from drivers import extracts_of_run
from vtkmodules.util.numpy_support import vtk_to_numpy

import perfield
from perfield import pictures

pytestmark = WITH_ONE_MPI  # tests/testcase/test_heat3d_fortran.py has both
CASES = ("heat3d", "heat3d_fortran")
STEPS, HOT_MS = 8, 40
OPTIONS = ("--minds", 2, 2, 1, "--points", 8, 8, 8, "--steps", STEPS, "--print-log", 0, "--exchange", "isend")
# Arrays that do not depend on timing.
COUNTS = (
    "rank temperature sent_count sent_bytes isend_count isend_bytes received_count received_bytes peer_count"
)
COUNTS = [*COUNTS.split(), "solver_loop_count", "halo_exchange_count"]


@pytest.fixture(scope="session")
def measured(mpi, build_case, bin_dir):
    """measured(case): the ranks that held the hot spot, step by step, and the perfield.Run."""
    known = {}

    def run(case: str):
        if case not in known:
            program = build_case(case) / case
            result = mpi.run(
                4, bin_dir / "perfield-exec", program, *OPTIONS, "--hot-spot", HOT_MS, "--print-hot-spot"
            )
            assert result.returncode == 0, result.stderr
            holders = [int(rank) for rank in re.findall(r"hot spot on rank (\d+)", result.stdout)]
            known[case] = holders, perfield.open(result.cwd / "perfield-run")
        return known[case]

    return run


def arrays_of(data) -> dict[str, np.ndarray]:
    """Name -> values of a dataset's point, cell or field data; omits texts."""
    arrays = (data.GetArray(number) for number in range(data.GetNumberOfArrays()))
    return {array.GetName(): vtk_to_numpy(array) for array in arrays if array is not None}


def leaves(picture) -> list:
    """Blocks of a picture, in order."""
    return [picture.GetBlock(number) for number in range(picture.GetNumberOfBlocks())]


@pytest.mark.parametrize("case", CASES)
def test_hot_spot_rank_has_the_longest_solver_loop(measured, case):
    holders, run = measured(case)
    slowest = [int(np.nanargmax(frame.values["solver_loop_time_s"])) for frame in run.frames()]
    assert len(holders) == STEPS
    assert slowest == holders


def test_geometry_pictures_agree_between_languages(measured):
    runs = [measured(case)[1] for case in CASES]
    for number in range(STEPS):
        pair = [pictures.geometry(run, run.frame(number)) for run in runs]
        assert [picture.GetNumberOfBlocks() for picture in pair] == [4, 4]
        for block, twin in zip(*map(leaves, pair)):
            assert block.GetClassName() == twin.GetClassName() == "vtkRectilinearGrid"
            assert block.GetExtent() == twin.GetExtent()
            assert block.GetBounds() == twin.GetBounds()
            arrays, same = arrays_of(block.GetPointData()), arrays_of(twin.GetPointData())
            assert set(same) == set(arrays) | {"change"}
            for name in COUNTS:
                np.testing.assert_array_equal(arrays[name], same[name], err_msg=name)


def test_topology_pictures_agree_between_languages(measured):
    runs = [measured(case)[1] for case in CASES]
    pair = [pictures.topology(run, run.frame(STEPS - 1)) for run in runs]
    lines = [arrays_of(picture.messages.GetCellData()) for picture in pair]
    values = [arrays_of(picture.measurements.GetCellData()) for picture in pair]
    assert pair[0].messages.GetNumberOfCells() == 8
    assert set(values[0]) == set(values[1])
    for name in lines[0]:
        np.testing.assert_array_equal(lines[0][name], lines[1][name], err_msg=name)
    for name in set(COUNTS) & set(values[0]):
        np.testing.assert_array_equal(values[0][name], values[1][name], err_msg=name)


def test_render_writes_both_series(measured, perfield_cli):
    _, run = measured("heat3d_fortran")
    result = perfield_cli("render", run.path, "--steps", "1,2")
    assert result.returncode == 0, result.stderr
    for name in ("geometry", "topology", "messages"):
        assert (run.path / f"pictures/{name}.pvd").read_text().count("timestep=") >= 2


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_error_is_second_order_in_space(mpi, build_case, case):
    errors = []
    for n, dt, steps in ((9, 1.0, 100), (19, 0.25, 400)):
        d = 1 / (n + 1)
        options = ("--verify", "--print-log", 0, "--minds", 1, 1, 1, "--points", n, n, n)
        result = mpi.run(
            1, build_case(case) / case, *options, "--d-dim", d, d, d, "--dt", dt, "--steps", steps
        )
        assert result.returncode == 0, result.stderr
        errors.append(float(re.search(r"largest error (\S+)", result.stdout).group(1)))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.02)


def test_in_process_fortran_pictures_have_the_same_arrays(mpi, build_case, bin_dir):
    pytest.importorskip("paraview")
    program = build_case("heat3d_fortran") / "heat3d_fortran"
    options = ("--minds", 2, 1, 1, "--points", 8, 8, 8, "--steps", 2, "--print-log", 0)
    settings = {"CATALYST_IN_PROCESS": "true", "CATALYST_RANKS": "1", "FIELDS_EVERY": "1"}
    env = {"DISPLAY": None, **{f"PERFIELD_{key}": value for key, value in settings.items()}}
    result = mpi.run(2, bin_dir / "perfield-exec", program, *options, env=env)
    assert (result.returncode, "perfield: " in result.stderr) == (0, False), result.stderr
    folder = result.cwd / "perfield-run"
    extracts_of_run.assert_as_afterwards(folder, range(2))
