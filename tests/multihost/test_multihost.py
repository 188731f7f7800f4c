# SPDX-License-Identifier: BSD-3-Clause
"""The topology picture of one program on four hosts with different machines.

The hosts are namespaces of this machine and their hardware is faked; everything else is real.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from compiled.c_programs import c_program
from conftest import installed_mpi
from drivers.hosts import faked_machines, run_on_hosts, why_no_hosts

import perfield

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures import topology, topology_scene
from perfield.pictures.line_choice import LineChoice
from perfield.topology import LEVELS

HERE = Path(__file__).resolve().parent
MACHINES = HERE.parent / "fixtures" / "machines"
MACHINE_OF = {
    "n1": "two-packages-4-cores",
    "n2": "two-packages-2-l3-2-cores-2-pus",
    "n3": "one-package-2-l3-6-cores",
    "n10": "two-packages-l3-around-2-numa",
}


@pytest.fixture(scope="module")
def run(bin_dir, build_c, tmp_path_factory):
    """A run of 8 ranks, 2 on each of 4 hosts, each bound to its own core."""
    reason = why_no_hosts()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("hosts")
    for host, machine in MACHINE_OF.items():
        shutil.copy(MACHINES / f"{machine}.xml", folder / f"{host}.xml")
    environment = faked_machines(folder)
    hosts = ",".join(f"{host}:2" for host in MACHINE_OF)
    mpirun = ["mpirun", "--bind-to", "core", "--map-by", "core", "--host", hosts, "-n", "8"]
    command = [*mpirun, bin_dir / "perfield-exec", build_c(HERE / "ring.c")]
    result = run_on_hosts("n1,n2;n3,n10", command, folder, environment)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return perfield.open(folder / "perfield-run")


def test_ranks_of_all_hosts_form_one_run(run):
    assert run.n_ranks == 8
    assert [rank["host"] for rank in run.rank_entries] == ["n1", "n1", "n2", "n2", "n3", "n3", "n10", "n10"]
    assert len(run) == 5
    assert run.damage == []


def test_nodes_are_ordered_by_name_with_their_own_machines(run):
    placement = topology_scene(run).placement
    assert placement.notes == ()
    assert [node.label for node in placement.nodes] == ["n1", "n2", "n3", "n10"]
    assert [len(node.machine.pus) for node in placement.nodes] == [8, 16, 12, 8]
    assert placement.node_id.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_ranks_appear_on_their_bound_cores(run):
    ranks = topology(run, run.frame(0)).ranks
    np.testing.assert_array_equal(vtk_to_numpy(ranks.GetCellData().GetArray("core_id")), [0, 1] * 4)
    spans = topology_scene(run).placement
    widths = (spans.last - spans.first).tolist()
    assert widths == [1, 1, 2, 2, 1, 1, 1, 1], "a core of n2 has two PUs"


def test_only_used_parts_are_drawn(run):
    scene = topology_scene(run)
    kinds = [LEVELS[level] for level in scene.cells.level[scene.cells.machine]]
    assert kinds.count("node") == 4
    assert kinds.count("package") == 4, "the second package of n1, n2 and n10 is idle"
    assert kinds.count("core") == 8


def test_messages_between_hosts_differ_from_messages_inside(run):
    messages = topology(run, run.frame(2), lines=LineChoice(most=100)).messages
    data = {
        name: vtk_to_numpy(messages.GetCellData().GetArray(name))
        for name in ("source", "target", "inside_node")
    }
    assert data["source"].tolist() == list(range(8))
    assert data["target"].tolist() == [1, 2, 3, 4, 5, 6, 7, 0]
    assert data["inside_node"].tolist() == [1, 0] * 4
    np.testing.assert_array_equal(vtk_to_numpy(messages.GetCellData().GetArray("sendrecv_bytes")), [1000] * 8)


def test_mpich_ranks_of_all_hosts_form_one_run_with_staged_files(
    build_c, bin_dir, tmp_path, tmp_path_factory
):
    reason = why_no_hosts()
    if reason:
        pytest.skip(reason)
    program = build_c(HERE / "ring.c", by=installed_mpi("mpich", tmp_path_factory))
    environment = {"UCX_TLS": "tcp,self,sysv", "MH_ONE_KERNEL": "1", "PERFIELD_STAGE": "/dev/shm"}
    launcher = ["mpirun.mpich", "-launcher", "rsh", "-launcher-exec", HERE / "mhsh", "-hosts", "n1:2,n2:2"]
    command = [*launcher, "-n", "4", bin_dir / "perfield-exec", program]
    result = run_on_hosts("n1,n2", command, tmp_path, environment)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert [path.name for path in tmp_path.glob("perfield-run*")] == ["perfield-run"]
    found = perfield.open(tmp_path / "perfield-run")
    assert [rank["host"] for rank in found.rank_entries] == ["n1", "n1", "n2", "n2"]
    assert (len(found), found.damage) == (5, [])
    assert all("-staged-1" in path.name for path in (found.path / "stream").glob("*.pf"))


STEPS = c_program(
    """
  perfield_initialize();
  for (int s = 0; s < 3; ++s) {
    perfield_begin("work");
    perfield_end("work");
    perfield_step(s, s);
  }
