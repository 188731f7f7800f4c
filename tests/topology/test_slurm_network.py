# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's topology.conf, scontrol's output and SLURM_TOPOLOGY_ADDR give the switches above each host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfield.topology import Network, NetworkError, read_network, used_switches

NETWORKS = Path(__file__).resolve().parents[1] / "fixtures" / "networks"
TREE = (NETWORKS / "tree.conf").read_text()


def read(tmp_path, text: str | bytes) -> Network:
    """Reads a network from a file of this content."""
    (tmp_path / "t.conf").write_bytes(text.encode() if isinstance(text, str) else text)
    return read_network(tmp_path / "t.conf", "t.conf")


def named_links(network: Network) -> set[tuple[str, str]]:
    """The names of the switches of each link, the lower one first."""
    return {(network.names[lower], network.names[upper]) for lower, upper in network.links}


def named_leaves(network: Network) -> dict[str, str]:
    """The name of each host's switch."""
    return {host: network.names[leaf] for host, leaf in network.leaf_of.items()}


def test_tree_has_its_switches_links_and_hosts(tmp_path):
    network = read(tmp_path, TREE)
    assert network.names == ("s1", "s2", "row", "top")
    assert named_links(network) == {("s1", "row"), ("s2", "row"), ("row", "top")}
    assert named_leaves(network) == {
        **dict.fromkeys(("n1", "n2", "n3"), "s1"),
        **dict.fromkeys(("n4", "n5", "n07"), "s2"),
    }
    assert not network.notes
    assert used_switches(network, ["n1", "n4"]).level.tolist() == [0, 0, 1]


def test_output_of_scontrol_gives_the_same_network():
    described, asked = (read_network(NETWORKS / name) for name in ("tree.conf", "tree-of-scontrol.txt"))
    assert (asked.names, asked.links, asked.leaf_of, asked.notes) == (
        *(described.names, described.links, described.leaf_of),
        (),
    )


def test_blocks_are_switches_below_those_that_join_them():
    described, asked = (read_network(NETWORKS / name) for name in ("blocks.conf", "blocks-of-scontrol.txt"))
    assert named_links(described) == {("b1", "b1 to b2"), ("b2", "b1 to b2")}
    assert named_links(asked) == {("b1", "b[1-2]"), ("b2", "b[1-2]"), ("b[1-2]", "b[1-3]"), ("b3", "b[1-3]")}
    for network in (described, asked):
        assert {host: name for host, name in named_leaves(network).items() if host in ("n4", "n5", "n9")} == {
            "n4": "b1",
            "n5": "b2",
            "n9": "b3",
        }
        assert not network.notes


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("SwitchName=s9 Nodes=n[9-1]", r"t\.conf, line 7: the host list .* runs backwards; write 1-9\."),
        ("SwitchName=s9 Nodes=m[1-100000000]", r"line 7: .* names 100,000,000 hosts, expected at most"),
        ("SwitchName=s9 Nodes=n[90-91", r"line 7: .* a bracket without its counterpart"),
        (
            "SwitchName=s9 Nodes=n1",
            r"line 7: host 'n1' is on switch 's9', but t\.conf, line 2 puts it on 's1'",
        ),
        ("SwitchName=s9 Switches=gone", r"line 7: switch 'gone' of 's9' has no line of its own; add Swi"),
        ("SwitchName=s9 Switches=s9", r"line 7: switch 's9' is linked to itself"),
        ("SwitchName=s1 Switches=top", r"line 7: switch 'top' is below 's1', but also above it"),
        ("SwitchName=s2 Nodes=n8", r"line 7: switch 's2' is described once more; both lines count"),
        ("SwitchName= Nodes=n8", r"line 7: this line gives no name; write switchname=name\."),
        ("BlockSizes=4,x", r"line 7: BlockSizes is '4,x', expected multiples of its first number"),
        ("Include /etc/slurm/more.conf", r"line 7: '/etc/slurm/more\.conf' is included but not here"),
        ("what is this", r"line 7: 'what is this' is no switch or block; it is left out\."),
    ],
)
def test_bad_line_is_reported_with_a_remedy_and_the_rest_is_kept(tmp_path, line, note):
    network = read(tmp_path, TREE + line + "\n")
    assert [sentence for sentence in network.notes if re.search(note, sentence)], network.notes
    assert {("s1", "row"), ("s2", "row"), ("row", "top")} <= named_links(network)
    assert {"n1": "s1", "n4": "s2"}.items() <= named_leaves(network).items()


def test_good_part_of_a_host_list_is_kept(tmp_path):
    network = read(tmp_path, "SwitchName=s1 Nodes=n[1-2],x[9-1],n4,n[5-\n")
    assert list(network.leaf_of) == ["n1", "n2", "n4"]
    (note,) = network.notes
    assert note.startswith("t.conf, line 1: the host list 'x[9-1]' has the range 9-1, which runs backwards")
    assert note.endswith("(1 more place is like this.)")


def test_cycle_of_switches_keeps_its_links_and_has_levels(tmp_path):
    line = "SwitchName={} Nodes={} Switches={}\n"
    circle = line.format("a", "n1", "c") + line.format("b", "n2", "a") + line.format("c", "n3", "b")
    network = read(tmp_path, circle)
    assert named_links(network) == {("c", "a"), ("a", "b"), ("c", "b")}
    assert used_switches(network, ["n1", "n2", "n3"]).level.tolist() == [1, 2, 0]
    (note,) = network.notes
    assert note.startswith("t.conf, line 3: switch 'b' is below 'c', but also above it")


def test_equal_faults_are_reported_once_and_counted(tmp_path):
    network = read(tmp_path, TREE + "".join(f"SwitchName=x{i} Nodes=n[{i}-\n" for i in range(30)))
    (note,) = network.notes
    assert note.endswith("(29 more places are like this.)")


@pytest.mark.parametrize("line", ["x\n", "x \\\n", "[", "n[2-1],", "n[1-2]", "SwitchName=", "# ", '"'])
def test_long_garbage_does_not_hide_what_is_good(tmp_path, line):
    network = read(tmp_path, "SwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=" + line * 20_000)
    assert named_leaves(network)["n1"] == "s1"


def test_bytes_that_are_not_utf8_are_reported_and_shown(tmp_path):
    network = read(tmp_path, b"SwitchName=s1 Nodes=n1\nSwitchName=s\xff Nodes=n2\n")
    assert named_leaves(network) == {"n1": "s1", "n2": "s\\xff"}
    assert network.notes == (
        "t.conf, line 2: byte 0xff is not UTF-8; it is shown as \\xff. Save the file as UTF-8.",
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("", "t.conf is empty, expected"), ("<html>", "t.conf begins with '<html>', expected")],
)
def test_file_without_a_network_is_refused(tmp_path, text, complaint):
    with pytest.raises(NetworkError, match=complaint):
        read(tmp_path, text)


def test_network_without_hosts_says_so(tmp_path):
    reported, lonely = read(tmp_path, "SwitchName=s1\n").notes
    assert reported.startswith("t.conf puts no host on a switch")
    assert lonely.startswith("t.conf, line 1: switch 's1' has neither nodes nor switches")


def test_file_that_ends_in_a_line_keeps_all_before_it(tmp_path):
    for end in range(TREE.index("\n", 60) + 1, len(TREE)):
        network = read(tmp_path, TREE[:end])
        assert named_leaves(network).get("n1") == "s1", TREE[:end]
