# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified OpenFOAM solvers: time steps, times and regions as in the solvers' logs."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

CASES_FILE = Path(__file__).resolve().parents[3] / "testcase/openfoam/cases.py"

pytestmark = pytest.mark.skipif(
    not shutil.which("icoFoam"), reason="OpenFOAM (Debian: openfoam) is not installed"
)

# A region that each solver must have, and how often a step enters it (from its numerical settings).
REGIONS = {
    "icoFoam": {
        "fvMatrix::solve.U": 1,
        "fvMatrix::solve.p": 2,
        "fvm::ddt": 1,
        "fvm::div": 1,
        "fvm::laplacian": 3,
    },
    "interFoam": {
        "fvMatrix::solve.alpha.water": 3,
        "fvMatrix::solve.p_rgh": 3,
        "PCG::solve": 3,
        "fvm::laplacian": 4,
        "turbulence::divDevReff": 1,
    },
    "reactingFoam": {
        "fvMatrix::solve.CH4": 1,
        "fvMatrix::solve.p": 2,
        "thermo::correct": 1,
        "combustion::correct": 1,
        "chemistry::solve": 1,
    },
}
END_TIMES = {"icoFoam": "0.03", "interFoam": "0.025", "reactingFoam": "3e-5"}  # after some 6 steps
N_RANKS = 2
# Lines of a solver's log that differ between runs.
FLEETING = re.compile(r"^(ExecutionTime|Date|Time +:|PID|Case|Host|Exec|Build|\"|\(|\)|\d)|clockTime")


