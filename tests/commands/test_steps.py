# SPDX-License-Identifier: BSD-3-Clause
"""Programs that close no steps themselves: perfield proposes a call that closes exactly their steps."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from compiled.c_programs import mpi_program
from conftest import WITH_ONE_MPI

import perfield
from perfield import commands
from perfield.call_sites.candidates import candidates
from twins import twin

CASES = Path(__file__).resolve().parents[2] / "testcase"
STEPS = 12
BOX = ("--multiple-minds", 1, "--base-minds-dim", "2 1 1", "--multiple-points", 12, "--exchange", "isend")
ARGUMENTS = (*BOX, "--max-num-time-steps", STEPS, "--hot-spot", 5)
# The program's own definitions hide perfield's, so its calls do not reach perfield.
SILENT = """
#define OWN(name) \\
  extern "C" __attribute__((visibility("hidden"), used)) int own_##name() __asm__(#name); \\
  int own_##name() { return 0; }
OWN(perfield_initialize) OWN(perfield_step) OWN(perfield_region_define) OWN(perfield_region_begin)
OWN(perfield_region_end) OWN(perfield_mesh_rectilinear) OWN(perfield_field)
"""
FORTRAN = """
program steps
  use mpi
  implicit none
  interface
    subroutine rest(microseconds) bind(c, name="usleep")
      integer, value :: microseconds
    end subroutine
  end interface
  integer :: step, ierror
  double precision :: mine, norm
  call mpi_init(ierror)
  norm = total(1d0)
  do step = 1, 12
    mine = norm / (norm + step)
    call rest(5000)  ! steps take longer than a busy machine takes to start the ranks
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
    """The heat case, built with this MPI without calls into perfield, its files as one."""
    files = sorted((CASES / "heat3d").glob("*.cpp"))
    text = SILENT + "".join(f'#line 1 "{file.name}"\n{file.read_text()}' for file in files)
    return build_c(text, f"-I{CASES / 'heat3d'}", name="heat3d.cpp", by=mpi)


PROPOSED = re.compile(
    r"the program marked no time steps; the most likely end of a step is "
    r"(?P<name>\w+@[\w:.~]+-[0-9a-f]{4}(/\d+)?) \((?P<where>.*?), (?P<hits>\d+) times"
    r"(, (?P<every>\d+) to a step)?: (?P<steps>\d+) steps after the first, which ends setup; "
    r"one every .*?\): "
    r"PERFIELD_STEP_CALL=(?P=name) perfield run"
)


def proposed(reported: str) -> re.Match[str]:
    found = PROPOSED.search(reported)
    assert found, reported
    return found


def name_of(run, hits: int) -> str:
    """The name of the likeliest site with so many hits."""
    (best, *_) = [each for each in candidates(run) if each.hits == hits]
    return f"{best.site.call}@any-{best.site.hash[:8]}"


@WITH_ONE_MPI
def test_proposed_call_closes_the_steps_of_the_heat_case(silent_heat3d, measure, perfield_cli):
    run, reported = measure(silent_heat3d, *ARGUMENTS)
    assert [frame.kind for frame in run.frames()] == ["whole"]
    best = proposed(reported)
    assert (best["hits"], best["steps"]) == (str(STEPS), str(STEPS - 1))
    assert re.fullmatch(r"main\.cpp:\d+", best["where"])

    table = perfield_cli("steps", run.path).stdout
    assert re.match(r"step_call +hits +steps +period +share +even +where +reached through\n", table)
    assert re.search(rf"(?m)^{best['name']} +{STEPS} +{STEPS - 1} .* main\.cpp:\d+ +\w", table), table
    assert f"PERFIELD_STEP_CALL={best['name']} perfield run" in table
    printed = json.loads(perfield_cli("steps", run.path, "--json", "--rows", 1).stdout)
    (site,) = printed["call_sites"]
    assert (site["step_call"], site["hits"], site["steps"]) == (best["name"], STEPS, STEPS - 1)
    assert site["is_regular"] and 0 < site["period_s"] * STEPS < 60 and 0 < site["share"] <= 1
    assert printed["n_call_sites"] >= 1 and printed["sentence"] in table

    run, reported = measure(silent_heat3d, *ARGUMENTS, step_call=best["name"])
    assert len(run) == STEPS - 1  # the first such call ends setup
    assert all(frame.present.all() for frame in run.frames())
    sent = [frame.values["sent_count"].tolist() for frame in run.frames()]
    assert sent == [[1, 1]] * (STEPS - 1)
    assert "marked no time steps" not in reported
    reported = perfield_cli("steps", run.path).stdout
    assert f"{run.path} has {STEPS - 1} steps, closed by {best['name']}; hits" in reported
    assert "PERFIELD_STEP_CALL" not in reported


