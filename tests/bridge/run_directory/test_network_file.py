# SPDX-License-Identifier: BSD-3-Clause
"""machine/network.txt: the user's file, or what Slurm says of the switches; and the addresses of ranks."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from compiled.c_programs import c_program

import perfield

SWITCHES = "SwitchName=sw1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=spine Level=1 Switches=sw1\n"
MOST_BYTES = 64_000_000
NETWORKS = Path(__file__).resolve().parents[2] / "fixtures/networks"


@pytest.fixture
def here(tmp_path):
    """An empty folder to run in."""
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture
def start(execute, plain_environment, here, tmp_path):
    """start(script=None, words=..., **settings): runs perfield-exec, under Slurm if `script` is given.

    script : a fake scontrol. words : the command. Returns (lines on stderr, machine/network.txt or None).
    """

    def run(script: str | None = None, words: Sequence[str] = ("perfield-exec", "true"), **settings: str):
        env = {f"PERFIELD_{key.upper()}": value for key, value in settings.items()}
        if script is not None:
            tools = tmp_path / "tools"
            tools.mkdir(exist_ok=True)
            scontrol = tools / "scontrol"
            scontrol.write_text(f"#!/bin/sh\n{script}\n")
            scontrol.chmod(0o755)
            env |= {"SLURM_JOB_ID": "7", "PATH": f"{tools}{os.pathsep}{plain_environment['PATH']}"}
        result = execute(*words, env=env, cwd=here)
        assert result.returncode == 0, result.stderr
        (machine,) = here.glob("perfield-run/machine")
        assert not list(machine.glob(".*")), "a draft was left"
        network = machine / "network.txt"
        printed = [line for line in result.stderr.splitlines() if line.startswith("perfield: ")]
        return printed, network.read_bytes() if network.exists() else None

    return run


def test_answer_of_slurm_is_kept_as_it_is(start):
    assert start(f"""[ "$*" = "show topology" ] && printf '{SWITCHES}'""") == ([], SWITCHES.encode())


def test_answer_is_kept_where_a_launcher_ignores_the_end_of_children(start):
    ignoring = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
    words = [sys.executable, "-c", f"{ignoring}os.execvp('perfield-exec', ['perfield-exec', 'true'])"]
    assert start(f"printf '{SWITCHES}'", words) == ([], SWITCHES.encode())


def test_outside_a_job_slurm_is_not_asked(start, execute, plain_environment, here):
    start(f"printf '{SWITCHES}'")
    environment = {"PATH": f"{here.parent / 'tools'}{os.pathsep}{plain_environment['PATH']}"}
    execute("perfield-exec", "true", env=environment, cwd=here)
    assert (here / "perfield-run/machine/network.txt").exists()
    assert not (here / "perfield-run-2/machine/network.txt").exists()


def test_only_the_process_that_claims_the_run_asks_slurm(start, execute, plain_environment, here):
    start("echo asked >>asked.txt; echo SwitchName=sw1 Nodes=n1")
    environment = {
        "PATH": f"{here.parent / 'tools'}{os.pathsep}{plain_environment['PATH']}",
        "SLURM_JOB_ID": "7",
        "PERFIELD_RUN": str(here / "perfield-run"),
    }
    execute("perfield-exec", "true", env=environment, cwd=here)
    assert (here / "asked.txt").read_text() == "asked\n"


def test_cluster_without_switches_leaves_no_file_and_says_nothing(start):
    assert start("echo 'scontrol: error: No topology information available' >&2") == ([], None)


def runs(process: str) -> bool:
    """Whether a process runs; one that was killed may wait for its parent as a zombie."""
    try:
        return (Path("/proc") / process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_slurm_that_does_not_answer_is_stopped_and_reported(start, here):
    reported, network = start("echo SwitchName=sw1 Nodes=n1; sleep 100 & echo $! >pid.txt; wait")
    assert network is None
    (line,) = reported
    assert "`scontrol show topology`, which lists the switches between nodes, gave no answer" in line
    assert "within 2 s and was stopped; name a file with the switches in topology_file" in line
    deadline = time.monotonic() + 60
    while runs((here / "pid.txt").read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not runs((here / "pid.txt").read_text().strip()), "what scontrol started was not stopped"


def test_failing_scontrol_is_reported_with_a_remedy(start):
    (line,), network = start("echo SwitchName=sw1 Nodes=n1; exit 3")
    assert network is None
    assert "failed (exit status 3); name a file with the switches in topology_file, or set " in line


def test_failing_scontrol_is_not_reported_if_ranks_know_their_addresses(
    start, monkeypatch, plain_environment
):
    monkeypatch.setitem(plain_environment, "SLURM_TOPOLOGY_ADDR_PATTERN", "switch.node")
    assert start("exit 1") == ([], None)


def test_too_long_answer_is_not_kept(start):
    (line,), network = start(f"echo SwitchName=sw1; head -c {MOST_BYTES} /dev/zero; exit 0")
    assert network is None
    assert f"more than {MOST_BYTES} bytes" in line


def test_topology_file_is_copied_instead_of_asking(start, here):
    (here / "topology.conf").write_bytes(b"SwitchName=\xff Nodes=n1\n")
    assert start("touch asked.txt", topology_file="topology.conf") == ([], b"SwitchName=\xff Nodes=n1\n")
    assert not (here / "asked.txt").exists()


def test_largest_topology_file_is_copied_whole_and_a_larger_one_refused(start, here):
    text = b"SwitchName=s1 Nodes=n1\n".ljust(MOST_BYTES, b"#")
    (here / "topology.conf").write_bytes(text)
    assert start(topology_file="topology.conf") == ([], text)
    with (here / "topology.conf").open("ab") as file:
        file.write(b"\n")
    result = start_again(start, here, topology_file="topology.conf")
    assert result[1] is None
    assert f"which has {MOST_BYTES + 1} bytes, more than the {MOST_BYTES} expected" in result[0][0]


KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nU3dpdGNoTmFtZT0=\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize("text", ["", KEY, "Host=SwitchName=s1\n", "<topology><Report/></topology"[:9]])
def test_file_that_describes_no_switches_is_not_published(start, here, text):
    (here / "secret").write_text(text)
    (line,), network = start(topology_file="secret")
    assert network is None
    assert line.startswith("perfield: topology_file is secret, which describes no switches, so pictures will")


@pytest.mark.parametrize("kind", sorted(path.name for path in NETWORKS.iterdir() if path.is_file()))
def test_each_kind_of_description_is_published(start, kind):
    reported, network = start(topology_file=str(NETWORKS / kind))
    assert (reported, network) == ([], (NETWORKS / kind).read_bytes())


@pytest.mark.parametrize(("mode", "of_folder", "copied"), [(0o600, 0o755, 0o600), (0o644, 0o700, 0o600)])
def test_copy_is_no_more_readable_than_its_source(start, here, tmp_path, mode, of_folder, copied):
    tmp_path.chmod(0o755)
    folder = tmp_path / "mine"
    folder.mkdir(mode=of_folder)
    (folder / "switches").write_text(SWITCHES)
    (folder / "switches").chmod(mode)
    start(topology_file=str(folder / "switches"))
    published = here / "perfield-run/machine/network.txt"
    assert published.stat().st_mode & 0o777 == copied


def start_again(start, here, **settings):
    """A second run under the first one's name."""
    for path in sorted(here.glob("perfield-run/**/*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (here / "perfield-run").rmdir()
    return start(**settings)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, "which cannot be read or copied (No such file or directory)"),
        (lambda path: path.mkdir(), "which is not a file"),
        (os.mkfifo, "which is not a file"),
    ],
    ids=["missing", "folder", "pipe"],
)
def test_topology_file_that_cannot_be_read_is_reported_and_slurm_not_asked(start, here, make, reason):
    make(here / "switches.conf")
    (line,), network = start(f"printf '{SWITCHES}'", topology_file="switches.conf")
    assert network is None
    assert line.startswith(f"perfield: topology_file is switches.conf, {reason}, so pictures will not ")


