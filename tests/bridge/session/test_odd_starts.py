# SPDX-License-Identifier: BSD-3-Clause
"""Programs started in unusual ways: coupled, spawned, in containers, without MPI."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from compiled.c_programs import c_program, mpi_program
from conftest import clean_environment, installed_mpi

import perfield

# A coupled code: every rank sends one message per step to the next rank of the common world. argv[1]: steps.
COUPLED = mpi_program(
    """
  int in, steps = atoi(argv[1]), most;
  MPI_Allreduce(&steps, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  perfield_initialize();
  for (int step = 0; step < most; ++step) {
    MPI_Sendrecv(&step, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (step < steps) perfield_step(step, step);
  }
""",
    after='if (rank == 0) puts("the answer is 42");',
)
SPAWNING = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent, children;
  int rank, number = 7;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    char* words[] = {argv[0], NULL};
    MPI_Comm_spawn(argv[1], words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    if (rank == 0) MPI_Send(&number, 1, MPI_INT, 1, 0, children);
    MPI_Comm_disconnect(&children);
    if (rank == 0) puts("the answer is 42");
  } else {
    if (rank == 1) MPI_Recv(&number, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&parent);
  }
  MPI_Finalize();
  return 0;
}
"""
WITHOUT_MPI = c_program(
    'perfield_initialize(); perfield_begin("work"); perfield_end("work"); perfield_step(1, 1);'
)
OUTSIDE = -2


def sends(run) -> list[tuple[int, int, int]]:
    """(source, target, count) of all messages of a run, sorted."""
    frames = [run.setup, *run.frames(), run.teardown] if run.frame(0).kind == "step" else run.frames()
    found: dict[tuple[int, int], int] = {}
    for frame in frames:
        for row in frame.messages:
            pair = int(row["source"]), int(row["target"])
            found[pair] = found.get(pair, 0) + int(row["count"])
    return [(*pair, count) for pair, count in sorted(found.items())]


@pytest.fixture
def two_programs(build_c, mpi, tmp_path):
    """One program under two names, as the two halves of a coupled code."""
    built = build_c(COUPLED, by=mpi)
    for name in ("fluid", "solid"):
        shutil.copy(built, tmp_path / name)
    return tmp_path / "fluid", tmp_path / "solid"


def test_coupled_programs_are_one_run_with_two_groups(two_programs, mpi, bin_dir, tmp_path):
    measured = bin_dir / "perfield-exec"
    fluid, solid = two_programs
    result = mpi.run(2, measured, fluid, 4, ":", "-n", 2, measured, solid, 2, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert run.groups == {"fluid": [0, 1], "solid": [2, 3]}
    assert [frame.present.tolist() for frame in run.frames()] == [[True] * 4] * 2 + [
        [True, True, False, False]
    ] * 2
    assert not any(frame.partial for frame in run.frames())
    assert sends(run) == [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)]
    assert not (tmp_path / "perfield-run-2").exists()


@pytest.fixture
def other_mpi(mpi, tmp_path_factory):
    """The other MPI, which `mpi` is not."""
    return installed_mpi({"openmpi": "mpich", "mpich": "openmpi"}[mpi.name], tmp_path_factory)


def test_launcher_of_another_mpi_gives_a_warning(mpi, other_mpi, build_c, bin_dir, tmp_path):
    result = other_mpi.run(2, bin_dir / "perfield-exec", build_c(COUPLED, by=mpi), 2, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n" * 2), result.stderr
    names = {"openmpi": "Open MPI 4.", "mpich": "MPICH 4."}
    sentence = f"perfield: the launcher started 2 ranks, but to {names[mpi.name]}"
    assert result.stderr.count(sentence) == 1
    assert "each is a world of 1 rank: the launcher is that of another MPI" in result.stderr
    assert result.stderr.count("perfield: ") == 1
    assert perfield.open(tmp_path / "perfield-run").n_ranks >= 1


def test_matching_launcher_gives_no_warning(mpi, build_c, bin_dir, tmp_path):
    program = build_c(COUPLED, by=mpi)
    for ranks in (1, 2):
        result = mpi.run(ranks, bin_dir / "perfield-exec", program, 2, cwd=tmp_path)
        assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
        assert "launcher" not in result.stderr


def test_unmeasured_half_of_a_coupled_code_does_not_hang(two_programs, mpi, bin_dir, tmp_path):
    fluid, solid = two_programs
    result = mpi.run(2, bin_dir / "perfield-exec", fluid, 3, ":", "-n", 2, solid, 3, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert [rank is not None for rank in run.rank_entries] == [True, True, False, False]
    assert [frame.present.tolist() for frame in run.frames()] == [[True, True, False, False]] * 3
    assert not any(frame.partial for frame in run.frames())
    assert (run.state, sends(run)) == ("finished", [(0, 1, 3), (1, 2, 3)])


@pytest.mark.parametrize("how", ["perfield-exec", "perfield run", "perfield setup env"])
def test_spawned_world_is_a_separate_run(build_c, bin_dir, tmp_path, mpirun, perfield_cli, how):
    """Open MPI only: Debian's MPICH refuses MPI_Comm_spawn."""
    program, measured = build_c(SPAWNING), bin_dir / "perfield-exec"
    if how == "perfield-exec":
        result = mpirun(2, measured, program, measured, cwd=tmp_path)
    elif how == "perfield run":
        words = ["run", "--oversubscribe", "-n", 2, "--", program, measured]
        result = perfield_cli(*words, cwd=tmp_path)
        assert "messages   1 with 4 bytes" in result.stderr
    else:
        script = f'eval "$(perfield setup env {program})"; mpirun --oversubscribe -n 2 {program} {measured}'
        result = subprocess.run(
            ["sh", "-ec", script],
            env=clean_environment(),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
    parents, children = (perfield.open(tmp_path / name) for name in ("perfield-run", "perfield-run-2"))
    assert (parents.n_ranks, children.n_ranks) == (2, 2)
    assert sends(parents) == [(0, OUTSIDE, 1)]
    assert [int(rank["size"]) for rank in children.rank_entries] == [2, 2]
    assert children.frame(0).received["source"].tolist() == [OUTSIDE]
    assert parents.damage == children.damage == []
    assert "spawned" in children.info["token"]


def test_library_missing_in_a_container_warns_and_the_program_runs(build_c, perfield_cli, bin_dir, tmp_path):
    """A container may lack the file that LD_PRELOAD names."""
    inside = 'mount -t tmpfs none "$1"; shift; exec "$@"'
    container = ["unshare", "--mount", "sh", "-ec", inside, "sh", Path(perfield.__file__).parent / "lib"]
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("nothing can be mounted here, so nothing can be hidden from the program")
    words = ["run", "--oversubscribe", "-n", 2, "--", *container, build_c(COUPLED), 3]
    result = perfield_cli(*words, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
    assert "cannot be preloaded" in result.stderr
    assert "perfield: none of the ranks (2) was measured: " in result.stderr
    assert "which does not exist where it runs; make that folder visible in its container" in result.stderr


def test_program_without_mpi_takes_its_rank_from_the_launcher(build_c, perfield_flags, mpi, tmp_path):
    program = build_c(WITHOUT_MPI, *perfield_flags("--libs"), mpi=False)
    result = mpi.run(3, program, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert run.frame(0).values["work_count"].tolist() == [1, 1, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["perfield-run"]


def test_program_without_mpi_takes_its_rank_from_slurm(build_c, perfield_flags, tmp_path):
    program = build_c(WITHOUT_MPI, *perfield_flags("--libs"), mpi=False)
    for rank in range(2):
        slurm = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": str(rank)}
        slurm |= {"SLURM_STEP_NUM_TASKS": "2", "SLURMD_NODENAME": f"n{rank}"}
        subprocess.run([program], env=clean_environment(slurm), cwd=tmp_path, check=True)
    run = perfield.open(tmp_path / "perfield-run")
    assert [rank["host"] for rank in run.rank_entries] == ["n0", "n1"]
    assert run.frame(0).values["work_count"].tolist() == [1, 1]


def test_script_between_launcher_and_perfield_keeps_one_run(build_c, mpi, bin_dir, tmp_path):
    script = tmp_path / "job.sh"
    script.write_text(f'#!/bin/sh\n{bin_dir}/perfield-exec "$@"\nexit $?\n')
    script.chmod(0o755)
    result = mpi.run(2, script, build_c(COUPLED, by=mpi), 2, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
    assert len(perfield.open(tmp_path / "perfield-run")) == 2
    assert not (tmp_path / "perfield-run-2").exists()


@pytest.mark.parametrize("text", ['regions = ["solve", "ha', "measure_every = ", 'run_directory = "runs'])
def test_truncated_configuration_warns_and_the_program_runs(build_c, mpirun, bin_dir, tmp_path, text):
    (tmp_path / "job.toml").write_text(text)
    env = {"PERFIELD_CONFIG": tmp_path / "job.toml"}
    result = mpirun(2, bin_dir / "perfield-exec", build_c(COUPLED), 2, env=env, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n")
    assert result.stderr.count(f"perfield: {tmp_path}/job.toml:1: ") == 1
    assert "the program runs unmeasured until you correct this" in result.stderr
    assert not (tmp_path / "perfield-run").exists()
