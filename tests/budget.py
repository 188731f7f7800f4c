# SPDX-License-Identifier: BSD-3-Clause
"""pytest plugin: the CPU time of the tests and of the programs that they start, by file.

A run ends with the ten files that take most, and the folders that take more than their share. Shares are
ratios within one run, so a slow or busy machine changes none. A test that is killed, or whose programs
outlive it, counts less than it took.
"""

from __future__ import annotations

import resource
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOM = 1.3  # what a folder may take, of its share
FOLDERS = Path(__file__).with_name("budget.toml")


def cpu_s() -> float:
    """CPU time in s of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(of.ru_utime + of.ru_stime for of in used)


def folder_of(file: str) -> str:
    """The folder of tests/ that a file belongs to, "." for those beside this one."""
    parts = Path(file).parts
    return parts[1] if len(parts) > 2 else "."


def over_share(taken: dict[str, float], expected: dict[str, float]) -> list[str]:
    """Sentences on the folders that take more than ROOM times their share of the CPU time.

    taken, expected : CPU time in s of each folder. The median of their ratios is the speed of the machine.
    """
    ratios = sorted(taken[folder] / expected[folder] for folder in taken if folder in expected)
    if not ratios:
        return []
    speed = ratios[len(ratios) // 2]
    found = []
    for folder, seconds in sorted(taken.items()):
        allowed = ROOM * speed * expected.get(folder, 0)
        if seconds > allowed:
            found.append(
                f"tests/{folder} took {seconds:.0f} s; its share of tests/{FOLDERS.name} is {allowed:.0f} s"
            )
    return found


class Budget:
    """Adds up the CPU time of each file; with pytest-xdist in the workers, and the sums in their parent."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        before = cpu_s()
        yield
        self.taken[item.nodeid.split("::")[0]] += cpu_s() - before

    def pytest_sessionfinish(self, session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["cpu_s"] = dict(self.taken)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node) -> None:
        self.taken.update(getattr(node, "workeroutput", {}).get("cpu_s", {}))

    def pytest_terminal_summary(self, terminalreporter, config) -> None:
        if not config.option.budget or hasattr(config, "workerinput"):
            return
        folders: Counter[str] = Counter()
        for file, seconds in self.taken.items():
            folders[folder_of(file)] += seconds
        terminalreporter.write_line(f"CPU time: {self.taken.total():.0f} s; the files with most:")
        for file, seconds in self.taken.most_common(10):
            terminalreporter.write_line(f"{seconds:6.0f} s  {file}")
        for sentence in over_share(folders, tomllib.loads(FOLDERS.read_text())):
            terminalreporter.write_line(f"OVER ITS SHARE: {sentence}", red=True)


def pytest_addoption(parser) -> None:
    parser.addoption("--budget", action="store_true", help="print the CPU time of the files of tests")


def pytest_configure(config) -> None:
    config.pluginmanager.register(Budget(), "perfield-budget")
