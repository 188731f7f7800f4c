# SPDX-License-Identifier: BSD-3-Clause
"""Whatever describes a network, readers raise NetworkError alone, and a run keeps its picture."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from perfield.topology import NetworkError, expand_hosts, network_of, read_network, used_switches

pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NETWORKS = sorted((Path(__file__).resolve().parents[1] / "fixtures" / "networks").iterdir())
HOSTS = ["n1", "n2", "n3", "n07", "n5.site"]

WORDS = """SwitchName= BlockName= AggregatedBlock= BlockSizes= Nodes= Switches= s1 s2 s[1-2] n1 n[1-3] n[3-1]
    n[1-9999999] [ ] , 0 4,8 \\ # " Include <-> 0x1 0x2 1 FI SW 100g <Report> <Link> </Link>
    <NodeGUID>0x1</NodeGUID> Switch Ca "S-01" "H-02" [1] # SW CA - ' \x00 \xe9"""
texts = st.lists(st.sampled_from([*WORDS.split(), "\n"]), max_size=40).map(" ".join)
quick = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read_and_use(path: Path) -> None:
    """Reads a description and asks all hops between some hosts."""
    try:
        network = read_network(path)
    except NetworkError as error:
        assert str(error).endswith("."), error
        return
    used = used_switches(network, HOSTS)
    nodes = np.arange(len(HOSTS))
    hops = used.hops(nodes[:, None], nodes[None, :])
    assert (np.isnan(hops) | (hops >= 0)).all()
    assert len(used.level) == len(used.name) == len(used.id)
    assert all(sentence.endswith((".", ".)")) for sentence in used.notes), used.notes


@quick
@given(st.one_of(st.text(), texts))
def test_any_text_is_a_host_list_or_a_network_error(text):
    with suppress(NetworkError):
        assert all(isinstance(host, str) for host in expand_hosts(text))


@quick
@given(st.one_of(st.binary(max_size=300), texts.map(str.encode)))
def test_any_file_is_a_network_or_a_network_error(tmp_path, data):
    path = tmp_path / "any"
    path.write_bytes(data)
    read_and_use(path)


@quick
@given(st.sampled_from(NETWORKS), st.data())
def test_changed_description_is_a_network_or_a_network_error(tmp_path, whole, data):
    lines = whole.read_text().split("\n")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at] = data.draw(
            st.one_of(texts, st.sampled_from(lines), st.just(lines[at][: len(lines[at]) // 2]))
        )
    path = tmp_path / "changed"
    path.write_text("\n".join(lines))
    read_and_use(path)


@quick
@given(
    st.lists(st.one_of(st.none(), st.tuples(st.text(max_size=8), texts, st.text(max_size=20))), max_size=6),
    st.text(max_size=20),
)
def test_any_addresses_and_patterns_leave_a_run_its_network(tmp_path, reported, pattern):
    ranks = [
        one and {"host": one[0], "topology_addr": one[1], "topology_pattern": one[2] or "switch.node"}
        for one in reported
    ]
    network = network_of(tmp_path, ranks, {"node_name_pattern": pattern})
    if network:
        used_switches(network, [rank["host"] for rank in ranks if rank])
