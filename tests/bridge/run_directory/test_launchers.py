# SPDX-License-Identifier: BSD-3-Clause
"""Launchers, by variables faked here: what makes one run, who its ranks are, and what must be asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compiled.c_programs import c_program
from conftest import installed_mpi

import perfield


def four_ranks(node: int, **names: str) -> dict[str, str]:
    """The variables of the first rank on node 0 or 1 of two, each with two of four ranks."""
    values = {"rank": 2 * node, "size": 4, "local_rank": 0, "local_size": 2, "nodes": 2}
    return {name: str(values[what]) for what, name in names.items()}


def pals(node: int, launch: int) -> dict[str, str]:
    own = four_ranks(
        node,
        rank="PALS_RANKID",
        local_rank="PALS_LOCAL_RANKID",
        local_size="PALS_LOCAL_SIZE",
        size="PMI_SIZE",
    )
    pmi = four_ranks(node, rank="PMI_RANK", local_rank="PMI_LOCAL_RANK")
    return own | pmi | {"PALS_APID": f"0d4c-{launch}", "PALS_NODEID": str(node), "PBS_JOBID": "7.polaris"}


def flux(node: int, launch: int) -> dict[str, str]:
    own = four_ranks(
        node,
        rank="FLUX_TASK_RANK",
        size="FLUX_JOB_SIZE",
        local_rank="FLUX_TASK_LOCAL_ID",
        nodes="FLUX_JOB_NNODES",
    )
    pmi = four_ranks(node, rank="PMI_RANK", size="PMI_SIZE") | {"PMI_SPAWNED": "0"}
    return own | pmi | {"FLUX_JOB_ID": f"f{launch}", "FLUX_URI": f"local:///run/flux/local-{node}"}


def intel(node: int, launch: int) -> dict[str, str]:
    own = four_ranks(
        node, rank="PMI_RANK", size="PMI_SIZE", local_rank="MPI_LOCALRANKID", local_size="MPI_LOCALNRANKS"
    )
    return own | {"I_MPI_HYDRA_UUID": f"9d260000-7c26-{launch}", "HYDRA_BSTRAP_PGID": "0", "LSB_JOBID": "9"}


def jsm(node: int, launch: int) -> dict[str, str]:
    own = four_ranks(
        node,
        rank="JSM_NAMESPACE_RANK",
        size="JSM_NAMESPACE_SIZE",
        local_rank="JSM_NAMESPACE_LOCAL_RANK",
        local_size="JSM_NAMESPACE_LOCAL_SIZE",
    )
    openmpi = four_ranks(node, rank="OMPI_COMM_WORLD_RANK", size="OMPI_COMM_WORLD_SIZE")
    return own | openmpi | {"PMIX_NAMESPACE": str(launch), "LSB_JOBID": "9"}


def mpirun_rsh(node: int, launch: int) -> dict[str, str]:
    own = four_ranks(
        node,
        rank="MV2_COMM_WORLD_RANK",
        size="MV2_COMM_WORLD_SIZE",
        local_rank="MV2_COMM_WORLD_LOCAL_RANK",
        local_size="MV2_COMM_WORLD_LOCAL_SIZE",
    )
    return own | {"MPIRUN_ID": str(4000 + launch), "PMI_PORT": f"n{node}:33333"}


def prte(node: int, launch: int) -> dict[str, str]:
    slurm = {"SLURM_JOB_ID": "5", "SLURM_STEP_ID": str(node), "SLURM_PROCID": "0"}  # of the daemons
    return slurm | {"PMIX_NAMESPACE": f"prterun-n0-77@{launch}", "PMIX_RANK": str(2 * node)}


def slurm_pmix(node: int, launch: int) -> dict[str, str]:
    own = four_ranks(node, rank="SLURM_PROCID", size="SLURM_STEP_NUM_TASKS", local_rank="SLURM_LOCALID")
    ids = {"SLURM_JOB_ID": "5", "SLURM_STEP_ID": str(launch), "PMIX_NAMESPACE": f"slurm.pmix.5.{launch}"}
    return own | ids | {"PMIX_RANK": str(2 * node)}


def alps(node: int, launch: int) -> dict[str, str]:
    return {"ALPS_APP_PE": str(2 * node), "ALPS_APP_ID": str(900 + launch), "PBS_JOBID": "7.xc40"}


LAUNCHERS = [pals, flux, intel, jsm, mpirun_rsh, prte, slurm_pmix, alps]


@pytest.fixture
def start(execute, tmp_path):
    """start(node, **environment): a process on one of two faked nodes; returns it."""

    def run(node: int, *command: object, **environment: str):
        here = {"SLURMD_NODENAME": f"n{node}", "PERFIELD_NETWORK_TOPOLOGY": "false"}  # no Slurm answers
        return execute("perfield-exec", *(command or ["true"]), env={**here, **environment})

    return run


def runs(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=lambda launcher: launcher.__name__)
def test_nodes_of_one_launch_share_a_directory(start, tmp_path, launcher):
    assert [start(node, **launcher(node, 1)).stderr for node in (0, 1)] == ["", ""]
    assert runs(tmp_path) == ["perfield-run"]
    machines = sorted(path.name for path in (tmp_path / "perfield-run/machine").iterdir())
    assert [name.partition("-")[0] for name in machines] == ["n0", "n1"]
    for node in (1, 0):
        start(node, **launcher(node, 2))
    assert runs(tmp_path) == ["perfield-run", "perfield-run-2"]


@pytest.mark.parametrize("launcher", [pals, flux, intel, jsm, mpirun_rsh, slurm_pmix])
def test_run_json_has_the_size_of_the_world(start, tmp_path, launcher):
    start(1, **launcher(1, 1))
    assert json.loads((tmp_path / "perfield-run/run.json").read_text())["size"] == 4


@pytest.mark.parametrize("launcher", [pals, flux, intel, jsm, mpirun_rsh, slurm_pmix])
def test_messages_come_from_the_first_rank_of_a_node(start, tmp_path, launcher):
    own = launcher(1, 1)
    second = {name: "1" if "LOCAL" in name and value == "0" else value for name, value in own.items()}
    assert second != own
    wrong = {"PERFIELD_SKIP_STEPS": "x"}
    assert "PERFIELD_SKIP_STEPS" in start(1, **own, **wrong).stderr
    assert start(1, **second, **wrong).stderr == ""


def test_equal_flux_jobs_of_two_instances_are_two_runs(start, tmp_path):
    for instance in (
        {"FLUX_ENCLOSING_ID": "fA"},
        {"FLUX_ENCLOSING_ID": "fB"},
        {"FLUX_JOB_ID_PATH": "/fA/f1"},
    ):
        for node in (0, 1):
            start(node, **flux(node, 1), **instance)
    assert runs(tmp_path) == ["perfield-run", "perfield-run-2", "perfield-run-3"]


@pytest.mark.parametrize("outer", [pals, jsm, flux])
def test_mpirun_inside_another_launch_is_a_launch_of_its_own(start, tmp_path, outer):
    for launch in ("1", "2"):
        for node in (0, 1):
            inner = four_ranks(node, rank="OMPI_COMM_WORLD_RANK", size="OMPI_COMM_WORLD_SIZE")
            start(node, **(outer(0, 1) | inner | {"PMIX_NAMESPACE": f"prterun-n0-{launch}@1"}))
    assert runs(tmp_path) == ["perfield-run", "perfield-run-2"]


def test_worlds_spawned_under_intel_mpi_are_runs_of_their_own(start, tmp_path):
    for world in ("1", "2"):
        for node in (0, 1):
            start(node, **(intel(node, 1) | {"PMI_SPAWNED": "1", "HYDRA_BSTRAP_PGID": world}))
    assert runs(tmp_path) == ["perfield-run", "perfield-run-2"]


def test_hydra_without_a_name_of_the_launch_is_asked_for_one(start, tmp_path):
    rank = {name: value for name, value in intel(1, 0).items() if not name.startswith("I_MPI")}
    assert "export PERFIELD_RUN_ID=$LSB_JOBID.$RANDOM" in start(1, **rank).stderr
    assert runs(tmp_path) == []


def test_launch_that_repeats_a_name_is_a_run_of_its_own(start, tmp_path, build_c, perfield_flags):
    program = build_c(
        c_program("perfield_initialize(); perfield_step(0, 0);"), *perfield_flags("--libs"), mpi=False
    )
    rank = {
        "PMIX_NAMESPACE": "prterun-box-7@1",  # by prterun's process id: in each new container the same
        "OMPI_COMM_WORLD_SIZE": "2",
    }
    ranks = [rank | {"OMPI_COMM_WORLD_RANK": str(n), "OMPI_COMM_WORLD_LOCAL_RANK": str(n)} for n in (0, 1)]
    for n in (0, 1, 0, 1):
        assert start(1, program, **ranks[n]).returncode == 0
    assert runs(tmp_path) == ["perfield-run", "perfield-run-2"]
    for name in runs(tmp_path):
        assert len(perfield.open(tmp_path / name).rank_entries) == 2


def test_two_launches_of_mpich_in_one_step_of_slurm_are_two_runs(bin_dir, tmp_path, tmp_path_factory):
    mpich = installed_mpi("mpich", tmp_path_factory)
    slurm = {"SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}
    for _ in range(2):
        words = ["-rmk", "user", "-launcher", "fork", bin_dir / "perfield-exec", "true"]
        assert mpich.run(2, *words, env=slurm, cwd=tmp_path).returncode == 0
    assert runs(tmp_path) == ["perfield-run", "perfield-run-2"]


UNKNOWN = {"PMI_RANK": "2", "PMI_SIZE": "4"}


@pytest.mark.parametrize(
    ("nodes", "example"),
    [
        ({"PMI_LOCAL_SIZE": "2"}, "(date +%s)"),
        ({"PMI_LOCAL_SIZE": "2", "PBS_JOBID": "7.polaris", "PMI_JOBID": "7"}, "PBS_JOBID"),
        ({"PBS_JOBID": "7.polaris", "PBS_NODEFILE": "nodes"}, "PBS_JOBID"),
        ({"PBS_JOBID": "7.polaris", "PBS_NODEFILE": "/nowhere/that/only/the/first/node/has"}, "PBS_JOBID"),
        ({"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "batch 1 n1 2 n2 2"}, "LSB_JOBID"),
        ({"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2"}, "SLURM_JOB_ID"),
        ({"COBALT_JOBID": "7", "COBALT_JOBSIZE": "2"}, "COBALT_JOBID"),
    ],
)
def test_unknown_launcher_on_several_nodes_asks_for_a_name(start, tmp_path, nodes, example):
    (tmp_path / "nodes").write_text("n1\nn1\nn2\nn2\n")
    result = start(1, "echo", "hello", **UNKNOWN, **nodes)
    assert (result.returncode, result.stdout) == (0, "hello\n")
    assert result.stderr == (
        "perfield: this world has several nodes, and perfield does not know its launcher: it shows nothing "
        "that all nodes have in common, so each node would make a run directory of its own; give each launch "
        f"a name before the launcher's line, for example by: export PERFIELD_RUN_ID=${example}.$RANDOM; "
        "the program runs unmeasured\n"
    )
    assert runs(tmp_path) == ["nodes"]
    named = start(1, **UNKNOWN, **nodes, PERFIELD_RUN_ID="7.1234")
    assert named.stderr == ""
    assert runs(tmp_path) == ["nodes", "perfield-run"]


@pytest.mark.parametrize(
    "nodes",
    [
        {"PMI_LOCAL_SIZE": "4"},
        {"PBS_JOBID": "7.polaris", "PBS_NODEFILE": "nodes"},
        {"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "n1 4"},
        {"PMI_RANK": "0", "PMI_SIZE": "1", "PBS_NODEFILE": "/nowhere/that/only/the/first/node/has"},
        {},
    ],
)
def test_unknown_launcher_on_one_node_is_measured(start, tmp_path, nodes):
    (tmp_path / "nodes").write_text("n1\nn1\n")
    for rank in ("0", "3"):
        assert start(1, **(UNKNOWN | {"PMI_RANK": rank} | nodes)).stderr == ""
    assert runs(tmp_path) == ["nodes", "perfield-run"]


@pytest.mark.parametrize("batch", ["PBS_JOBID", "LSB_JOBID", "COBALT_JOBID", "OAR_JOB_ID", "SLURM_JOB_ID"])
def test_two_programs_of_one_batch_job_are_two_runs(start, tmp_path, batch):
    for _ in range(2):
        start(1, **{batch: "77"})
    assert runs(tmp_path) == ["perfield-run", "perfield-run-2"]
