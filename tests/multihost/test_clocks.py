# SPDX-License-Identifier: BSD-3-Clause
"""The comparison of clocks between nodes in MPI_Init and MPI_Finalize.

The nodes are namespaces of this machine, each with a boot id and fake clocks of its own, so the truth is
known. Everything else is real.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import installed_mpi
from drivers.hosts import HERE, compiled, run_on_hosts, why_no_hosts

import perfield
from twins import twin


@dataclass
class Node:
    """A fake node: its clock is the machine's, shifted by `shift_ns` and faster by `drift_ppb`."""

    shift_ns: int = 0
    drift_ppb: int = 0
    more: str = ""  # shell text that its ranks' environment comes from

    def shows(self, machine_ns: int) -> int:
        return machine_ns + self.shift_ns + machine_ns * self.drift_ppb // 10**9

    def machine_ns(self, shown_ns: int) -> int:
        return (shown_ns - self.shift_ns) * 10**9 // (10**9 + self.drift_ppb)


def clock_entries(run: Path) -> dict[int, list[dict]]:
    """The clock entries of a run by rank, as they were written."""
    found: dict[int, list[dict]] = {}
    for path in sorted((run / "stream").glob("*.pf")):
        entries, damage = twin.decode(path.read_bytes())
        assert not damage
        for entry in entries:
            if entry["type"] == "clock":
                found.setdefault(entry["rank"], []).append(entry["body"])
    return found


