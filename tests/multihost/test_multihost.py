# SPDX-License-Identifier: BSD-3-Clause
"""The topology picture of one program on four hosts with different machines.

The hosts are namespaces of this machine and their hardware is faked; everything else is real.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import installed_mpi
from hosts import compiled, on_hosts, why_no_hosts

import perfield

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures import topology, topology_scene
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
    environment = {"MH_MACHINES": str(folder), "MH_FAKE_AFFINITY": str(compiled("fakeaff.c", folder))}
    hosts = ",".join(f"{host}:2" for host in MACHINE_OF)
    mpirun = ["mpirun", "--bind-to", "core", "--map-by", "core", "--host", hosts, "-n", "8"]
    command = [*mpirun, bin_dir / "perfield-exec", build_c(HERE / "ring.c")]
    result = on_hosts("n1,n2;n3,n10", command, folder, environment)
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
    messages = topology(run, run.frame(2)).messages
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
    environment = {"UCX_TLS": "tcp,self,sysv", "PERFIELD_STAGE": "/dev/shm"}
    launcher = ["mpirun.mpich", "-launcher", "rsh", "-launcher-exec", HERE / "mhsh", "-hosts", "n1:2,n2:2"]
    command = [*launcher, "-n", "4", bin_dir / "perfield-exec", program]
    result = on_hosts("n1,n2", command, tmp_path, environment)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert [path.name for path in tmp_path.glob("perfield-run*")] == ["perfield-run"]
    found = perfield.open(tmp_path / "perfield-run")
    assert [rank["host"] for rank in found.rank_entries] == ["n1", "n1", "n2", "n2"]
    assert (len(found), found.damage) == (5, [])
    assert all("-staged-1" in path.name for path in (found.path / "stream").glob("*.pf"))
