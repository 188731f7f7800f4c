# SPDX-License-Identifier: BSD-3-Clause
"""The preview of mpirun puts ranks where Open MPI's mpirun puts them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from drivers.hosts import faked_machines, run_on_hosts, why_no_hosts

from perfield.topology import MachineError, mpirun_cpusets, parse_cpuset, ranges, read_machine

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"
SHAPE = "two-packages-2-l3-2-cores-2-pus"
TWO_PACKAGES = read_machine(MACHINES / f"{SHAPE}.xml")
ASKED = ((2, "", "hwthread"), (6, "", ""), (6, "slot", "core"), (6, "core", "socket"), (6, "l3cache", "numa"))


def test_ranks_go_round_packages_and_fill_their_cores():
    assert mpirun_cpusets(TWO_PACKAGES, 4, bind_to="core") == ["0-1", "8-9", "2-3", "10-11"]
    assert mpirun_cpusets(TWO_PACKAGES, 2) == ["0-1", "2-3"], "two ranks go by core"
    assert mpirun_cpusets(TWO_PACKAGES, 3) == ["0-7", "8-15", "0-7"], "more go by package"


def test_unbound_ranks_may_run_on_all_pus():
    assert mpirun_cpusets(TWO_PACKAGES, 3, bind_to="none") == ["0-15"] * 3


def test_more_ranks_than_cores_share_them_evenly():
    found = mpirun_cpusets(TWO_PACKAGES, 16, "core", "core")
    assert sorted(found.count(each) for each in set(found)) == [2] * 8


def test_unknown_kind_of_object_is_named_with_the_known_ones():
    with pytest.raises(MachineError, match="cannot bind to 'board'; expected one of none, hwthread, core"):
        mpirun_cpusets(TWO_PACKAGES, 2, bind_to="board")
    with pytest.raises(MachineError, match="this machine has no l2; choose a kind of object that it has"):
        mpirun_cpusets(read_machine(MACHINES / "one-package-2-l3-6-cores.xml"), 2, map_by="l2")


def test_ranges_are_the_inverse_of_a_cpu_set():
    assert ranges([8, 0, 1, 3, 2, 3]) == "0-3,8"
    assert ranges([]) == ""
    assert parse_cpuset(ranges(range(5))) == (0, 1, 2, 3, 4)


def test_preview_equals_what_open_mpi_does(build_c, tmp_path):
    if reason := why_no_hosts():
        pytest.skip(reason)
    shutil.copy(MACHINES / f"{SHAPE}.xml", tmp_path / "n1.xml")
    source = tmp_path / "affinity.c"
    source.write_text(
        "#define _GNU_SOURCE\n#include <sched.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        "int main() { cpu_set_t set; sched_getaffinity(0, sizeof set, &set);\n"
        '  printf("%s:", getenv("OMPI_COMM_WORLD_RANK"));\n'
        '  for (int i = 0; i < 64; ++i) if (CPU_ISSET(i, &set)) printf(" %d", i);\n  puts(""); }\n'
    )
    program = build_c(source, mpi=False)
    environment = faked_machines(tmp_path)
    lines = ["unset OMPI_MCA_hwloc_base_binding_policy"]
    for n_ranks, map_by, bind_to in ASKED:
        options = f"{map_by and '--map-by ' + map_by} {bind_to and '--bind-to ' + bind_to}"
        lines.append(f"echo ==; mpirun --host n1:16 -n {n_ranks} {options} {program}")
    result = run_on_hosts("n1", ["sh", "-c", "\n".join(lines)], tmp_path, environment)
    for asked, text in zip(ASKED, result.stdout.split("==\n")[1:]):
        reported = dict(line.split(":") for line in text.splitlines())
        did = [ranges(map(int, reported[str(rank)].split())) for rank in range(asked[0])]
        assert mpirun_cpusets(TWO_PACKAGES, asked[0], asked[1] or None, asked[2] or None) == did, asked
    assert result.stdout.count("==\n") == len(ASKED), result.stderr