def check_truth(entries: dict[int, list[dict]], nodes: dict[int, Node]) -> None:
    """Compares each entry with the fake clocks. nodes : of the rank that speaks for each node."""
    for rank, of_rank in entries.items():
        for entry in of_rank:
            first, last = entry["compared_ns"][0], entry["compared_ns"][-1]
            for stamp in (first, (first + last) // 2, last):
                found = stamp + entry["offset_ns"]
                found += entry["drift_ppb"] * 1e-9 * (stamp - entry["monotonic_ns"])
                truth = nodes[entry["reference_rank"]].shows(nodes[rank].machine_ns(stamp))
                distance = min(stamp - first, last - stamp)
                uncertainty = entry["round_trip_ns"] / 2 + entry["wander_ppb"] * 1e-9 * distance
                assert abs(found - truth) <= uncertainty + 2, f"rank {rank}: {entry}"


@pytest.fixture(scope="session")
def tools(tmp_path_factory) -> dict[str, str]:
    """Variables that name the fakes, or a skip."""
    if reason := why_no_hosts():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("fakes")
    return {
        "FAKE_NODE": str(compiled("fakenode.c", folder)),
        "MH_DELAYWIRE": str(compiled("delaywire.c", folder, "-lm")),
        "PERFIELD_CLOCK": "monotonic",
        "UCX_TLS": "tcp,self,sysv",
    }


@pytest.fixture
def on_nodes(tools, tmp_path):
    """on_nodes(nodes, command, env={}): runs mpirun's or another launcher's command on fake nodes."""

    def run(nodes: dict[str, Node], command: list[object], env=None, returncode=0):
        folder = tmp_path / "nodes"
        folder.mkdir()
        for name, node in nodes.items():
            lines = [
                f'export FAKE_CLOCK="{node.shift_ns} {node.drift_ppb}"',
                'export LD_PRELOAD="$FAKE_NODE${LD_PRELOAD:+:$LD_PRELOAD}"',
                node.more,
            ]
            (folder / name).write_text("\n".join(lines) + "\n")
        environment = {**tools, "MH_NODES": str(folder), **(env or {})}
        result = run_on_hosts(";".join(nodes), command, tmp_path, environment)
        assert result.returncode == returncode, f"{result.stdout}\n{result.stderr}"
        return result

    return run


def mpirun(hosts: str) -> list[str]:
    """Open MPI on `hosts` ("n1:2,n2:1"), with perfield's clock passed on."""
    n = sum(int(host.partition(":")[2]) for host in hosts.split(","))
    return ["mpirun", "--host", hosts, "-n", str(n), "-x", "PERFIELD_CLOCK"]


THREE = {"n1": Node(-(10**12), 20_000), "n2": Node(5 * 10**9, -40_000), "n3": Node(10**13, 35_000)}
SPEAKERS = dict(zip((0, 2, 4), THREE.values()))


def test_line_of_each_node_is_as_true_as_it_says(on_nodes, bin_dir, build_c, tmp_path):
    program = [build_c(HERE / "pause.c"), "0.5"]
    on_nodes(THREE, [*mpirun("n1:2,n2:2,n3:2"), bin_dir / "perfield-exec", *program])
    entries = clock_entries(tmp_path / "perfield-run")
    assert {rank: [len(e["compared_ns"]) for e in of_rank] for rank, of_rank in entries.items()} == {
        rank: [1, 2] for rank in SPEAKERS
    }
    check_truth(entries, SPEAKERS)
    assert [(e["offset_ns"], e["uncertainty_ns"]) for e in entries[0]] == [(0, 0)] * 2
    assert {(e["method"], e["reference_rank"]) for of in entries.values() for e in of} == {("exchange", 0)}


def every_rank_a_node(tools) -> list[str]:
    """What makes each rank of a command a node of its own."""
    return ["env", f"LD_PRELOAD={tools['FAKE_NODE']}", "FAKE_NODE_PER_RANK=1"]


def check_every_rank(run: Path, n_ranks: int) -> None:
    """Each rank has compared its clock twice and says the truth."""
    entries = clock_entries(run)
    assert {rank: len(of_rank) for rank, of_rank in entries.items()} == dict.fromkeys(range(n_ranks), 2)
    check_truth(entries, {rank: Node(rank * 10**9, (rank % 7 - 3) * 10_000) for rank in range(n_ranks)})


def test_mpich_ranks_compare_clocks_under_perfield_run(tools, bin_dir, build_c, tmp_path, tmp_path_factory):
    """The ranks are nodes to perfield alone: between three nodes, Debian's MPICH often hangs in MPI_Finalize
    of any program that has communicated, because endpoints of UCX's TCP do not close."""
    program = build_c(HERE / "pause.c", by=installed_mpi("mpich", tmp_path_factory))
    launcher = f"mpirun.mpich -launcher rsh -launcher-exec {HERE / 'mhsh'} -hosts n1:2,n2:2"
    words = [bin_dir / "perfield", "run", "--launcher", launcher, "-n", "4", "--", program, "0.2"]
    environment = {**tools, "MH_ONE_KERNEL": "1"}
    result = run_on_hosts("n1,n2", [*every_rank_a_node(tools), *words], tmp_path, environment)
    assert result.returncode == 0, result.stderr
    check_every_rank(tmp_path / "perfield-run", 4)


def test_error_by_a_one_way_delay_is_within_half_the_round_trip(on_nodes, bin_dir, build_c, tmp_path):
    nodes = {"n1": Node(), "n2": Node(10**10, 10_000)}
    command = [*mpirun("n1:1,n2:1"), bin_dir / "perfield-exec", build_c(HERE / "pause.c"), "0.1"]
    on_nodes(nodes, command, {"MH_DELAY_sw2": "3000 0"})
    entries = clock_entries(tmp_path / "perfield-run")
    check_truth(entries, dict(enumerate(nodes.values())))
    assert all(entry["round_trip_ns"] >= 3_000_000 for entry in entries[1])


def test_tree_reaches_more_than_32_nodes(tools, bin_dir, build_c, tmp_path):
    passed_on = ["-x", "LD_PRELOAD", "-x", "FAKE_NODE_PER_RANK"]
    command = [*mpirun("n1:18,n2:18"), *passed_on, bin_dir / "perfield-exec", build_c(HERE / "pause.c"), "1"]
    result = run_on_hosts("n1;n2", [*every_rank_a_node(tools), *command], tmp_path, tools)
    assert result.returncode == 0, result.stderr
    check_every_rank(tmp_path / "perfield-run", 36)


def test_ranks_that_are_not_measured_take_part(on_nodes, bin_dir, build_c, tmp_path):
    nodes = {"n1": Node(), "n2": Node(10**9), "n3": Node(2 * 10**9, more="export PERFIELD_ENABLED=false")}
    command = [*mpirun("n1:2,n2:2,n3:2"), bin_dir / "perfield-exec", build_c(HERE / "pause.c"), "0"]
    result = on_nodes(nodes, command)
    entries = clock_entries(tmp_path / "perfield-run")
    assert sorted(entries) == [0, 2]
    check_truth(entries, {0: nodes["n1"], 2: nodes["n2"]})
    assert "clocks" not in result.stderr
    assert finished_quickly(result)


def test_unmeasured_rank_never_speaks_for_its_node(on_nodes, bin_dir, build_c, tmp_path):
    wrong = 'export PERFIELD_RUN_DIRECTORY="/proc/none"'
    nodes = {"n1": Node(more=wrong), "n2": Node(10**9), "n3": Node(3 * 10**9)}
    command = [*mpirun("n1:1,n2:1,n3:1"), bin_dir / "perfield-exec", build_c(HERE / "pause.c"), "0"]
    on_nodes(nodes, command)
    entries = clock_entries(tmp_path / "perfield-run")
    assert sorted(entries) == [1, 2]
    assert {entry["reference_rank"] for of_rank in entries.values() for entry in of_rank} == {1}
    check_truth(entries, {1: nodes["n2"], 2: nodes["n3"]})


def finished_quickly(result) -> bool:
    """Whether no rank waited for a deadline (5 s and more) in MPI_Init or MPI_Finalize."""
    _, init, _, finalize = result.stdout.split()
    return float(init) < 5 and float(finalize) < 5


def test_rank_that_dies_meanwhile_holds_nobody_beyond_the_deadline(on_nodes, bin_dir, build_c, tmp_path):
    """It dies between its round trips. The others leave MPI_Init, and two nodes have lines."""
    library = build_c(HERE / "stopped.c", "-shared", "-fPIC", "-ldl")
    source = """
    #include <mpi.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <unistd.h>
    int main(int argc, char** argv) {
      MPI_Init(&argc, &argv);
      char own[] = "arrived.?";
      own[8] = getenv("OMPI_COMM_WORLD_RANK")[0];
      fclose(fopen(own, "w"));
      while (access("arrived.0", F_OK) || access("arrived.2", F_OK)) usleep(10000);
      _exit(3);
    }
    """
    nodes = {
        name: Node(i * 10**9, more=f'export LD_PRELOAD="$LD_PRELOAD:{library}"')
        for i, name in enumerate(("n1", "n2", "n3"))
    }
    stops = ["-x", "STOPPED_RANK=1", "-x", "STOPPED_AT=9"]
    command = [*mpirun("n1:1,n2:1,n3:1"), *stops, bin_dir / "perfield-exec", build_c(source)]
    on_nodes(nodes, command, returncode=3)
    entries = clock_entries(tmp_path / "perfield-run")
    assert sorted(entries) == [0, 2]
    check_truth(entries, {0: nodes["n1"], 2: nodes["n3"]})


TWO = {"n1": Node(), "n2": Node(10**9)}


def test_programs_started_beside_a_bare_one_are_not_compared(on_nodes, bin_dir, build_c, tmp_path):
    program = build_c(HERE / "pause.c")
    first = [
        "mpirun",
        "--host",
        "n1:1,n2:1",
        "-n",
        "1",
        "-x",
        "PERFIELD_CLOCK",
        bin_dir / "perfield-exec",
        program,
        "0",
    ]
    result = on_nodes(TWO, [*first, ":", "-n", "1", program, "0"])
    assert clock_entries(tmp_path / "perfield-run") == {}
    assert finished_quickly(result)


@pytest.mark.parametrize("how", ["perfield-exec ./program", "exec perfield-exec ./program"])
def test_script_that_measures_one_rank_only_is_not_compared(how, on_nodes, bin_dir, build_c, tmp_path):
    (tmp_path / "program").symlink_to(build_c(HERE / "pause.c"))
    how = how.replace("perfield-exec", str(bin_dir / "perfield-exec"))
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\nif [ $OMPI_COMM_WORLD_RANK = 0 ]; then {how}; else exec ./program; fi\n")
    script.chmod(0o755)
    result = on_nodes(TWO, [*mpirun("n1:1,n2:1"), script])
    assert clock_entries(tmp_path / "perfield-run") == {}
    assert finished_quickly(result)


def test_script_behind_perfield_exec_is_not_compared(on_nodes, bin_dir, build_c, tmp_path):
    """It may start the program without perfield on some ranks."""
    (tmp_path / "program").symlink_to(build_c(HERE / "pause.c"))
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n[ $OMPI_COMM_WORLD_RANK = 0 ] || unset LD_PRELOAD\nexec ./program\n")
    script.chmod(0o755)
    result = on_nodes(TWO, [*mpirun("n1:1,n2:1"), bin_dir / "perfield-exec", script])
    assert clock_entries(tmp_path / "perfield-run") == {}
    assert finished_quickly(result)


def test_ranks_of_one_host_need_no_comparison(on_nodes, bin_dir, build_c, tmp_path):
    result = on_nodes(
        {"n1": Node()}, [*mpirun("n1:3"), bin_dir / "perfield-exec", build_c(HERE / "pause.c"), "0"]
    )
    assert clock_entries(tmp_path / "perfield-run") == {}
    assert finished_quickly(result)


def test_hosts_of_one_kernel_are_one_node(tools, bin_dir, build_c, tmp_path):
    command = [*mpirun("n1:1,n2:1"), bin_dir / "perfield-exec", build_c(HERE / "pause.c"), "0"]
    result = run_on_hosts("n1;n2", command, tmp_path, {**tools, "MH_ONE_KERNEL": "1"})
    assert result.returncode == 0, result.stderr
    entries = clock_entries(tmp_path / "perfield-run")
    assert {rank: [e["offset_ns"] for e in of_rank] for rank, of_rank in entries.items()} == {0: [0]}


def test_ranks_in_time_namespaces_agree(mpirun, bin_dir, build_c, tmp_path):
    """As in containers whose CLOCK_MONOTONIC is shifted: by 5,000 s on rank 1."""
    tried = subprocess.run(["unshare", "-T", "--monotonic", "1", "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("time namespaces cannot be made here")
    script = 'exec unshare -T --monotonic $((OMPI_COMM_WORLD_RANK * 5000)) "$@"'
    program = build_c(HERE / "pause.c")
    result = mpirun(2, "sh", "-c", script, "sh", bin_dir / "perfield-exec", program, "0", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "time namespaces" not in result.stderr
    clocks = perfield.open(tmp_path / "perfield-run").clocks
    assert set(clocks.method) == {"same node"}
    assert clocks.start_s.max() < 100
