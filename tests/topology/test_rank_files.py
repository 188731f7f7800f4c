# SPDX-License-Identifier: BSD-3-Clause
"""Files for launchers name the host and the cores of each rank's new place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perfield.topology import MachineError, hostfile, place, rankfile, read_machine, reorder_file

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"
TWO_PACKAGES = read_machine(MACHINES / "two-packages-2-l3-2-cores-2-pus.xml")


def placed(*cpusets):
    entries = [{"host": host, "boot_id": "", "cpuset": cpuset} for host, cpuset in cpusets]
    return place(entries, {"n1": TWO_PACKAGES, "n2": TWO_PACKAGES})


FOUR = placed(("n1", "0-1"), ("n1", "10-13"), ("n2", "0-15"), ("n2", "2"))
ORDER = np.array([2, 0, 3, 1])


def test_rankfile_counts_cores_inside_their_package():
    assert rankfile(FOUR, ORDER).splitlines() == [
        "rank 0=n2 slot=0-7",
        "rank 1=n1 slot=0:0",
        "rank 2=n2 slot=0:1",
        "rank 3=n1 slot=1:1-2",
    ]


def test_machine_without_description_counts_its_pus_as_cores():
    unknown = place([{"host": "n", "boot_id": "", "cpuset": str(pu)} for pu in (4, 6)], {})
    assert rankfile(unknown, np.array([1, 0])) == "rank 0=n slot=1\nrank 1=n slot=0\n"


def test_hostfile_lists_hosts_in_rank_order():
    assert hostfile(FOUR, ORDER) == "n2\nn1\nn2\nn1\n"


def test_reorder_file_lists_the_ranks_of_each_node():
    assert reorder_file(FOUR, ORDER) == "1,3\n0,2\n"


def test_host_with_unknown_pus_has_no_rankfile_but_a_hostfile():
    unknown = place([{"host": "n", "boot_id": "", "cpuset": ""}] * 2, {})
    with pytest.raises(MachineError, match=r"the PUs of host n are not known, .* write a hostfile"):
        rankfile(unknown, np.arange(2))
    assert hostfile(unknown, np.arange(2)) == "n\nn\n"


def test_rank_gets_the_cores_of_all_threads():
    threads = [{"host": "n1", "boot_id": "", "cpuset": "0-3", "cpusets_of_threads": ["0-1", "2-3"]}]
    assert rankfile(place(threads, {"n1": TWO_PACKAGES}), np.arange(1)) == "rank 0=n1 slot=0:0-1\n"


def test_rank_with_threads_gets_no_place_with_fewer_pus():
    """Rank 1 has two threads on PUs of their own."""
    threads = {"cpuset": "4-5", "cpusets_of_threads": ["4", "5"]}
    entries = [{"host": "n1", "boot_id": ""} | own for own in ({"cpuset": "0"}, threads, {"cpuset": "6-7"})]
    placement = place(entries, {"n1": TWO_PACKAGES})
    words = "rank 1 computes with 2 threads, and the place of rank 0, which it would get, has 1 PU; measure"
    with pytest.raises(MachineError, match=words):
        rankfile(placement, np.array([1, 0, 2]))
    assert rankfile(placement, np.array([0, 2, 1])).count("rank") == 3


def test_node_with_the_names_of_containers_has_no_file():
    boxes = place([{"host": host, "boot_id": "b", "cpuset": "0"} for host in ("box0", "box1")], {})
    for text in (rankfile, hostfile):
        with pytest.raises(MachineError, match=r"ranks of one node call it box0 and box1, as in containers"):
            text(boxes, np.arange(2))


def test_rank_without_a_place_is_reported():
    entries = [{"host": "n1", "boot_id": "", "cpuset": "0"}, None, None]
    for text in (rankfile, hostfile, reorder_file):
        with pytest.raises(MachineError, match="ranks 1-2 never checked in, so their hosts are not known"):
            text(place(entries, {}), np.arange(3))
