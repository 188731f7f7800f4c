# SPDX-License-Identifier: BSD-3-Clause
"""A run's network is found in its file, then in its ranks' addresses, then in the names of its nodes."""

from __future__ import annotations

import pytest
from known_runs import fake_run

from perfield.topology import Network, network_of, placement_of
from perfield.topology.network.backtracking import most_tries


def entry(host: str, address: str = "", pattern: str = "switch.switch.node") -> dict:
    """The entry of a rank as Slurm's tasks write it."""
    reported = {"topology_addr": address, "topology_pattern": pattern} if address else {}
    return {"host": host, "boot_id": host, "cpuset": "0", **reported}


def run_with(tmp_path, entries: list, file: str = "") -> fake_run.FakeRun:
    """A run of these ranks, with this description of its network."""
    run = fake_run.FakeRun(tmp_path, ranks=len(entries), steps=1)
    run.rank_entries = entries
    if file:
        (tmp_path / "machine").mkdir()
        (tmp_path / "machine" / "network.txt").write_text(file)
    return run


def found(network: Network | None) -> dict[str, str]:
    """The name of each host's switch."""
    return {host: network.names[leaf] for host, leaf in network.leaf_of.items()}


def test_addresses_of_slurm_are_a_network(tmp_path):
    ranks = [entry("n1", "spine.sw1.n1"), entry("n3", "spine.sw2.n3"), None, entry("n2", "spine.sw1.n2")]
    network = network_of(tmp_path, ranks, {})
    assert found(network) == {"n1": "sw1", "n2": "sw1", "n3": "sw2"}
    assert {(network.names[a], network.names[b]) for a, b in network.links} == {
        ("sw1", "spine"),
        ("sw2", "spine"),
    }
    assert network.source == "SLURM_TOPOLOGY_ADDR"
    assert not network.notes


def test_address_may_name_several_switches_of_a_level_or_none(tmp_path):
    pattern = "switch.switch.switch.node"
    network = network_of(tmp_path, [entry("n1", "t[1-2]..leaf1.n1", pattern)], {})
    assert found(network) == {"n1": "leaf1"}
    assert len(network.links) == 2
    assert {network.names[upper] for _, upper in network.links} == {"t1", "t2"}


@pytest.mark.parametrize(
    ("address", "pattern", "switches"),
    [
        ("b8.tux1", "block.node", ("b8",)),
        ("sw1.node-1.site", "switch.node", ("sw1",)),
        ("spine.sw1.tux1", "", ("sw1", "spine")),
    ],
)
def test_address_of_each_plugin_is_understood(tmp_path, address, pattern, switches):
    assert network_of(tmp_path, [entry("tux1", address, pattern)], {}).names == switches


def test_run_without_switches_has_no_network(tmp_path):
    assert network_of(tmp_path, [entry("n1", "n1", "node"), entry("n2")], {}) is None
    assert network_of(tmp_path, [None], {}) is None
    assert network_of(tmp_path, [entry("n1", "s1.n1", "switch.node")], {"network_topology": False}) is None


def test_wrong_address_is_reported_and_the_others_are_used(tmp_path):
    ranks = [entry("n1", "sw1.n1"), entry("n2", "spine.sw1.n2"), entry("n3", "a.b[.n3"), entry("n4", "x.n4")]
    network = network_of(tmp_path, ranks, {})
    assert found(network) == {"n2": "sw1"}
    (note,) = network.notes
    assert note.startswith("SLURM_TOPOLOGY_ADDR of 'n1' is 'sw1.n1', which does not fit its pattern")
    assert note.endswith("(2 more are like this.)")


def test_addresses_add_hosts_that_the_file_lacks(tmp_path):
    run = run_with(
        tmp_path,
        [entry("n1", "other.place.n1"), entry("node-2.site", "spine.sw2.n2")],
        "SwitchName=sw1 Nodes=n1\nSwitchName=sw2 Nodes=n2\nSwitchName=spine Switches=sw[1-2]\n",
    )
    network = network_of(run.path, run.rank_entries, {})
    assert network.names == ("sw1", "sw2", "spine")
    assert found(network) == {"n1": "sw1", "n2": "sw2", "node-2.site": "sw2"}
    assert network.source == "machine/network.txt and SLURM_TOPOLOGY_ADDR"
    placed = placement_of(run)
    assert placed.switches.name == ("sw1", "sw2", "spine")
    assert not [note for note in placed.notes if "switch" in note]


def test_unusable_file_is_a_note_and_addresses_are_used(tmp_path):
    run = run_with(tmp_path, [entry("n1", "sw1.n1", "switch.node")], "no network at all\n")
    placed = placement_of(run)
    assert placed.switches.name == ("sw1",)
    assert any(
        note.startswith("the switches of the network are not shown: machine/network.txt begins with")
        for note in placed.notes
    )


