# SPDX-License-Identifier: BSD-3-Clause
"""Who keeps a process from running: quotas of its control groups, the hypervisor, other threads; on texts
that kernels write."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
V1 = "31 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
V1_MEMORY = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
V2 = "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n"
OF_DOCKER = "41 31 0:38 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"


@pytest.fixture(scope="module")
def ask(build_c):
    """ask(*words): what programs/without_cpu.cpp prints."""
    program = build_c(
        (Path(__file__).parent / "programs/without_cpu.cpp").read_text(),
        f"-I{ROOT / 'bridge'}",
        *(str(ROOT / f"bridge/platform/{name}.cpp") for name in ("cpu_quota", "stolen_time")),
        name="without_cpu.cpp",
        mpi=False,
    )

    def run(*words: object) -> str:
        argv = [str(word) for word in (program, *words)]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    return run


@pytest.fixture
def groups(ask, tmp_path):
    """groups(cgroup, mountinfo, limits): unit and folder of each group with a quota, innermost first.

    limits : text of the limit, by its path below the root of the file system."""

    def found(cgroup: str, mountinfo: str, limits: dict[str, str]) -> list[str]:
        for path, text in limits.items():
            file = tmp_path / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        lines = ask("quota", cgroup, mountinfo, tmp_path).splitlines()
        return [line.replace(str(tmp_path), "").removesuffix("/cpu.stat") for line in lines]

    return found


def test_quota_of_version_2_is_found_on_each_level(groups):
    limits = {
        "/sys/fs/cgroup/pods/pod1/box/cpu.max": "max 100000\n",
        "/sys/fs/cgroup/pods/pod1/cpu.max": "40000 100000\n",
        "/sys/fs/cgroup/pods/cpu.max": "800000 100000\n",
    }
    found = groups("0::/pods/pod1/box\n", V2, limits)
    assert found == ["us /sys/fs/cgroup/pods/pod1", "us /sys/fs/cgroup/pods"]


def test_quota_of_version_1_is_found_among_its_controllers(groups):
    cgroup = "9:memory:/job\n4:cpu,cpuacct:/job/step\n0::/\n"
    limits = {
        "/sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_quota_us": "-1\n",
        "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "40000\n",
        "/sys/fs/cgroup/memory/job/cpu.cfs_quota_us": "40000\n",
    }
    assert groups(cgroup, V1 + V1_MEMORY, limits) == ["ns /sys/fs/cgroup/cpu,cpuacct/job"]


@pytest.mark.parametrize("cgroup", ["0::/\n", "0::/docker/abc\n", "0::/../other\n"])
def test_container_sees_the_quota_of_its_own_group(groups, cgroup):
    """With a namespace of control groups of its own, and without."""
    limits = {"/sys/fs/cgroup/cpu.max": "150000 100000\n"}
    assert groups(cgroup, OF_DOCKER if "abc" in cgroup else V2, limits) == ["us /sys/fs/cgroup"]


@pytest.mark.parametrize("cgroup", ["", "0::/a\n", "4:cpu:/a\n", "damaged", "4:cpu"])
def test_no_quota_is_found_where_there_is_none(groups, cgroup):
    assert groups(cgroup, V1 + V2 + "damaged - \n", {"/sys/fs/cgroup/a/cpu.max": "max 100000\n"}) == []


STAT = """cpu  9 0 9 9 9 0 0 900 0 0
cpu0 1 0 1 1 1 0 0 100 0 0
cpu2 1 0 1 1 1 0 0 300 7 7
cpu12 1 0 1 1 1 0 0 5 0 0
intr 497189 0 0
"""


@pytest.mark.parametrize(
    ("cpus", "found"), [((0,), "1 100"), ((0, 2), "2 400"), ((1,), "0 0"), ((1, 12), "1 5"), ((), "0 0")]
)
def test_stolen_ticks_are_those_of_the_allowed_cpus(ask, cpus, found):
    assert ask("stolen", STAT, *cpus).strip() == found


@pytest.mark.parametrize("text", ["", "cpu", "cpu0 1 2", "intr 5"])
def test_odd_text_holds_no_stolen_ticks(ask, text):
    assert ask("stolen", text, 0).strip() in ("0 0", "1 0")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("monotonic           0         0\nboottime            0         0\n", "1 0"),
        ("monotonic        5000       250\nboottime         5000         0\n", "1 5000000000250"),
        ("monotonic          -7 500000000\nboottime            0         0\n", "1 -6500000000"),
        ("boottime 5 0\n", "0 0"),
        ("", "0 0"),
    ],
)
def test_shift_of_a_time_namespace_is_read(ask, text, found):
    assert ask("shift", text).strip() == found


@pytest.mark.parametrize(
    ("passed", "calls", "used", "least", "most"),
    [
        (100, 100, 100, 0, 0),  # it ran all the time
        (100, 100, 30, 70, 70),
        (150, 100, 80, 20, 70),  # 50 of these may be before the call, or none
        (150, 100, 20, 80, 100),
        (1000, 100, 200, 0, 100),  # it lacked a CPU beside calls, too
        (1000, 900, 200, 700, 800),
        (100, 100, 120, 0, 0),  # clocks are not read at the same moment
    ],
)
def test_time_without_cpu_in_calls_is_bounded(ask, passed, calls, used, least, most):
    assert ask("call", passed, calls, used).split() == [str(least), str(most)]
