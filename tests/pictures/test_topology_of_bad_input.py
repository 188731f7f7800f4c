# SPDX-License-Identifier: BSD-3-Clause
"""Unusable descriptions of machines and networks become sentences, and the picture shows what is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from known_runs import fake_run

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from perfield.pictures import topology, topology_scene

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"
WHOLE = (MACHINES / "two-packages-4-cores.xml").read_text()
OTHER = (MACHINES / "one-package-2-l3-6-cores.xml").read_text()
SWITCHES = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\nSwitchName=top Switches=s[1-2]\n"


def pictured(tmp_path: Path, machines: dict[str, str], network: str | bytes, hosts: list[str]):
    """The scene of a run with one rank per host. Its picture is made, too, and shows all ranks."""
    folder = tmp_path / "machine"
    folder.mkdir()
    for host, text in machines.items():
        (folder / f"{host}.xml").write_text(text)
    (folder / "network.txt").write_bytes(network.encode() if isinstance(network, str) else network)
    run = fake_run.FakeRun(tmp_path, ranks=len(hosts), steps=1)
    run.rank_entries = [
        {"host": host, "boot_id": str(rank), "cpuset": "1"} for rank, host in enumerate(hosts)
    ]
    scene = topology_scene(run)
    picture = topology(run, run.frame(0), scene)
    assert picture.ranks.GetNumberOfCells() == len(hosts)
    return scene


ALL = ("s1", "s2", "top")
HUGE = SWITCHES.replace("[1-2]\n", "[1-2]\nSwitchName=s9 Nodes=x[1-100000000]\n", 1)


@pytest.mark.parametrize(
    ("network", "sentence", "switches"),
    [
        ("", "not shown: machine/network.txt is empty, expected Slurm's", ()),
        (b"\xff\xfe\x00\x01", "not shown: machine/network.txt begins with '\\xff", ()),
        ("<html>\n", "not shown: machine/network.txt begins with '<html>', expected", ()),
        (SWITCHES[:40], "line 2: switch 's2' has neither nodes nor switches; add Nodes=", ("s1",)),
        (HUGE, "line 2: the host list 'x[1-100000000]' names 100,000,000 hosts, expected at most", ALL),
        (SWITCHES + "SwitchName=s1 Switches=top\n", "line 4: switch 'top' is below 's1'", ALL),
        (SWITCHES + "SwitchName=s5 Nodes=n1\n", "line 4: host 'n1' is on switch 's5', but", ALL),
        (SWITCHES.replace("3-4", "3-3"), "no switch of n4 is known from machine/", ALL),
        ("SwitchName=s1 Nodes=m[1-9]\n", "no switch of n1, n2, n3, ... is known from machine/", ()),
    ],
    ids=["empty", "binary", "foreign", "cut", "huge", "cycle", "claimed twice", "node missing", "no node"],
)
def test_wrong_network_is_reported_and_drawn_as_far_as_it_is_known(tmp_path, network, sentence, switches):
    hosts = ["n1", "n2", "n3", "n4"]
    scene = pictured(tmp_path, dict.fromkeys(hosts, WHOLE), network, hosts)
    assert any(sentence in note for note in scene.notes), scene.notes
    assert set(scene.placement.switches.name) == set(switches)


def test_machines_that_are_broken_foreign_missing_or_different_are_reported_and_drawn(tmp_path):
    machines = {"n1-0": WHOLE, "n2-1": WHOLE[:700], "n3-2": "<machine>\n</machine>", "n5-4": OTHER}
    scene = pictured(tmp_path, machines, SWITCHES, ["n1", "n2", "n3", "n4", "n5"])
    pus = [len(node.machine.pus) for node in scene.placement.nodes]
    assert pus == [8, 1, 1, 1, 12]
    for sentence in (
        "n2-1.xml is not XML (",
        "n3-2.xml begins with <machine>, expected <topology>",
        "no description of the machine of n2, n3, n4 (3 of 5 nodes)",
        "no switch of n5 is known from machine/network.txt (1 of 5 nodes)",
    ):
        assert any(sentence in note for note in scene.notes), (sentence, scene.notes)
    assert all(": line " in note for note in scene.notes if "is not XML" in note)


def test_hosts_of_one_name_are_apart_under_one_switch(tmp_path):
    scene = pictured(tmp_path, {}, SWITCHES, ["n1", "n1", "n3"])
    assert [node.label for node in scene.placement.nodes] == ["n1 (0)", "n1 (1)", "n3"]
    assert scene.placement.switches.of_node.tolist() == [0, 0, 1]
