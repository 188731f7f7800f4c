# SPDX-License-Identifier: BSD-3-Clause
"""When perfield-exec says a program that every rank of its launch runs under perfield-exec."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_NUM_APP_CTX": "1",
    "OMPI_COMMAND": "/opt/bin/perfield-exec",
}
SLURM = {"SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4"}
HYDRA = {"PMI_RANK": "1", "PMI_SIZE": "4"}
GIVEN = {"PERFIELD_RUN_ID": "beef", "PERFIELD_ALL_RANKS": "beef"}
PRINT = ["python3", "-c", "import os; print(os.environ.get('PERFIELD_ALL_RANKS', '-'), os.getpid())"]


@pytest.fixture
def vouch(execute):
    """vouch(variables, *before): what a program started by perfield-exec sees, and its process id."""

    def start(variables: dict[str, str], *before: str) -> tuple[str, str]:
        result = execute(*before, "perfield-exec", *PRINT, env=variables)
        assert result.returncode == 0, result.stderr
        seen, process = result.stdout.split()
        return seen, process

    return start


@pytest.mark.parametrize(
    ("variables", "launch"),
    [
        (OPEN_MPI, "openmpi"),
        ({**OPEN_MPI, "OMPI_COMMAND": "perfield-exec"}, "openmpi"),
        ({**HYDRA, **GIVEN}, "beef"),
        ({**SLURM, **GIVEN}, "beef"),
        ({**HYDRA, **GIVEN, "PERFIELD_ALL_RANKS": "beef:4"}, "beef"),
    ],
)
def test_vouch_names_launch_size_process_and_program(variables, launch, vouch, plain_environment):
    seen, process = vouch(variables)
    folders = plain_environment["PATH"].split(os.pathsep)
    python = next(path for folder in folders if (path := Path(folder, "python3")).exists())
    assert seen == f"{launch}:4:{process}:{python.stat().st_ino}"


@pytest.mark.parametrize(
    "variables",
    [
        {},
        HYDRA,
        GIVEN,
        {**OPEN_MPI, "OMPI_NUM_APP_CTX": "2"},
        {**OPEN_MPI, "OMPI_COMMAND": "./job.sh"},
        {**OPEN_MPI, **GIVEN, "OMPI_NUM_APP_CTX": "2"},
        {**HYDRA, **GIVEN, "PERFIELD_ALL_RANKS": "beef:3"},
        {**HYDRA, "PERFIELD_ALL_RANKS": "beef"},
        {**HYDRA, **GIVEN, "PERFIELD_RUN_ID": "cafe"},
        {**HYDRA, **GIVEN, "MPIR_CVAR_ENABLE_FT": "1"},
    ],
    ids=[
        "no launcher",
        "nobody vouches",
        "no size",
        "two programs",
        "a script",
        "two programs in spite of a vouch",
        "another size",
        "no run id",
        "another run",
        "MPICH would abort",
    ],
)
def test_no_vouch_where_some_ranks_may_lack_perfield(variables, vouch):
    assert vouch(variables)[0] == "-"


def test_vouch_for_a_script_is_none_for_what_it_starts(vouch):
    """The script may start other ranks without perfield-exec."""
    assert vouch(OPEN_MPI, "perfield-exec", "env")[0] == "-"


def test_printed_environment_has_no_vouch(execute):
    result = execute("perfield-exec", "--print", "true", env=OPEN_MPI)
    assert result.returncode == 0
    assert "PERFIELD_ALL_RANKS" not in result.stdout


@pytest.mark.parametrize("variables", [{"PERFIELD_ENABLED": "false"}, {"PERFIELD_CLOCK": "sun"}])
def test_unmeasured_program_under_a_vouch_gets_the_wrappers_alone(variables, execute):
    show = ["sh", "-c", "env | grep -E '^(LD_PRELOAD|PERFIELD_)'"]
    result = execute("perfield-exec", *show, env={**OPEN_MPI, **variables})
    assert result.returncode == 0, result.stderr
    seen = dict(line.split("=", 1) for line in result.stdout.splitlines())
    assert [Path(path).name for path in seen["LD_PRELOAD"].split(":")] == ["libperfield_openmpi.so"]
    assert seen["PERFIELD_ENABLED"] == "false"
    assert seen["PERFIELD_ALL_RANKS"].startswith("openmpi:4:")
