# SPDX-License-Identifier: BSD-3-Clause
"""Names of nodes, switches and ranks, and parts of a placement."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.topology import (
    Network,
    Placement,
    SelectionError,
    flat_machine,
    layout,
    place,
    select,
    sharing,
    with_nodes,
)

NETWORK = Network(
    ("leaf0", "leaf1", "leaf2", "spine", "7"),
    ((0, 3), (1, 3), (2, 4), (3, 4)),
    {"n0": 0, "n1": 0, "n2.example.org": 1, "5": 2},
    "test",
)


@pytest.fixture
def placement() -> Placement:
    """Two ranks on each of n0, n1, n2.example.org and 5; rank 8 never came."""
    hosts = [host for host in ("n0", "n1", "n2.example.org", "5") for _ in range(2)]
    entries = [{"host": host, "boot_id": host, "cpuset": str(n % 2)} for n, host in enumerate(hosts)]
    machines = dict.fromkeys(hosts, flat_machine({0, 1}))
    return place([*entries, None], machines, NETWORK)


def ranks(placement, *names) -> list[int]:
    return np.flatnonzero(select(placement, names)).tolist()


def test_a_name_means_a_node_a_switch_or_ranks(placement):
    assert ranks(placement, "n1") == [2, 3]
    assert ranks(placement, "n2") == ranks(placement, "n2.example.org") == [4, 5]
    assert ranks(placement, "leaf0") == [0, 1, 2, 3]
    assert ranks(placement, "spine") == [0, 1, 2, 3, 4, 5], "all that is below it"
    assert ranks(placement, "3") == [3]
    assert ranks(placement, "2-4", "n0") == [0, 1, 2, 3, 4]
    assert ranks(placement) == []


def test_a_node_or_switch_called_like_a_rank_is_meant_first(placement):
    assert ranks(placement, "5") == [6, 7]
    assert ranks(placement, "7") == [0, 1, 2, 3, 4, 5, 6, 7]
    assert ranks(placement, "5-5") == [5]


@pytest.mark.parametrize(
    "name, said",
    [
        ("leaf9", "'leaf9' is no node, switch or rank of this run; did you mean leaf"),
        ("zzz", "names are 5, n0, n1, n2.example.org and "),
        ("4-2", "which has ranks 0 to 8; give 12 or 4-7"),
        ("9", "which has ranks 0 to 8"),
        ("0-9999999999", "is no node, switch or rank"),
        ("", "is no node, switch or rank"),
    ],
)
def test_other_names_are_refused_with_what_there_is(placement, name, said):
    with pytest.raises(SelectionError) as error:
        select(placement, [name])
    assert said in str(error.value)


def test_a_part_of_the_nodes_is_a_placement_of_its_own(placement):
    before = placement.node_id.copy()
    part = with_nodes(placement, [1, 3])
    assert [node.host for node in part.nodes] == ["n0", "n2.example.org"]
    assert part.node_id.tolist() == [0, 0, -1, -1, 1, 1, -1, -1, -1]
    assert part.n_ranks == 9
    assert part.switches.name == ("leaf0", "leaf1", "spine")
    assert part.switches.of_node.tolist() == [0, 1]
    assert part.switches.level.tolist() == [0, 0, 1]
    assert part.switches.hops(np.array([0]), np.array([1])) == [3.0]
    cells = layout(part, 5.0)
    assert cells.rank.tolist() == [0, 1, 4, 5]
    assert sharing(part).words == ""
    assert (placement.node_id == before).all(), "the input stays as it is"


def test_switches_keep_their_numbers_in_the_network(placement):
    part = with_nodes(placement, [3])
    assert part.switches.name == ("leaf1",)
    assert part.switches.id.tolist() == [1]


def test_without_known_switches_a_part_has_none(placement):
    alone = place([{"host": "a", "boot_id": "b", "cpuset": "0"}], {"a": flat_machine({0})})
    assert with_nodes(alone, [0]).switches.name == ()