"""
)


@pytest.fixture
def on_hosts(build_c, perfield_flags, bin_dir, tmp_path):
    """on_hosts(hosts, variables): runs a program without MPI, two ranks on each host; returns the process.

    variables(rank, size, local, host) : what the faked launcher says that rank.
    """
    reason = why_no_hosts()
    if reason:
        pytest.skip(reason)
    program = build_c(STEPS, *perfield_flags("--libs"), mpi=False)

    def rank_of(variables, hosts, rank):
        reported = variables(rank, 2 * len(hosts), rank % 2, hosts[rank // 2])
        words = " ".join(f"{name}={value}" for name, value in reported.items())
        return f"env {words} {bin_dir}/perfield-exec {program} &"

    def run(hosts, variables):
        started = []
        for node, host in enumerate(hosts):
            ranks = " ".join(rank_of(variables, hosts, 2 * node + local) for local in (0, 1))
            started.append(f"{HERE}/mhsh {host} '{ranks} wait' &")
        return run_on_hosts(",".join(hosts), ["sh", "-c", "\n".join([*started, "wait"])], tmp_path, {})

    return run


def test_ranks_of_hosts_under_a_faked_flux_form_one_run(on_hosts, tmp_path):
    def flux(rank, size, local, host):
        return {
            "FLUX_JOB_ID": "f2aB",
            "FLUX_ENCLOSING_ID": "f1",
            "FLUX_URI": f"local:///run/flux/{host}",
            "FLUX_JOB_SIZE": size,
            "FLUX_JOB_NNODES": 4,
            "FLUX_TASK_RANK": rank,
            "FLUX_TASK_LOCAL_ID": local,
            "PMI_RANK": rank,
            "PMI_SIZE": size,
        }

    result = on_hosts(["n1", "n2", "n3", "n4"], flux)
    assert result.returncode == 0, result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["perfield-run"]
    found = perfield.open(tmp_path / "perfield-run")
    assert [rank["host"] for rank in found.rank_entries] == [f"n{1 + n // 2}" for n in range(8)]
    assert (len(found), found.damage) == (3, [])
    machines = sorted(path.name for path in (found.path / "machine").iterdir())
    assert [name.partition("-")[0] for name in machines] == ["n1", "n2", "n3", "n4"]


def test_nodes_with_directories_of_their_own_say_that_ranks_are_missing(
    build_c, bin_dir, perfield_cli, tmp_path
):
    reason = why_no_hosts()
    if reason:
        pytest.skip(reason)
    of_node = f"PERFIELD_RUN_ID=$(hostname) exec {bin_dir}/perfield-exec {build_c(HERE / 'ring.c')}"
    command = ["mpirun", "--host", "n1:2,n2:2", "-n", "4", "sh", "-c", of_node]
    result = run_on_hosts("n1,n2", command, tmp_path, {})
    assert result.returncode == 0, result.stderr
    assert "missing    ranks 2-3 of 4 wrote nothing here: " in result.stderr, "at the end of the run"
    said = {perfield_cli("info", path).stdout for path in tmp_path.glob("perfield-run*")}
    assert len(said) == 2
    for ranks in ("0-1", "2-3"):
        assert sum(f"missing    ranks {ranks} of 4 wrote nothing here: " in text for text in said) == 1


def test_hosts_of_an_unknown_launcher_that_says_their_number_are_asked_for_a_name(on_hosts, tmp_path):
    def unknown(rank, size, local, host):
        return {"PMI_RANK": rank, "PMI_SIZE": size, "PMI_LOCAL_RANK": local, "PMI_LOCAL_SIZE": 2}

    def named(*rank):
        return unknown(*rank) | {"PERFIELD_RUN_ID": "7.4711"}

    result = on_hosts(["n1", "n2"], unknown)
    assert result.stderr.count("export PERFIELD_RUN_ID=") == 2, "once on each node"
    assert list(tmp_path.iterdir()) == []
    assert on_hosts(["n1", "n2"], named).returncode == 0
    assert len(perfield.open(tmp_path / "perfield-run").rank_entries) == 4
