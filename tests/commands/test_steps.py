# SPDX-License-Identifier: BSD-3-Clause
"""Programs that close no steps themselves: perfield proposes a call that closes exactly their steps."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from c_programs import mpi_program

import perfield
from perfield.call_sites.candidates import candidates

CASES = Path(__file__).resolve().parents[2] / "testcase"
STEPS = 12
BOX = ("--multiple-minds", 1, "--base-minds-dim", "2 1 1", "--multiple-points", 12, "--exchange", "isend")
ARGUMENTS = (*BOX, "--max-num-time-steps", STEPS, "--hot-spot", 5)
# The program's own definitions hide perfield's, so its calls do not reach perfield.
SILENT = """
#define OWN(name) extern "C" __attribute__((visibility("hidden"))) int name() { return 0; }
OWN(perfield_initialize) OWN(perfield_step) OWN(perfield_region_define) OWN(perfield_region_begin)
OWN(perfield_region_end) OWN(perfield_mesh_rectilinear) OWN(perfield_field)
"""
FORTRAN = """
program steps
  use mpi
  implicit none
  integer :: step, ierror
  double precision :: mine, norm
  call mpi_init(ierror)
  norm = total(1d0)
  do step = 1, 12
    mine = norm / (norm + step)
    norm = total(mine)
  end do
  if (norm < 0) print *, norm
  call mpi_finalize(ierror)