@pytest.fixture(scope="module")
def cases():
    """The module testcase/openfoam/cases.py."""
    spec = importlib.util.spec_from_file_location("openfoam_cases", CASES_FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    try:
        module.tutorials()
    except module.OpenFoamMissingError as error:
        pytest.skip(str(error))
    return module


@pytest.fixture(scope="module", params=REGIONS)
def measured(request, cases, mpirun, bin_dir, tmp_path_factory):
    """(solver, its log without perfield, its log under perfield, the run)."""
    import perfield

    solver, logs = request.param, []
    for command in ([solver], [bin_dir / "perfield-exec", solver]):
        folder = tmp_path_factory.mktemp(solver) / "case"
        cases.prepare(cases.CASES[solver], folder, N_RANKS)
        cases.set_entry(folder / "system/controlDict", "endTime", END_TIMES[solver])
        result = mpirun(N_RANKS, *command, "-parallel", cwd=folder, env=cases.environment(), timeout=300)
        assert result.returncode == 0, result.stderr
        logs.append(result.stdout)
    return solver, *logs, perfield.open(folder / "perfield-run")


def times(log: str) -> list[float]:
    return [float(time) for time in re.findall(r"(?m)^Time = (\S+)", log)]


def test_each_solver_step_is_a_frame_with_its_time(measured):
    _, _, log, run = measured
    assert len(times(log)) > 4
    np.testing.assert_array_equal([frame.time for frame in run.frames()], times(log))
    assert [frame.label for frame in run.frames()] == list(range(1, len(run) + 1))


def test_all_ranks_are_in_every_frame(measured):
    *_, run = measured
    assert run.n_ranks == N_RANKS
    assert all(frame.present.all() for frame in run.frames())


def test_solver_regions_count_per_step(measured):
    solver, _, _, run = measured
    fields = {region.name: region.field for region in run.known_regions}
    for name, per_step in REGIONS[solver].items():
        assert name in fields, sorted(fields)
        for frame in run.frames():
            np.testing.assert_array_equal(frame.values[f"{fields[name]}_count"], per_step)
            time_s = frame.values[f"{fields[name]}_time_s"]
            assert (time_s > 0).all() and (time_s < frame.values["step_time_s"]).all()


def test_solver_s_own_output_is_unchanged(measured):
    _, plain, log, _ = measured

    def lasting(text):
        return [line for line in text.splitlines() if not FLEETING.search(line)]

    assert lasting(log) == lasting(plain)


def test_run_names_the_hook_as_a_source(measured):
    *_, run = measured
    assert all("openfoam" in rank["sources"] for rank in run.rank_entries)


def test_serial_solver_is_measured_as_rank_0_of_1(cases, mpirun, bin_dir, tmp_path):
    import perfield

    cases.prepare(replace(cases.CASES["icoFoam"], decompose="true"), tmp_path / "case")
    command = [bin_dir / "perfield-exec", "icoFoam"]
    result = mpirun(1, *command, cwd=tmp_path / "case", env=cases.environment())
    assert result.returncode == 0, result.stderr
    run = perfield.open(tmp_path / "case" / "perfield-run")
    assert (run.n_ranks, len(run)) == (1, len(times(result.stdout)))


def test_programs_without_a_time_loop_get_no_warning(cases, mpirun, bin_dir, tmp_path):
    bare = replace(cases.CASES["icoFoam"], before=[], decompose="true")
    cases.prepare(bare, tmp_path / "case", N_RANKS)
    for n, words in ((1, ["blockMesh"]), (1, ["decomposePar"]), (N_RANKS, ["checkMesh", "-parallel"])):
        command = [bin_dir / "perfield-exec", *words]
        result = mpirun(n, *command, cwd=tmp_path / "case", env=cases.environment())
        assert result.returncode == 0, result.stderr
        assert "Foam::Time::run()" not in result.stderr


def cells_on_disk(run, frame):
    """The cells of each rank's piece that the frame shows, from the case's files."""
    from perfield.pictures.pieces import choose_pieces

    pieces = choose_pieces(run)
    assert pieces.written_time(frame) == frame.time
    return [
        sum(dataset.GetNumberOfCells() for _, dataset in pieces.blocks(rank, frame))
        for rank in range(run.n_ranks)
    ]


def test_cells_follow_the_refinement_of_the_mesh(cases, mpirun, bin_dir, tmp_path):
    import perfield

    case = tmp_path / "case"
    known = cases.CASES["damBreakWithObstacle"]
    coarse = {r"hex \(0 1 2 3 4 5 6 7\)": "(16 16 16) simpleGrading (1 1 1)\n)"}
    changes = {**known.changes, "system/blockMeshDict": coarse}
    cases.prepare(replace(known, changes=changes), case, N_RANKS)
    cases.set_entry(case / "system/controlDict", "endTime", "0.002")
    cases.set_entry(case / "system/controlDict", "writeInterval", "1")
    command = [bin_dir / "perfield-exec", "interFoam", "-parallel"]
    result = mpirun(N_RANKS, *command, cwd=case, env=cases.environment(), timeout=300)
    assert result.returncode == 0, result.stderr
    run = perfield.open(case / "perfield-run")
    frames = list(run.frames())
    assert len(frames) == len(times(result.stdout)) > 1
    for frame in (frames[0], frames[-1]):
        assert frame.values["cells"].tolist() == cells_on_disk(run, frame)
    refined = [int(n) for n in re.findall(r"(?m)^Refined from \d+ to (\d+) cells", result.stdout)]
    assert frames[-1].values["cells"].sum() in refined
    assert frames[-1].values["cells"].sum() > 16**3


def test_collated_regions_are_found_by_the_case_option(cases, mpirun, bin_dir, tmp_path):
    import perfield

    case = tmp_path / "cases/heater"
    cases.prepare(replace(cases.CASES["multiRegionHeater"], decompose="true"), case, N_RANKS)
    for entry in ("endTime", "writeInterval"):
        cases.set_entry(case / "system/controlDict", entry, "0.01")
    collated = ["-fileHandler", "collated", "-case", "cases/heater"]
    result = mpirun(1, "decomposePar", "-allRegions", *collated, cwd=tmp_path, env=cases.environment())
    assert result.returncode == 0, result.stderr
    command = [bin_dir / "perfield-exec", "chtMultiRegionFoam", "-parallel", *collated]
    result = mpirun(N_RANKS, *command, cwd=tmp_path, env=cases.environment(), timeout=300)
    assert result.returncode == 0, result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    frame = run.frame(-1)
    assert frame.values["cells"].tolist() == cells_on_disk(run, frame)
    assert "thermo::correct" in {region.name for region in run.known_regions}
