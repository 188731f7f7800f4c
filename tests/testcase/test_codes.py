# SPDX-License-Identifier: BSD-3-Clause
"""Codes as Debian has them, unchanged, have steps, a mesh or a placeholder, functions and a finding."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import perfield
from perfield.pictures.shown_mesh import shown_pieces
from perfield.report import report

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "testcase/codes"))
from run_codes import CODES, measure

pytestmark = pytest.mark.long
GRID = "boxes of a grid of 2 x 1 x 2 ranks (MPI_Cart_create), periodic in x, z"
# Steps, how the mesh is shown, a function among the five with most time, kind of a finding.
EXPECTED = {
    "fenicsx": (
        99,
        "mesh from out/heat.pvd, written during the run, a piece per rank",
        "tabulate_tensor_integral_",
        "imbalance by cost per cell",
    ),
    "lammps": (None, GRID, "LAMMPS_NS::PairLJCut::compute", "imbalance"),
    "gromacs": (300, "boxes placed by messages, not by space", "nbnxm_kernel", "shared cores"),
    "code_saturne": (
        29,
        "mesh from postprocessing/RESULTS_FLUID_DOMAIN.case, written during the run, ranks by mpi_rank_id",
        "libsaturne",
        "tiny messages",
    ),
    "freefem": (39, "boxes placed by messages, not by space", "libgcc_s", "imbalance"),
}


def test_each_code_has_its_row():
    assert list(EXPECTED) == list(CODES)


@pytest.mark.parametrize("name", CODES)
def test_an_untouched_code_has_steps_a_mesh_functions_and_a_finding(name, tmp_path, perfield_cli):
    if missing := CODES[name].missing:
        pytest.skip(f"{missing} is not installed (.ci/packages, group long)")
    steps, way, function, kind = EXPECTED[name]
    run = perfield.open(measure(name, tmp_path / name))
    assert run.state == "finished"
    assert len(run) == steps if steps else len(run) > 20  # LAMMPS rebuilds its lists when atoms have moved
    assert shown_pieces(run)[0].way == way
    time_s = run.samples().compute().groupby("function")["time_s"].sum().sort_values(ascending=False)
    assert any(found.startswith(function) for found in time_s.index[:5]), time_s.head()
    found = report(run).findings
    assert kind in [finding.kind for finding in found], [finding.words for finding in found]