contains
  double precision function total(part)
    double precision, intent(in) :: part
    call mpi_allreduce(part, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  end function
end program
"""


@pytest.fixture
def measure(mpi, perfield_cli, tmp_path):
    """measure(program, *arguments, n=2, **settings): (run, stderr) by `perfield run` with this MPI."""

    def run(program: Path, *arguments: object, n: int = 2, **settings: str):
        name = f"perfield-run-{program.name}-{'-'.join(settings.values()) or 'first'}"
        setting = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        words = ["--launcher", f"mpirun.{mpi.name}", "--run-directory", name, *setting, "-n", n, "--"]
        result = perfield_cli("run", *words, program, *arguments, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        return perfield.open(tmp_path / name), result.stderr

    return run


@pytest.fixture
def silent_heat3d(build_c, mpi):
    """The heat case, built with this MPI without calls into perfield."""
    sources = sorted((CASES / "heat3d").glob("*.cpp"))
    return build_c(SILENT, f"-I{CASES / 'heat3d'}", *map(str, sources), name="heat3d.cpp", by=mpi)


def test_proposed_call_closes_the_steps_of_the_heat_case(silent_heat3d, measure, perfield_cli):
    run, told = measure(silent_heat3d, *ARGUMENTS)
    assert [frame.kind for frame in run.frames()] == ["whole"]
    proposed = re.search(r"the program told no time steps; .*PERFIELD_STEP_CALL=(\S+) perfield run", told)
    assert proposed, told
    assert re.search(rf"{proposed[1]} \(main\.cpp:\d+, {STEPS} times, every ", told), told

    table = perfield_cli("steps", run.path).stdout
    assert re.match(r"step_call +hits +period +share +steady +where +reached through\n", table)
    assert re.search(rf"(?m)^{proposed[1]} +{STEPS} .* main\.cpp:\d+ +\w", table), table
    assert f"PERFIELD_STEP_CALL={proposed[1]} perfield run" in table

    run, told = measure(silent_heat3d, *ARGUMENTS, step_call=proposed[1])
    assert len(run) == STEPS - 1  # the first such call ends setup
    assert all(frame.present.all() for frame in run.frames())
    sent = [frame.values["sent_count"].tolist() for frame in run.frames()]
    assert sent == [[1, 1]] * (STEPS - 1)
    assert "told no time steps" not in told


@pytest.mark.parametrize(("name", "n"), [("multigrid", 2), ("multipartition", 4)])
def test_some_call_closes_the_steps_of_each_pattern(name, n, build_c, mpi, measure):
    program = build_c(CASES / f"patterns/{name}.c", "-DWITHOUT_PERFIELD", "-lm", by=mpi)
    run, _ = measure(program, STEPS, n=n)
    exact = [candidate.setting for candidate in candidates(run) if candidate.hits == STEPS]
    assert exact, candidates(run)
    run, _ = measure(program, STEPS, step_call=exact[0], n=n)
    assert len(run) == STEPS - 1
    assert run.steps_closed.tolist() == [STEPS - 1] * n
    assert len({frame.values["sent_count"].sum() for frame in run.frames()}) == 1


def test_steps_by_the_clock_lose_no_message(silent_heat3d, build_c, mpi, measure):
    pattern = build_c(CASES / "patterns/multigrid.c", "-DWITHOUT_PERFIELD", "-lm", by=mpi)
    heat = (*BOX, "--max-num-time-steps", 100, "--hot-spot", 5)
    for program, arguments in ((silent_heat3d, heat), (pattern, (20_000,))):
        whole, _ = measure(program, *arguments)
        run, _ = measure(program, *arguments, step_seconds="0.01")
        parts = [run.setup, *run.frames(), run.teardown]
        sent = np.nansum([part.values["sent_count"] for part in parts], axis=0)
        assert sent.tolist() == whole.frame(0).values["sent_count"].tolist()
        labels = [frame.label for frame in run.frames()]
        assert len(labels) >= 3
        assert labels == sorted(set(labels))  # on a busy machine, a late window joins the one before


def test_callers_distinguish_sites_of_a_fortran_program(mpi, measure, tmp_path):
    (tmp_path / "steps.f90").write_text(FORTRAN)
    command = [mpi.fc, "-g", "-O0", "steps.f90", "-o", "steps"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    run, told = measure(tmp_path / "steps")
    assert re.search(r"Allreduce@2 \(steps\.f90:\d+, 12 times", told), told
    run, _ = measure(tmp_path / "steps", step_call="Allreduce@2")
    assert len(run) == STEPS - 1


def test_site_without_source_lines_is_named_by_its_function(mpi, build_c, measure, perfield_cli):
    advance = '__attribute__((noinline)) void advance(void) { MPI_Barrier(MPI_COMM_WORLD); __asm__(""); }'
    source = mpi_program("for (int i = 0; i < 12; i++) advance();", before=advance)
    run, told = measure(build_c(source, "-g0", by=mpi))
    assert "Barrier@1 (in advance, 12 times" in told
    table = perfield_cli("steps", run.path).stdout
    assert "compile with -g" in table
    assert "in advance" in table


def test_program_without_mpi_calls_is_referred_to_the_clock(mpi, build_c, measure, perfield_cli):
    run, told = measure(build_c(mpi_program(""), by=mpi))
    assert "PERFIELD_STEP_SECONDS=0.5 perfield run" in told
    assert "PERFIELD_STEP_SECONDS=0.5 perfield run" in perfield_cli("steps", run.path).stdout


def test_run_with_own_steps_has_no_sites(heat3d, mpirun, bin_dir, perfield_cli):
    result = mpirun(2, bin_dir / "perfield-exec", heat3d, *ARGUMENTS)
    assert result.returncode == 0, result.stderr
    said = perfield_cli("steps", result.cwd / "perfield-run")
    assert said.returncode == 0
    assert "has steps that the program closed itself, so perfield recorded no call sites" in said.stdout


@pytest.mark.skipif(not shutil.which("icoFoam"), reason="OpenFOAM (Debian: openfoam) is not installed")
def test_some_call_closes_the_steps_of_openfoam(mpirun, bin_dir, perfield_cli, tmp_path):
    spec = importlib.util.spec_from_file_location("openfoam_cases", CASES / "openfoam/cases.py")
    cases = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = cases
    spec.loader.exec_module(cases)
    try:
        cases.prepare(cases.CASES["icoFoam"], tmp_path / "case")
    except cases.OpenFoamMissingError as error:
        pytest.skip(str(error))

    def solve(directory: str, **setting: str):
        env = {**cases.environment(), "PERFIELD_RUN_DIRECTORY": directory}
        env |= {f"PERFIELD_{key.upper()}": value for key, value in setting.items()}
        command = [bin_dir / "perfield-exec", "icoFoam", "-parallel"]
        result = mpirun(cases.N_RANKS, *command, cwd=tmp_path / "case", env=env, timeout=300)
        assert result.returncode == 0, result.stderr
        return perfield.open(tmp_path / "case" / directory), len(re.findall("(?m)^Time = ", result.stdout))

    by_clock, steps = solve("by-clock", step_seconds="1")
    found = candidates(by_clock)
    exact = [candidate.setting for candidate in found if candidate.hits == steps]
    assert exact, found
    by_call, again = solve("by-call", step_call=exact[0])
    assert len(by_call) == steps == again > 10  # the hook ends setup at the start of the time loop
    assert by_call.steps_closed.tolist() == [steps] * cases.N_RANKS
    table = perfield_cli("steps", by_clock.path, "--most", 50).stdout
    assert "Foam::" in table or "source lines are not known" in table
