# SPDX-License-Identifier: BSD-3-Clause
"""A run in the proposed order of ranks sends exactly what the proposal predicted.

The hosts are namespaces of this machine and their hardware is faked; everything else is real.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from drivers.hosts import faked_machines, run_on_hosts, why_no_hosts, why_no_slurm

import perfield
from perfield.text import in_seconds
from perfield.topology import placement_of

HERE = Path(__file__).resolve().parent
MACHINES = HERE.parent / "fixtures" / "machines"
NAMES = ("between_nodes", "between_switches", "hop_bytes")
HOSTS = ("n1", "n2", "n3", "n4")
SWITCHES = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\nSwitchName=top Switches=s[1-2]\n"


@pytest.fixture(scope="module")
def measured(bin_dir, build_c, tmp_path_factory):
    """measured(name, options): a run of 12 ranks, 3 on each of 4 hosts with 8 cores, under two switches."""
    if reason := why_no_hosts():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("hosts")
    for host in HOSTS:
        shutil.copy(MACHINES / "two-packages-4-cores.xml", folder / f"{host}.xml")
    (folder / "topology.conf").write_text(SWITCHES)
    program = build_c(HERE / "scattered.c")
    environment = faked_machines(folder) | {"PERFIELD_TOPOLOGY_FILE": str(folder / "topology.conf")}

    def run(name, *options):
        hosts = ",".join(f"{host}:3" for host in HOSTS)
        variables = {"PERFIELD_RUN_DIRECTORY": str(folder / name)}
        passed = [word for key in ("TOPOLOGY_FILE", "RUN_DIRECTORY") for word in ("-x", f"PERFIELD_{key}")]
        command = ["mpirun", *options, *passed, "--host", hosts, "-n", 12, bin_dir / "perfield-exec", program]
        result = run_on_hosts("n1,n2;n3,n4", command, folder, environment | variables)
        assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
        return perfield.open(folder / name)

    return run


@pytest.fixture(scope="module")
def present(measured):
    """The run in the default order."""
    return measured("present", "--bind-to", "core", "--map-by", "core")


@pytest.fixture(scope="module")
def moved(present, measured, perfield_cli):
    """The run in the proposed order, and the proposal."""
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    rankfile = present.path.parent / "order.txt"
    result = perfield_cli("placement", present.path, "--rankfile", rankfile, "--json")
    assert result.returncode == 0, result.stderr
    return measured("moved", "--rankfile", rankfile), json.loads(result.stdout)["proposal"]


def bytes_between(run):
    """(bytes between nodes, bytes between switches, bytes times switches passed) of a run."""
    placement = placement_of(run)
    sent = run.messages().compute()
    one = placement.node_id[sent["source"].to_numpy()]
    other = placement.node_id[sent["target"].to_numpy()]
    size = sent["bytes"].to_numpy().astype(float)
    switch = placement.switches.of_node
    passed = float((size * placement.switches.hops(one, other)).sum())
    return float(size[one != other].sum()), float(size[switch[one] != switch[other]].sum()), passed


def test_run_in_the_proposed_order_sends_what_was_predicted(present, moved):
    run, proposal = moved
    before, after = (tuple(proposal[when][name] for name in NAMES) for when in ("before", "after"))
    assert proposal["better"]
    assert bytes_between(present) == before
    assert [entry["host"] for entry in run.rank_entries] == proposal["host_of_rank"]
    assert bytes_between(run) == after
    # Cut into four pieces, a ring has 4 links between nodes, and 2 of these are between the switches.
    assert after[0] < 0.5 * before[0]
    assert after[1] < 0.5 * before[1]


def test_rankfile_binds_each_rank_to_the_cores_of_its_new_place(present, moved):
    run, proposal = moved
    assert [entry["cpuset"] for entry in run.rank_entries] == [
        present.rank_entries[place]["cpuset"] for place in proposal["place_of_rank"]
    ]


def test_table_and_words_name_hosts_switches_and_gains(present, perfield_cli):
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    hostfile = present.path.parent / "hosts.txt"
    text = perfield_cli("placement", present.path, "--hostfile", hostfile).stdout
    lines = [line.split() for line in text.splitlines()]
    assert lines[0][:6] == ["ranks", "host", "switch", "package", "core", "pu"]
    assert lines[4][:6] == ["3", "n2", "s1", "0", "0", "0"]
    assert (
        "Ranks 0-2 are packed on package 0 of n1 while package 1 is empty (the same on 3 more nodes)" in text
    )
    assert "12 of 12 ranks exchange most with a rank on another node" in text
    # MPI_Wait waits for the last rank on the ring, with which only rank 0 exchanges more than with the next.
    waits = present.waits().compute()
    waited = float(waits["time_s"][(waits["rank"] == 0) & (waits["peer"] == 7)].sum())
    assert f"They waited {in_seconds(waited)} for these partners" in text
    assert "proposal   another order of the ranks" in text
    assert "between switches" in text
    start = f"SLURM_HOSTFILE={hostfile} srun --distribution=arbitrary -n 12 perfield-exec "
    assert f"{start}{' '.join(map(str, present.info['command']))}\n" in text
    assert sorted(hostfile.read_text().split()) == sorted(HOSTS * 3)


def test_missing_kahip_is_reported_and_the_table_still_shown(present, perfield_cli, tmp_path):
    (tmp_path / "kahip.py").write_text("raise ModuleNotFoundError(name='kahip')\n")
    without = {"PYTHONPATH": str(tmp_path)}
    result = perfield_cli("placement", present.path, env=without)
    assert result.returncode == 0, result.stderr
    sentence = "needs KaHIP to divide the graph of messages: pip install 'perfield[placement]'"
    assert f"proposal   none: the proposal of an order {sentence}" in result.stdout
    result = perfield_cli("placement", present.path, "--rankfile", tmp_path / "order", env=without)
    assert result.returncode == 2
    assert sentence in result.stderr


def test_mpich_places_ranks_by_the_hostfile(present, perfield_cli, tmp_path):
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    if shutil.which("mpirun.mpich") is None:
        pytest.skip("MPICH is not installed")
    hostfile = tmp_path / "hosts.txt"
    perfield_cli("placement", present.path, "--hostfile", hostfile)
    launcher = ["mpirun.mpich", "-launcher", "rsh", "-launcher-exec", HERE / "mhsh", "-f", hostfile, "-n", 12]
    result = run_on_hosts("n1,n2;n3,n4", [*launcher, "sh", "-c", "echo $PMI_RANK $(hostname)"], tmp_path, {})
    assert result.returncode == 0, result.stderr
    host_of = dict(line.split() for line in result.stdout.splitlines())
    assert [host_of[str(rank)] for rank in range(12)] == hostfile.read_text().split()


def test_srun_places_ranks_by_the_hostfile(build_c, bin_dir, tmp_path):
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    if reason := why_no_slurm():
        pytest.skip(reason)
    measured = f"{bin_dir}/perfield-exec {build_c(HERE / 'scattered.c')}"
    script = f"""
      PERFIELD_RUN_DIRECTORY=present srun --mpi=pmix -N 4 --ntasks-per-node=3 {measured}
      {bin_dir}/perfield placement present --hostfile hosts.txt --json >proposal.json
      export SLURM_HOSTFILE=hosts.txt
      PERFIELD_RUN_DIRECTORY=moved srun --mpi=pmix -n 12 --distribution=arbitrary {measured}
    """
    result = run_on_hosts("n1,n2;n3,n4", [HERE / "mhslurm", "sh", "-ec", script], tmp_path, {})
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    proposal = json.loads((tmp_path / "proposal.json").read_text())["proposal"]
    moved = perfield.open(tmp_path / "moved")
    assert proposal["better"]
    assert [entry["host"] for entry in moved.rank_entries] == proposal["host_of_rank"]
    assert bytes_between(moved) == tuple(proposal["after"][name] for name in NAMES)