def test_network_topology_false_keeps_no_description(start, here):
    (here / "topology.conf").write_text(SWITCHES)
    said = start("touch asked.txt", topology_file="topology.conf", network_topology="false")
    assert said == ([], None)
    assert not (here / "asked.txt").exists()


STEP = c_program("perfield_initialize(); perfield_step(1, 1); perfield_finalize();")


def test_linked_program_copies_the_file_but_starts_no_scontrol(
    execute, plain_environment, build_c, perfield_flags, here, tmp_path
):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "scontrol").write_text("#!/bin/sh\ntouch asked.txt\n")
    (tools / "scontrol").chmod(0o755)
    program = build_c(STEP, *perfield_flags("--libs"), mpi=False)
    environment = {"PATH": f"{tools}{os.pathsep}{plain_environment['PATH']}", "SLURM_JOB_ID": "7"}
    execute(program, env=environment, cwd=here)
    assert not (here / "asked.txt").exists()
    assert not (here / "perfield-run/machine/network.txt").exists()
    (here / "topology.conf").write_text(SWITCHES)
    execute(program, env={"PERFIELD_TOPOLOGY_FILE": "topology.conf"}, cwd=here)
    assert (here / "perfield-run-2/machine/network.txt").read_text() == SWITCHES


def test_ranks_record_the_address_that_slurm_gives_them(execute, build_c, perfield_flags, here):
    program = build_c(STEP, *perfield_flags("--libs"), mpi=False)
    address = {
        "SLURM_TOPOLOGY_ADDR": "spine.sw1.n2",
        "SLURM_TOPOLOGY_ADDR_PATTERN": "switch.switch.node",
    }
    execute(program, env=address, cwd=here)
    execute(program, cwd=here)
    (reported,) = perfield.open(here / "perfield-run").rank_entries
    assert (reported["topology_addr"], reported["topology_pattern"]) == ("spine.sw1.n2", "switch.switch.node")
    (without,) = perfield.open(here / "perfield-run-2").rank_entries
    assert not {"topology_addr", "topology_pattern"} & without.keys()
