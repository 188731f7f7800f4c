# SPDX-License-Identifier: BSD-3-Clause
"""Fabrics that ibnetdiscover, opareport and slurmibtopology.sh describe have levels and hosts of the run."""

from __future__ import annotations

import pytest

from perfield.topology import Network, NetworkError, read_network, used_switches

IN_FULL = """\
#
# Topology file: generated on Mon Mar  3 10:00:00 2025
#
# Initiated from node 00aa000000000001 port 00aa000000000011

vendid=0x2c9
devid=0xbd36
switchguid=0xbb00000000000001(bb00000000000001)
Switch\t36 "S-bb00000000000001"\t\t# "MF0;leaf1:MSB7800/U1" enhanced port 0 lid 2 lmc 0
[1]\t"H-00aa000000000001"[1](aa000000000011) \t\t# "n1 HCA-1" lid 4 4xEDR
[2][ext 2]\t"H-00aa000000000002"[1](aa000000000012) \t\t# "n2 mlx5_0" lid 5 4xEDR
[35]\t"H-00aa00000000000f"[1](aa00000000001f) \t\t# "Mellanox Technologies Aggregation Node" lid 40 4xEDR
[36]\t"S-bb0000000000000a"[1]\t\t# "Infiniscale-IV Mellanox Technologies" lid 9 4xEDR

Switch\t36 "S-bb00000000000002"\t\t# "MF0;leaf2:MSB7800/U1" enhanced port 0 lid 3 lmc 0
[1]\t"H-00aa000000000003"[1](aa000000000013) \t\t# "n3 mlx5_0" lid 6 4xEDR
[2]\t"H-00aa000000000004"[1](aa000000000014) \t\t# "n2 mlx5_1" lid 7 4xEDR
[36]\t"S-bb0000000000000a"[2]\t\t# "Infiniscale-IV Mellanox Technologies" lid 9 4xEDR

Switch\t36 "S-bb0000000000000a"\t\t# "Infiniscale-IV Mellanox Technologies" base port 0 lid 9 lmc 0
[1]\t"S-bb00000000000001"[36]\t\t# "MF0;leaf1:MSB7800/U1" lid 2 4xEDR
[2]\t"S-bb00000000000002"[36]\t\t# "MF0;leaf2:MSB7800/U1" lid 3 4xEDR
[3]\t"S-bb0000000000000b"[2]\t\t# "Infiniscale-IV Mellanox Technologies" lid 10 4xEDR

Switch\t36 "S-bb0000000000000b"\t\t# "Infiniscale-IV Mellanox Technologies" base port 0 lid 10 lmc 0
[1]\t"S-bb00000000000003"[36]\t\t# "MF0;leaf3:MSB7800/L01/U1" lid 8 4xEDR
[2]\t"S-bb0000000000000a"[3]\t\t# "Infiniscale-IV Mellanox Technologies" lid 9 4xEDR

Ca\t1 "H-00aa000000000005"\t\t# "n5 HCA-1"
[1](aa000000000015) \t"S-bb00000000000003"[1]\t\t# lid 12 lmc 0 "MF0;leaf3:MSB7800/L01/U1" lid 8 4xEDR
"""

PORTS = """\
SW     2  1 0xbb00000000000001 4x EDR - CA     4  1 0x00aa000000000011 ( 'MF0;leaf1:MSB7800/U1' - 'n1 HCA-1' )
SW     2  3 0xbb00000000000001 4x ???                                    'MF0;leaf1:MSB7800/U1'
CA     4  1 0x00aa000000000011 4x EDR - SW     2  1 0xbb00000000000001 ( 'n1 HCA-1' - 'MF0;leaf1:MSB7800/U1' )
SW     3 36 0xbb00000000000002 4x EDR - SW     2 36 0xbb00000000000001 ( 'leaf2' - 'MF0;leaf1:MSB7800/U1' )
SW     3  1 0xbb00000000000002 4x EDR - CA     6  1 0x00aa000000000013 ( 'leaf2' - 'n3 mlx5_0' )
"""

LINKS = """\
Link Summary

3 Links in Fabric:
Rate NodeGUID          Port Type Name
100g 0x00117501010a0001   1 FI   n1 hfi1_0
<->  0x00117501020b0001   1 SW   edge1
100g 0x00117501010a0003   1 FI   n3 hfi1_0
<->  0x00117501020b0002   1 SW   edge2
100g 0x00117501020b0001  40 SW   edge1
    PortDetails: to the other rack
<->  0x00117501020b0002  40 SW   edge2
------------------------------------------------------------------------------
"""