# As molecular dynamics codes call MPI: a setup with hundreds of sites, halo exchanges of four messages from
# one line, lists that are exchanged at each eighth step, sums at each tenth, and a call on the root alone.
DYNAMICS = """
#include <mpi.h>
#define CALL MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#define TEN(x) x x x x x x x x x x
static int in, out, right, left;
static __attribute__((noinline)) void swap(void) {
  MPI_Request request;
  MPI_Irecv(&in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &request);
  MPI_Send(&out, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static volatile int swaps = 4; /* so that no loop is unrolled */
static __attribute__((noinline)) void forward(void) { for (int i = 0; i < swaps; ++i) swap(); }
static __attribute__((noinline)) void reverse(void) { for (int i = 0; i < swaps; ++i) swap(); }
static __attribute__((noinline)) void borders(void) { for (int i = 0; i < 2 * swaps; ++i) swap(); }
static __attribute__((noinline)) void thermo(void) { CALL CALL CALL }
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size, left = (rank + size - 1) % size;
  TEN(TEN(CALL CALL CALL CALL))
  for (int step = 1; step <= 80; ++step) {
    usleep(2000);
    if (step % 8 == 0) borders(); else forward();
    usleep(1000);
    reverse();
    if (step % 10 == 0) thermo();
    if (rank == 0) MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  }
  MPI_Finalize();
}
"""


@WITH_ONE_MPI
def test_proposal_counts_the_hits_of_a_step(build_c, mpi, measure):
    program = build_c("#include <unistd.h>" + DYNAMICS, "-O1", by=mpi)
    run, reported = measure(program, n=3)
    best = proposed(reported)
    assert (best["hits"], best["every"], best["steps"]) == ("320", "4", "79")
    assert best["name"].endswith("/4")
    run, reported = measure(program, n=3, step_call=best["name"])
    assert run.steps_closed.tolist() == [79] * 3
    sent = [frame.values["sent_count"].tolist() for frame in run.frames()]
    assert sent == [[4 + (4 if step % 8 else 8)] * 3 for step in range(2, 81)]


@WITH_ONE_MPI
def test_program_whose_calls_are_irregular_gets_no_proposal(build_c, mpi, measure, perfield_cli):
    program = build_c(
        mpi_program("for (volatile int i = 0; i < 3; i++) MPI_Barrier(MPI_COMM_WORLD);"), by=mpi
    )
    run, reported = measure(program)
    assert "no MPI call recurs regularly" in reported
    assert "PERFIELD_STEP_SECONDS=0.5" in reported and "perfield_step" in reported
    said = perfield_cli("steps", run.path).stdout
    assert re.search(r"(?m)^Barrier@[\w.]+-[0-9a-f]{4} +3 ", said)
    assert "None of them recurs regularly" in said and "PERFIELD_STEP_CALL" not in said


@WITH_ONE_MPI
@pytest.mark.parametrize(("name", "n"), [("multigrid", 2), ("multipartition", 4)])
def test_some_call_closes_the_steps_of_each_pattern(name, n, build_c, mpi, measure):
    program = build_c(CASES / f"patterns/{name}.c", "-DWITHOUT_PERFIELD", "-lm", by=mpi)
    run, _ = measure(program, STEPS, n=n)
    run, _ = measure(program, STEPS, step_call=name_of(run, STEPS), n=n)
    assert len(run) == STEPS - 1
    assert run.steps_closed.tolist() == [STEPS - 1] * n
    assert len({frame.values["sent_count"].sum() for frame in run.frames()}) == 1


@WITH_ONE_MPI
def test_steps_by_the_clock_lose_no_message(silent_heat3d, mpi, measure):
    arguments = (*BOX, "--max-num-time-steps", 40, "--hot-spot", 5)
    whole, _ = measure(silent_heat3d, *arguments)
    run, _ = measure(silent_heat3d, *arguments, step_seconds="0.01")
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
    run, reported = measure(tmp_path / "steps")
    best = proposed(reported)
    assert re.fullmatch(r"Allreduce@total-[0-9a-f]{4}", best["name"])
    assert (best["hits"], best["where"]) == ("12", "steps.f90:24")
    run, _ = measure(tmp_path / "steps", step_call=best["name"])
    assert len(run) == STEPS - 1


ADVANCE = """
__attribute__((noinline)) void advance(void) {
  usleep(5000);  // steps take longer than a busy machine takes to start the ranks
  MPI_Barrier(MPI_COMM_WORLD); __asm__("");
}
"""


@WITH_ONE_MPI
def test_site_without_source_lines_is_named_by_its_function(mpi, build_c, measure, perfield_cli):
    source = mpi_program("for (int i = 0; i < 12; i++) advance();", before=ADVANCE)
    run, reported = measure(build_c(source, "-g0", by=mpi))
    best = proposed(reported)
    assert best["where"] == "in advance"
    assert re.fullmatch(r"Barrier@advance-[0-9a-f]{4}", best["name"])
    table = perfield_cli("steps", run.path).stdout
    assert "compile with -g" in table
    assert "in advance" in table


