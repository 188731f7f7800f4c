# SPDX-License-Identifier: BSD-3-Clause
"""Places of ranks as rows, one for each rank or for each package."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from perfield.topology import Network, place, places, read_machine

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"
TWO_PACKAGES = read_machine(MACHINES / "two-packages-2-l3-2-cores-2-pus.xml")


def placed(*cpusets, network=None):
    entries = [None if c is None else {"host": c[0], "boot_id": "", "cpuset": c[1]} for c in cpusets]
    return place(entries, {"n1": TWO_PACKAGES}, network)


def test_each_rank_has_a_row_with_its_place():
    rows = places(
        placed(("n1", "0-1"), ("n1", "8-9")),
        ran_on=np.array([[1, np.nan]] * 3),
        devices={1: ["nvidia0", "nvidia0"]},
    )
    assert rows == [
        {"ranks": "0", "host": "n1", "package": "0", "core": "0", "pu": "0-1", "ran_on": "1", "devices": ""},
        {
            "ranks": "1",
            "host": "n1",
            "package": "1",
            "core": "4",
            "pu": "8-9",
            "ran_on": "",
            "devices": "nvidia0",
        },
    ]


def test_ranks_of_a_package_share_a_row_on_demand():
    cpusets = [("n1", f"{2 * core}-{2 * core + 1}") for core in range(8)]
    rows = places(placed(*cpusets), by="package")
    assert [(row["ranks"], row["package"], row["core"], row["pu"]) for row in rows] == [
        ("0-3", "0", "0-3", "0-7"),
        ("4-7", "1", "4-7", "8-15"),
    ]


def test_nodes_that_are_filled_alike_share_a_row_for_each_package():
    cpusets = [(host, pu) for host in ("n1", "n2", "n3", "n4") for pu in ("0-1", "8-9")] + [("n5", "2")]
    entries = [{"host": host, "boot_id": "", "cpuset": cpuset} for host, cpuset in cpusets]
    network = Network(("a", "b"), (), {"n1": 0, "n2": 0, "n3": 1, "n4": 1, "n5": 1}, "test")
    hosts = {f"n{number}": TWO_PACKAGES for number in range(1, 6)}
    rows = [tuple(row.values()) for row in places(place(entries, hosts, network), by="alike")]
    assert rows == [
        ("0,2,4,6", "n1 ... n4 (4 nodes)", "a b", "0", "0", "0-1"),
        ("1,3,5,7", "n1 ... n4 (4 nodes)", "a b", "1", "4", "8-9"),
        ("8", "n5", "b", "0", "1", "2"),
    ]


def test_switch_is_named_and_columns_without_a_value_are_left_out():
    network = Network(("leaf",), (), {"n1": 0}, "test")
    assert places(placed(("n1", "0"), network=network))[0]["switch"] == "leaf"
    assert list(places(placed(("n1", "0")))[0]) == ["ranks", "host", "package", "core", "pu"]


def test_rank_in_several_cores_and_missing_rank_are_marked():
    rows = places(placed(("n1", "0-3"), None))
    assert [(row["host"], row["package"], row["core"]) for row in rows] == [
        ("n1", "0", "-"),
        ("never checked in", "", ""),
    ]
