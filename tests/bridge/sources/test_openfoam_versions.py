# SPDX-License-Identifier: BSD-3-Clause
"""Steps and regions of solvers of a fake OpenFOAM, with the functions that other versions have."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import run_command

import perfield

HOST = Path(__file__).resolve().parent / "openfoam_versions"
OPENCFD = (2312, 2406, 2506)
REGIONS = [
    "fvm::ddt",
    "fvm::laplacian",
    "GAMGSolver::solve",
    "mesh::update",
    "mesh::movePoints",
    "turbulence::correct",
    "turbulence::divDevReff",
    "thermo::correct",
    "chemistry::solve",
    "combustion::correct",
    "mixture::correct",
    "MULES::limit",
    "MULES::explicitSolve",
]


@pytest.mark.parametrize("version", [*OPENCFD, 10, 11, 12])
def test_solver_of_each_version_has_its_times_and_regions(version, build_foam, bin_dir, tmp_path):
    solver = build_foam(HOST, f"-DVERSION={version}") / "solver"

    result = run_command([bin_dir / "perfield-exec", solver], {}, tmp_path, 60)

    assert result.returncode == 0, result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert [frame.time for frame in run.frames()] == [0.5, 1.0, 1.5]
    fields = {region.name: region.field for region in run.known_regions}
    expected = set(REGIONS)
    if version in OPENCFD:
        expected |= {"constrainHbyA", "fvMatrix::solve.p"}
    if version == 12:
        expected |= {"constrainHbyA"}
    assert set(fields) == expected
    for frame in run.frames():
        counts = {name: int(frame.values[f"{field}_count"][0]) for name, field in fields.items()}
        assert counts == dict.fromkeys(expected, 1)