def port(guid: str, kind: str, description: str) -> str:
    """One end of a link in opareport's XML."""
    return (
        f'<Port id="{guid}:1">\n<NodeGUID>{guid}</NodeGUID>\n<PortNum>1</PortNum>\n'
        f"<NodeType>{kind}</NodeType>\n<NodeDesc>{description}</NodeDesc>\n</Port>\n"
    )


def link(*ends: str) -> str:
    """A link in opareport's XML."""
    return f"<Link>\n<Rate>100g</Rate>\n{''.join(ends)}</Link>\n"


N1, N3 = port("0x1", "FI", "n1 hfi1_0"), port("0x3", "FI", "n3 hfi1_0")
EDGE1, EDGE2 = port("0xe1", "SW", "edge1"), port("0xe2", "SW", "edge2")
XML = (
    '<?xml version="1.0" encoding="utf-8" ?>\n<Report date="Mon Mar  3 10:00:00 2025">\n<LinkSummary>\n'
    f"{link(N1, EDGE1)}{link(EDGE1, EDGE2)}{link(N3, EDGE2)}</LinkSummary>\n</Report>\n"
)

SLURMIBTOPOLOGY = """\
Verify the Infiniband interface:
mlx5_0
Infiniband interface OK

Generate the Slurm topology.conf file for Infiniband switches.

Beware: The Switches= lines need to be reviewed and edited for correctness.
Read also https://slurm.schedmd.com/topology.html

#
# IB switch no. 1: ibsw1 GUID: 0xbb01 Description: MF0;leaf1:MSB7800/U1
#
# Switch neighbor  0xbb02 with 4 links
# Switch neighbor  0xbb03 with 2 links
# Total number of links in this switch =  8
SwitchName=ibsw1 Nodes=n[1-2]
#
# IB switch no. 2: ibsw2 GUID: 0xbb02 Description: MF0;leaf2:MSB7800/U1
#
SwitchName=ibsw2 Nodes=n3
#
# IB switch no. 3: ibsw3 GUID: 0xbb03 Description: mid
#
# NOTICE: This switch ibsw3 has no attached nodes (empty hostlist)
SwitchName=ibsw3 Switches=ibsw1,ibsw4
# NOTICE: This switch ibsw4 has no attached nodes (empty hostlist)
SwitchName=ibsw4 Switches=ibsw3
"""


def read(tmp_path, text: str) -> Network:
    """Reads a network from a file of this content."""
    (tmp_path / "fabric").write_text(text)
    return read_network(tmp_path / "fabric", "fabric")


def leaves(network: Network) -> dict[str, str]:
    """The name of each host's switch."""
    return {host: network.names[leaf] for host, leaf in network.leaf_of.items()}


def test_fabric_in_full_has_hosts_by_their_adapters(tmp_path):
    network = read(tmp_path, IN_FULL)
    assert leaves(network) == {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n5": "leaf3 L01/U1"}
    assert len([name for name in network.names if name.startswith("Infiniscale-IV Mellanox Techn")]) == 2
    assert len(set(network.names)) == len(network.names) == 5
    assert network.notes == (
        "fabric puts n2 on several switches each; they stand under the switch of their first adapter.",
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


@pytest.mark.parametrize("text", [PORTS, LINKS, XML], ids=["ibnetdiscover -p", "opareport", "opareport -x"])
def test_two_linked_switches_are_found_in_every_form(tmp_path, text):
    network = read(tmp_path, text)
    used = used_switches(network, ["n1", "n3"])
    assert used.of_node.tolist() == [0, 1]
    assert used.links.tolist() in ([[0, 1]], [[1, 0]])
    assert used.level.tolist() == [0, 0]
    assert not network.notes


def test_output_of_slurmibtopology_is_read_with_its_banner_and_comments(tmp_path):
    network = read(tmp_path, SLURMIBTOPOLOGY)
    assert leaves(network) == {"n1": "ibsw1", "n2": "ibsw1", "n3": "ibsw2"}
    linked = {frozenset((network.names[a], network.names[b])) for a, b in network.links}
    assert linked == {
        frozenset(("ibsw1", "ibsw2")),
        frozenset(("ibsw1", "ibsw3")),
        frozenset(("ibsw3", "ibsw4")),
    }
    assert not network.notes


def test_xml_that_breaks_keeps_the_links_before_the_fault(tmp_path):
    whole = XML.index(link(N3, EDGE2))
    network = read(tmp_path, XML[: whole + 40])
    assert leaves(network) == {"n1": "edge1"}
    assert len(network.links) == 1
    (note,) = network.notes
    assert note.startswith(
        f"fabric, line {XML[: whole + 40].count(chr(10)) + 1}: the XML ends or breaks here"
    )
    assert note.endswith("later links are not shown. Write the report again.")


def test_fabric_that_ends_early_keeps_what_was_told(tmp_path):
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
