# SPDX-License-Identifier: BSD-3-Clause
"""Runs under a real Slurm find their nodes and switches by themselves.

The hosts are namespaces of this machine and their hardware is faked; Slurm, launchers and hwloc are real.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from drivers.hosts import HERE as MULTIHOST
from drivers.hosts import faked_machines, run_on_hosts, why_no_slurm

import perfield

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures import topology
from perfield.pictures.line_choice import LineChoice
from perfield.topology import hostfile, placement_of

HASWELL = "pack:2 [numa(memory=64GB)] l3:1(size=30MB) l2:12(size=256kB) l1d:1(size=32kB) core:1 pu:1"
EPYC = "pack:2 group:4 [numa(memory=64GB)] l3:2(size=32MB) l2:8(size=512kB) l1d:1 core:1 pu:2"


ARBITRARY = r"n4\nn1\nn3\nn2\nn2\nn3\nn1\nn4\n"  # the hosts of eight ranks, for SLURM_HOSTFILE


@pytest.fixture(scope="module")
def in_slurm(tmp_path_factory):
    """in_slurm(hosts, machine, script): runs a shell script in a Slurm of these hosts; returns its folder.

    asked.txt there has a line for each call of scontrol.
    """
    reason = why_no_slurm()
    if reason:
        pytest.skip(reason)

    def run(hosts: str, machine: str, script: str, **environment: str) -> Path:
        folder = tmp_path_factory.mktemp("slurm")
        for host in hosts.replace(";", ",").split(","):
            subprocess.run(["lstopo", "-i", machine, "--of", "xml", folder / f"{host}.xml"], check=True)
        scontrol = folder / "tools/scontrol"  # notes which hosts ask Slurm
        scontrol.parent.mkdir()
        scontrol.write_text(
            f'#!/bin/sh\nhostname >>{folder}/asked.txt\nexec {shutil.which("scontrol")} "$@"\n'
        )
        scontrol.chmod(0o755)
        environment |= {"PATH": f"{scontrol.parent}:{os.environ['PATH']}"} | faked_machines(folder)
        command = [MULTIHOST / "mhslurm", "sh", "-ec", script]
        result = run_on_hosts(hosts, command, folder, environment)
        assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
        return folder

    return run


@pytest.fixture(scope="module")
def ring(build_c):
    return build_c(MULTIHOST / "ring.c")


@pytest.fixture(scope="module")
def on_haswell(in_slurm, bin_dir, ring):
    """Folder of three runs of 8 ranks on 4 nodes with 2 x 12 cores, under two leaf switches and a spine."""
    exec_ring = f"-x PERFIELD_RUN_DIRECTORY {bin_dir}/perfield-exec {ring}"
    srun = "srun --mpi=pmix -N 4 --ntasks-per-node=2 --cpu-bind=cores"
    mpirun = "mpirun -n 8 --map-by ppr:2:node --bind-to core"
    return in_slurm(
        "n1,n2;n3,n4",
        HASWELL,
        f"""
          {bin_dir}/perfield run --run-directory under-srun --launcher "{srun}" {ring}
          printf '{ARBITRARY}' >hosts.txt
          export SLURM_HOSTFILE=$PWD/hosts.txt PERFIELD_RUN_DIRECTORY=by-hostfile
          srun --mpi=pmix -n 8 --distribution=arbitrary {bin_dir}/perfield-exec {ring}
          unset SLURM_HOSTFILE PERFIELD_RUN_DIRECTORY
          echo '#!/bin/sh\nPERFIELD_RUN_DIRECTORY=under-sbatch {mpirun} {exec_ring}' >job
          sbatch --wait -N 4 --ntasks-per-node=2 -o job.txt job || {{ cat job.txt; exit 1; }}
        """,
    )


@pytest.fixture(scope="module", params=["under-srun", "under-sbatch"])
def run(on_haswell, request):
    return perfield.open(on_haswell / request.param)


def test_ranks_of_all_nodes_form_one_run(run):
    assert [entry["host"] for entry in run.rank_entries] == [f"n{1 + rank // 2}" for rank in range(8)]
    assert (len(run), run.damage, run.state) == (5, [], "finished")


def test_ranks_carry_their_address_in_the_network(run):
    reported = [(entry["topology_addr"], entry["topology_pattern"]) for entry in run.rank_entries]
    leaves = ["sw1"] * 4 + ["sw2"] * 4
    assert reported == [
        (f"spine.{leaf}.n{1 + rank // 2}", "switch.switch.node") for rank, leaf in enumerate(leaves)
    ]


def test_switches_of_slurm_are_above_their_nodes(run):
    placement = placement_of(run)
    switches = placement.switches
    assert placement.notes == switches.notes == ()
    assert dict(zip(switches.name, switches.level.tolist())) == {"sw1": 0, "sw2": 0, "spine": 1}
    assert [switches.name[leaf] for leaf in switches.of_node] == ["sw1", "sw1", "sw2", "sw2"]
    linked = {(switches.name[lower], switches.name[upper]) for lower, upper in switches.links}
    assert linked == {("sw1", "spine"), ("sw2", "spine")}


def test_one_node_asks_slurm_once_per_run(on_haswell):
    assert len((on_haswell / "asked.txt").read_text().split()) == 3, "there are three runs"


def test_addresses_of_ranks_serve_where_scontrol_is_missing(run, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run.path, copy)
    (copy / "machine/network.txt").unlink()
    from_file, from_ranks = placement_of(run).switches, placement_of(perfield.open(copy)).switches
    assert from_ranks.source == "SLURM_TOPOLOGY_ADDR"
    assert set(from_ranks.name) == set(from_file.name)
    nodes = np.arange(4)
    pairs = np.repeat(nodes, 4), np.tile(nodes, 4)
    np.testing.assert_array_equal(from_ranks.hops(*pairs), from_file.hops(*pairs))


def test_picture_shows_the_switches_and_the_way_of_each_message(run):
    picture = topology(run, run.frame(2), lines=LineChoice(most=100))
    level = vtk_to_numpy(picture.switches.GetCellData().GetArray("level"))
    assert sorted(level.tolist()) == [0, 0, 1]
    assert picture.links.GetNumberOfCells() == 4 + 2
    lines = picture.messages.GetCellData()
    source, target, hops = (vtk_to_numpy(lines.GetArray(name)) for name in ("source", "target", "hops"))
    assert source.tolist() == list(range(8))
    assert target.tolist() == [1, 2, 3, 4, 5, 6, 7, 0]
    assert hops.tolist() == [0, 1, 0, 3, 0, 1, 0, 3]


def test_info_says_values_by_switch(on_haswell, perfield_cli):
    printed = perfield_cli(
        "info", on_haswell / "under-srun", "--by", "switch", "--fields", "mpi_time_s", "--json"
    )
    assert printed.returncode == 0, printed.stderr
    rows = json.loads(printed.stdout)["mpi_time_s by switch"]
    assert {row["switch"]: row["ranks"] for row in rows} == {"sw1": 4, "sw2": 4}


def test_each_rank_is_placed_on_a_core_of_its_own(run):
    placement = placement_of(run)
    assert [len(node.machine.pus) for node in placement.nodes] == [24] * 4
    assert (placement.last - placement.first).tolist() == [1] * 8
    cores = {(node, first) for node, first in zip(placement.node_id, placement.first)}
    assert len(cores) == 8


def test_srun_spreads_the_ranks_of_a_node_over_its_packages(on_haswell):
    run = perfield.open(on_haswell / "under-srun")
    assert [entry["cpuset"] for entry in run.rank_entries] == ["0", "12"] * 4


def test_slurm_follows_a_written_hostfile(on_haswell):
    run = perfield.open(on_haswell / "by-hostfile")
    wanted = ARBITRARY.replace(r"\n", "\n")
    assert [entry["host"] for entry in run.rank_entries] == wanted.split()
    assert hostfile(placement_of(run), range(8)) == wanted


@pytest.fixture(scope="module")
def on_epyc(in_slurm, bin_dir, ring):
    """A run of 16 ranks on 2 nodes with 2 x 64 cores, whose Slurm knows no switches."""
    srun = "srun --mpi=pmix -N 2 --ntasks-per-node=8 --cpus-per-task=2 --cpu-bind=cores"
    folder = in_slurm("n1,n2", EPYC, f"{srun} {bin_dir}/perfield-exec {ring} 2>said.txt", MH_TOPOLOGY="none")
    assert "scontrol" not in (folder / "said.txt").read_text()
    assert len((folder / "asked.txt").read_text().split()) == 1
    return perfield.open(folder / "perfield-run")


def test_ranks_with_two_pus_each_are_placed_on_whole_cores(on_epyc):
    placement = placement_of(on_epyc)
    assert [len(node.machine.pus) for node in placement.nodes] == [256] * 2
    assert (placement.last - placement.first).tolist() == [2] * 16
    assert len({(node, first) for node, first in zip(placement.node_id, placement.first)}) == 16


def test_cluster_whose_slurm_knows_no_switches_shows_none(on_epyc):
    assert not (on_epyc.path / "machine/network.txt").exists()
    assert {entry["topology_pattern"] for entry in on_epyc.rank_entries} == {"node"}
    assert placement_of(on_epyc).switches.name == ()
    assert topology(on_epyc, on_epyc.frame(2)).switches.GetNumberOfCells() == 0
