# SPDX-License-Identifier: BSD-3-Clause
"""Fabrics that ibnetdiscover, opareport and slurmibtopology.sh describe have levels and hosts of the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfield.topology import Network, NetworkError, read_network, used_switches

NETWORKS = Path(__file__).resolve().parents[1] / "fixtures" / "networks"
IN_FULL = (NETWORKS / "ibnetdiscover.txt").read_text()
PORTS = (NETWORKS / "ibnetdiscover-ports.txt").read_text()
LINKS = (NETWORKS / "opareport-links.txt").read_text()
XML = (NETWORKS / "opareport-links.xml").read_text()
LAST_LINK = XML.rindex("<Link>")


def read(tmp_path, text: str) -> Network:
    """Reads a network from a file of this content."""
    (tmp_path / "fabric").write_text(text)
    return read_network(tmp_path / "fabric", "fabric")


def leaves(network: Network) -> dict[str, str]:
    """The name of each host's switch."""
    return {host: network.names[leaf] for host, leaf in network.leaf_of.items()}


def test_fabric_in_full_has_hosts_by_their_adapters(tmp_path):
    network = read(tmp_path, IN_FULL)
    assert leaves(network) == {"n1": "leaf1", "n2": "leaf2", "n3": "leaf2", "n5": "leaf3 L01/U1"}
    assert len([name for name in network.names if name.startswith("Infiniscale-IV Mellanox Techn")]) == 2
    assert len(set(network.names)) == len(network.names) == 5
    assert network.notes == (
        "fabric puts n2 on several switches each; they are under the switch of their first adapter.",
    )


def test_levels_of_a_fabric_are_distances_from_the_nodes_of_the_run(tmp_path):
    used = used_switches(read(tmp_path, IN_FULL), ["n1", "n3", "n5"])
    level = dict(zip(used.name, used.level.tolist()))
    assert {name: found for name, found in level.items() if name.startswith("leaf")} == {
        "leaf1": 0,
        "leaf2": 0,
        "leaf3 L01/U1": 0,
    }
    assert sum(found == 1 for found in level.values()) == 2
    assert (used.level[used.links[:, 0]] <= used.level[used.links[:, 1]]).all()


@pytest.mark.parametrize(
    "text",
    [PORTS, LINKS, XML, (NETWORKS / "opareport-snapshot.xml").read_text()],
    ids=["ibnetdiscover -p", "opareport", "opareport -x", "opareport -o snapshot"],
)
def test_two_linked_switches_are_found_in_every_form(tmp_path, text):
    network = read(tmp_path, text)
    used = used_switches(network, ["n1", "n3"])
    assert used.of_node.tolist() == [0, 1]
    assert used.links.tolist() in ([[0, 1]], [[1, 0]])
    assert used.level.tolist() == [0, 0]
    assert not network.notes


def test_output_of_slurmibtopology_is_read_with_its_banner_and_comments():
    network = read_network(NETWORKS / "slurmibtopology.conf")
    assert leaves(network) == {"n1": "ibsw1", "n2": "ibsw1", "n3": "ibsw2"}
    linked = {frozenset((network.names[a], network.names[b])) for a, b in network.links}
    assert linked == {
        frozenset(("ibsw1", "ibsw2")),
        frozenset(("ibsw1", "ibsw3")),
        frozenset(("ibsw3", "ibsw4")),
    }
    assert not network.notes


def test_xml_that_breaks_keeps_the_links_before_the_fault(tmp_path):
    broken = XML[: LAST_LINK + 40]
    network = read(tmp_path, broken)
    assert leaves(network) == {"n1": "edge1"}
    assert len(network.links) == 1
    (note,) = network.notes
    assert note.startswith(f"fabric, line {broken.count(chr(10)) + 1}: the XML ends or breaks here")
    assert note.endswith("later links are not shown. Write the report again.")


def test_fabric_that_ends_early_keeps_what_was_reported(tmp_path):
    for text in (IN_FULL, LINKS, PORTS):
        for end in range(text.index("n1"), len(text), 7):
            try:
                network = read(tmp_path, text[: end + 40])
            except NetworkError:
                continue  # no line of a kind that is known is whole
            assert set(leaves(network)) <= {"n1", "n2", "n3", "n5"}


def test_xml_of_another_kind_is_refused(tmp_path):
    with pytest.raises(NetworkError, match=r"fabric begins with .<topology version=.2\.0.>., expected"):
        read(tmp_path, '<topology version="2.0">\n</topology>')