@WITH_ONE_MPI
def test_line_of_the_program_chooses_the_site(mpi, build_c, measure, perfield_cli, tmp_path):
    source = mpi_program(
        """
      advance();
      for (int i = 0; i < 12; i++) {
        advance();
        if (i % 4 == 0) advance();
      }
    """,
        before=ADVANCE,
    )
    program = build_c(source, "-g", "-O0", by=mpi)
    line = 1 + next(n for n, text in enumerate(source.splitlines()) if "for (int i = 0; i < 12" in text) + 1
    inner = 1 + next(n for n, text in enumerate(source.splitlines()) if "MPI_Barrier" in text)
    words = ["--launcher", f"mpirun.{mpi.name}", "-n", 2, "--set"]
    refused = perfield_cli("run", *words, f"step_call=Barrier@source.c:{line}", "--", program, cwd=tmp_path)
    assert refused.returncode == 2 and "no earlier run" in refused.stderr
    first = perfield_cli("run", *words, "summary=true", "--", program, cwd=tmp_path)
    assert first.returncode == 0, first.stderr

    by_line = perfield_cli("run", *words, f"step_call=Barrier@source.c:{line}", "--", program, cwd=tmp_path)
    assert by_line.returncode == 0, by_line.stderr
    assert perfield.open(tmp_path / "perfield-run-2").steps_closed.tolist() == [11, 11]

    several = perfield_cli("run", *words, f"step_call=Barrier@source.c:{inner}", "--", program, cwd=tmp_path)
    assert several.returncode == 2
    assert "several call sites are reached through" in several.stderr
    assert len(re.findall(r"Barrier@advance-[0-9a-f]{4}", several.stderr)) == 2
    nowhere = perfield_cli("run", *words, "step_call=Barrier@source.c:1", "--", program, cwd=tmp_path)
    assert nowhere.returncode == 2 and "no call site of this call" in nowhere.stderr


@WITH_ONE_MPI
def test_number_of_old_is_refused_with_the_new_name(mpi, build_c, measure, perfield_cli, tmp_path):
    program = build_c(mpi_program("for (int i = 0; i < 12; i++) advance();", before=ADVANCE), by=mpi)
    words = ["--launcher", f"mpirun.{mpi.name}", "-n", 2, "--set", "step_call=Barrier@1", "--", program]
    refused = perfield_cli("run", *words, cwd=tmp_path)
    assert refused.returncode == 2
    assert "no longer numbered" in refused.stderr and "`perfield steps` lists the names" in refused.stderr
    best = proposed(measure(program)[1])
    (tmp_path / "perfield-run").symlink_to(next(tmp_path.glob("perfield-run-*")))
    refused = perfield_cli("run", *words, cwd=tmp_path)
    assert refused.returncode == 2
    assert f"choose one of {best['name']}" in refused.stderr
    assert not (tmp_path / "perfield-run-2").exists()


def test_json_of_a_run_without_call_sites_says_what_closed_its_steps(tmp_path, capsys):
    path = twin.write_run(tmp_path / "run", steps=5)
    assert commands.main(["steps", str(path), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["n_steps"], printed["n_call_sites"], printed["call_sites"]) == (5, 0, [])
    assert printed["sentence"] == f"{path} has 5 steps that the program or step_seconds closed."


def test_json_and_use_exclude_each_other(tmp_path, capsys):
    path = twin.write_run(tmp_path / "run")
    with pytest.raises(SystemExit, match="2"):
        commands.main(["steps", str(path), "--use", "2", "--json"])
    assert "--json" in capsys.readouterr().err


@WITH_ONE_MPI
def test_program_without_mpi_calls_is_referred_to_the_clock(mpi, build_c, measure, perfield_cli):
    run, reported = measure(build_c(mpi_program(""), by=mpi))
    assert "PERFIELD_STEP_SECONDS=0.5 perfield run" in reported
    assert "PERFIELD_STEP_SECONDS=0.5 perfield run" in perfield_cli("steps", run.path).stdout


def test_run_with_own_steps_has_no_sites(heat3d, mpirun, bin_dir, perfield_cli):
    result = mpirun(2, bin_dir / "perfield-exec", heat3d, *ARGUMENTS)
    assert result.returncode == 0, result.stderr
    said = perfield_cli("steps", result.cwd / "perfield-run")
    assert said.returncode == 0
    assert f"has {STEPS} steps that the program or step_seconds closed" in said.stdout


@pytest.mark.long
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
    assert found[0].is_regular and found[0].steps == steps, found[:9]
    by_call, again = solve("by-call", step_call=name_of(by_clock, steps))
    assert len(by_call) == steps == again > 10  # the hook ends setup at the start of the time loop
    assert by_call.steps_closed.tolist() == [steps] * cases.N_RANKS
    table = perfield_cli("steps", by_clock.path, "--rows", 50).stdout
    assert "Foam::" in table or "source lines are not known" in table