def test_short_and_whole_host_names_find_each_other(tmp_path):
    run = run_with(
        tmp_path,
        [entry("n1"), entry("n2.site.org"), entry("n3")],
        "SwitchName=sw1 Nodes=n1.site.org,n2\nSwitchName=sw2 Nodes=n3.a\nSwitchName=sw3 Nodes=n3.b\n",
    )
    placed = placement_of(run)
    assert placed.switches.of_node.tolist() == [0, 0, -1]
    assert any(
        "no switch of n3 is known from machine/network.txt (1 of 3 nodes)" in note for note in placed.notes
    )


def test_whole_name_of_a_host_distinguishes_equal_short_names(tmp_path):
    two = "SwitchName=sw2 Nodes=n3.a\nSwitchName=sw3 Nodes=n3.b\n"
    run = run_with(tmp_path, [{**entry("n3"), "host_long": "n3.b"}], two)
    assert placement_of(run).switches.name == ("sw3",)


def test_nodes_with_one_host_name_are_on_one_switch(tmp_path):
    run = run_with(tmp_path, [entry("n1"), {**entry("n1"), "boot_id": "other"}], "SwitchName=sw1 Nodes=n1\n")
    placed = placement_of(run)
    assert len(placed.nodes) == 2
    assert placed.switches.of_node.tolist() == [0, 0]


def test_names_of_cray_nodes_say_cabinet_chassis_and_slot(tmp_path):
    ranks = [entry(f"x1000c{chassis}s{slot}b0n0") for chassis in (0, 1) for slot in (3, 4)]
    network = network_of(tmp_path, ranks, {})
    assert found(network)["x1000c1s3b0n0"] == "x1000c1s3"
    links = {(network.names[lower], network.names[upper]) for lower, upper in network.links}
    assert {("x1000c0s3", "x1000c0"), ("x1000c1", "x1000")} <= links
    assert any("racks and the like, as names of nodes imply them" in note for note in network.notes)


def test_pattern_of_the_configuration_reads_other_names(tmp_path):
    settings = {"node_name_pattern": r"r(?P<rack>\d+)i(?P<chassis>\d+)"}
    network = network_of(tmp_path, [entry("r1i0n4.site"), entry("r1i2n0"), entry("login")], settings)
    assert found(network) == {"r1i0n4.site": "r1i0", "r1i2n0": "r1i2"}
    assert network.names == ("r1", "r1i0", "r1i2")


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("(", "node_name_pattern is '(', which is not a regular expression (missing )"),
        ("x{99999999999}", "which is not a regular expression"),
        (
            r"r\d+",
            r"node_name_pattern is 'r\d+', which has no named group; write a form such as 'x(?P<cabinet",
        ),
    ],
)
def test_unusable_pattern_is_reported(tmp_path, pattern, complaint):
    network = network_of(tmp_path, [entry("n1")], {"node_name_pattern": pattern})
    assert complaint in network.notes[0]


def test_address_that_links_millions_of_switches_is_reported(tmp_path):
    ranks = [entry("n1", "a[0-3999].b[0-3999].n1"), entry("n2", "top.leaf.n2")]
    network = network_of(tmp_path, ranks, {})
    assert network.names == ("leaf", "top") and network.leaf("n1") == -1
    assert "'a[0-3999].b[0-3999].n1', which links 16,000,000 pairs of switches" in network.notes[0]


def test_addresses_of_all_hosts_share_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("perfield.topology.network.wiring.MOST_HOSTS", 100)
    ranks = [entry(f"n{n}", f"a{n}-[0-9].b{n}-[0-9].n{n}") for n in range(10)]
    network = network_of(tmp_path, ranks, {})
    assert len(network.links) == 100
    assert network.notes[0].endswith("(8 more are like this.)")


NEVER_ENDING = [r"(?P<rack>(a+)+)b", r"(?P<rack>(?:a|aa)+)$", r"(?P<rack>(a|b|ab)*c)", r"(?P<r>(?=a)a)",
                r"(?P<a>a*)a*a*a*a*a*a*a*a*b", r"(?P<r>(a*){9}b)"]  # fmt: skip
FAST = [r"x(?P<rack>\d+)c(?P<slot>\d+)", r"(?P<rack>[a-z]+\d+)-(?P<n>\d+)", r"(?i)(?P<rack>R\d+)?n\d+$",
        r"(?P<row>[^-]*)-(?P<rack>\w{2,4})-.*$", r"(?P<rack>(?:node|cn)\d+)"]  # fmt: skip


@pytest.mark.parametrize("pattern", NEVER_ENDING)
def test_pattern_that_may_never_end_is_reported(tmp_path, pattern):
    ranks = [entry("a" * 60 + str(n)) for n in range(3)]
    (note,) = network_of(tmp_path, ranks, {"node_name_pattern": pattern}).notes
    assert "may take 20,000,000 tries or more on the names of 3 hosts" in note


@pytest.mark.parametrize("pattern", FAST)
def test_common_patterns_are_taken_for_a_large_machine(pattern):
    names = [f"rack{n // 48:03}-cn{n % 48:02}-site" for n in range(20_000)]
    assert most_tries(pattern, names) < 20_000_000
