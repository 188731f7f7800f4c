# SPDX-License-Identifier: BSD-3-Clause
"""Runs under a real Slurm find their nodes and switches by themselves.

The hosts are namespaces of this machine and their hardware is faked; Slurm, launchers and hwloc are real.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hosts import HERE as MULTIHOST
from hosts import compiled, run_on_hosts, why_no_slurm

import perfield
from perfield.topology import place, read_machines

HASWELL = "pack:2 [numa(memory=64GB)] l3:1(size=30MB) l2:12(size=256kB) l1d:1(size=32kB) core:1 pu:1"
EPYC = "pack:2 group:4 [numa(memory=64GB)] l3:2(size=32MB) l2:8(size=512kB) l1d:1 core:1 pu:2"


@pytest.fixture(scope="module")
def in_slurm(tmp_path_factory):
    """in_slurm(hosts, machine, script): runs a shell script in a Slurm of these hosts; returns its folder."""
    reason = why_no_slurm()
    if reason:
        pytest.skip(reason)

    def run(hosts: str, machine: str, script: str, **environment: str) -> Path:
        folder = tmp_path_factory.mktemp("slurm")
        for host in hosts.replace(";", ",").split(","):
            subprocess.run(["lstopo", "-i", machine, "--of", "xml", folder / f"{host}.xml"], check=True)
        environment |= {
            "MH_MACHINES": str(folder),
            "MH_FAKE_AFFINITY": str(compiled("fakeaff.c", folder)),
        }
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
    """Folder of two runs of 8 ranks on 4 nodes with 2 x 12 cores, under two leaf switches and a spine."""
    exec_ring = f"-x PERFIELD_RUN_DIRECTORY {bin_dir}/perfield-exec {ring}"
    srun = "srun --mpi=pmix -N 4 --ntasks-per-node=2 --cpu-bind=cores"
    mpirun = "mpirun -n 8 --map-by ppr:2:node --bind-to core"
    return in_slurm(
        "n1,n2;n3,n4",
        HASWELL,
        f"""
          {bin_dir}/perfield run --run-directory under-srun --launcher "{srun}" {ring}
          echo '#!/bin/sh\nPERFIELD_RUN_DIRECTORY=under-sbatch {mpirun} {exec_ring}' >job
          sbatch --wait -N 4 --ntasks-per-node=2 -o job.txt job || {{ cat job.txt; exit 1; }}
        """,
    )


@pytest.fixture(scope="module", params=["under-srun", "under-sbatch"])
def run(on_haswell, request):
    return perfield.open(on_haswell / request.param)


def placed(run):
    return place(run.rank_entries, read_machines(run.path / "machine")[0])


def test_ranks_of_all_nodes_form_one_run(run):
    assert [entry["host"] for entry in run.rank_entries] == [f"n{1 + rank // 2}" for rank in range(8)]
    assert (len(run), run.damage, run.state) == (5, [], "finished")


def test_ranks_carry_their_address_in_the_network(run):
    told = [(entry["topology_addr"], entry["topology_pattern"]) for entry in run.rank_entries]
    leaves = ["sw1"] * 4 + ["sw2"] * 4
    assert told == [
        (f"spine.{leaf}.n{1 + rank // 2}", "switch.switch.node") for rank, leaf in enumerate(leaves)
    ]


def test_run_keeps_what_slurm_knows_of_the_network(run):
    lines = (run.path / "machine/network.txt").read_text().splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["SwitchName=sw1", "Level=0"],
        ["SwitchName=sw2", "Level=0"],
        ["SwitchName=spine", "Level=1"],
    ]


def test_each_rank_is_placed_on_a_core_of_its_own(run):
    placement = placed(run)
    assert placement.notes == ()
    assert [len(node.machine.pus) for node in placement.nodes] == [24] * 4
    assert (placement.last - placement.first).tolist() == [1] * 8
    cores = {(node, first) for node, first in zip(placement.node_id, placement.first)}
    assert len(cores) == 8


def test_srun_spreads_the_ranks_of_a_node_over_its_packages(on_haswell):
    run = perfield.open(on_haswell / "under-srun")
    assert [entry["cpuset"] for entry in run.rank_entries] == ["0", "12"] * 4


@pytest.fixture(scope="module")
def on_epyc(in_slurm, bin_dir, ring):
    """A run of 16 ranks on 2 nodes with 2 x 64 cores, whose Slurm knows no switches."""
    srun = "srun --mpi=pmix -N 2 --ntasks-per-node=8 --cpus-per-task=2 --cpu-bind=cores"
    folder = in_slurm("n1,n2", EPYC, f"{srun} {bin_dir}/perfield-exec {ring} 2>said.txt", MH_TOPOLOGY="none")
    assert "scontrol" not in (folder / "said.txt").read_text()
    return perfield.open(folder / "perfield-run")


def test_ranks_with_two_pus_each_are_placed_on_whole_cores(on_epyc):
    placement = placed(on_epyc)
    assert [len(node.machine.pus) for node in placement.nodes] == [256] * 2
    assert (placement.last - placement.first).tolist() == [2] * 16
    assert len({(node, first) for node, first in zip(placement.node_id, placement.first)}) == 16


def test_cluster_without_known_switches_leaves_no_description(on_epyc):
    assert not (on_epyc.path / "machine/network.txt").exists()
    assert {entry["topology_pattern"] for entry in on_epyc.rank_entries} == {"node"}
