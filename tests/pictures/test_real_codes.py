# SPDX-License-Identifier: BSD-3-Clause
"""Meshes of codes that know nothing of perfield: LAMMPS, FEniCSx and code_saturne, as Debian has them."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import perfield
from perfield.pictures.blocks import centre_and_size, owned_cells
from perfield.pictures.shown_mesh import shown_pieces

CODES = Path(__file__).parent / "real_codes"
pytestmark = pytest.mark.long  # of their packages, which only these tests need


def needs(*programs):
    """Skips where a program is missing."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (.ci/packages, group long)")


def cells_of(pieces, n_ranks):
    """Cells without ghosts of each rank."""
    return [sum(owned_cells(block) for _, block in pieces.blocks(rank, None)) for rank in range(n_ranks)]


def test_ranks_of_lammps_are_boxes_of_its_grid(mpirun, bin_dir):
    needs("lmp")
    result = mpirun(6, bin_dir / "perfield-exec", "lmp", "-in", CODES / "in.lj", "-log", "none")
    assert "3 by 2 by 1 MPI processor grid" in result.stdout
    run = perfield.open(result.cwd / "perfield-run")
    pieces, _ = shown_pieces(run)
    assert pieces.way == "boxes of a grid of 3 x 2 x 1 ranks (MPI_Cart_create), periodic in x, y"
    middles = [centre_and_size(block for _, block in pieces.blocks(rank, None))[0] for rank in range(6)]
    assert np.allclose(middles, [[x, y, 0] for x in range(3) for y in range(2)])


@pytest.fixture
def heat_in_fenicsx(mpirun, bin_dir):
    """heat_in_fenicsx(kind): a run on 3 ranks."""
    found = ["/usr/bin/python3", "-c", "import dolfinx"]
    if subprocess.run(found, capture_output=True, check=False).returncode:
        pytest.skip("FEniCSx is not installed (.ci/packages, group long)")

    def run(kind):
        result = mpirun(
            3, bin_dir / "perfield-exec", "/usr/bin/python3", CODES / "heat.py", kind, timeout=300
        )
        assert result.returncode == 0, result.stderr
        return perfield.open(result.cwd / "perfield-run")

    return run


def test_pieces_that_fenicsx_wrote_are_found(heat_in_fenicsx):
    run = heat_in_fenicsx("pvd")
    pieces, _ = shown_pieces(run)
    assert pieces.way == "mesh from out/u.pvd, written during the run, a piece per rank"
    cells = cells_of(pieces, 3)
    assert sum(cells) == 2 * 24**2 and min(cells) > 300
    frame = dataclasses.replace(run.frame(0), time=0.05)
    assert pieces.older_times(frame) == (None, 0.04)


def test_the_file_of_fenicsx_with_ranks_is_found(heat_in_fenicsx):
    pieces, _ = shown_pieces(heat_in_fenicsx("xdmf"))
    assert pieces.way == "mesh from out/u.xdmf, written during the run, ranks by rank"
    assert sum(cells_of(pieces, 3)) == 2 * 24**2


def test_the_case_that_code_saturne_wrote_is_found(run_command_in, tmp_path, perfield_cli):
    needs("code_saturne", "gmsh")
    environment = {"USER": "user"}  # its script needs one
    run_command_in(tmp_path, "code_saturne", "create", "--study=S", "--case=C", env=environment)
    case = tmp_path / "S/C"
    mesh = ["-3", CODES / "duct.geo", "-format", "msh2", "-o", tmp_path / "S/MESH/duct.msh"]
    run_command_in(tmp_path, "gmsh", *mesh)
    shutil.copy(CODES / "duct.xml", case / "DATA/setup.xml")
    words = ["run", "--param", "setup.xml", "--nprocs", "2", "--id", "1", "--initialize"]
    run_command_in(case / "DATA", "code_saturne", *words, env=environment)
    folder = case / "RESU/1"
    result = perfield_cli("run", "-n", 2, "--", "./cs_solver", "--mpi", cwd=folder, timeout=300)
    assert result.returncode == 0, result.stderr
    pieces, _ = shown_pieces(perfield.open(folder / "perfield-run"))
    assert pieces.way == (
        "mesh from postprocessing/RESULTS_FLUID_DOMAIN.case, written during the run, ranks by mpi_rank_id"
    )
    cells = cells_of(pieces, 2)
    reported = re.search(r"Number of cells: +(\d+)", (folder / "run_solver.log").read_text(errors="replace"))
    assert sum(cells) == int(reported[1])
    assert min(cells) > 0.8 * max(cells)


@pytest.fixture
def run_command_in():
    """Runs a command in a folder; it must succeed."""
    from conftest import run_command

    def run(folder, *command, env=None):
        result = run_command([*map(str, command)], env, folder, 300)
        assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"

    return run
