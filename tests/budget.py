# SPDX-License-Identifier: BSD-3-Clause
"""pytest plugin: the CPU time of the tests and of the programs that they start, by folder and file.

A test that is killed, or whose programs outlive it, counts less than it took. After a run of all tests,
folders that took more than their share are named. That fails no run: ranks that wait take more CPU time on a
busy machine, compilers take it only until their programs are kept, and what a machine lacks is skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from drivers.warm_python import Fork, used_s

#: Percent of the CPU time of all tests that the tests in a folder may take, folders in it apart.
SHARES = {
    "tests/bridge/sources": 15,
    "tests/bridge/session": 6,
    "tests/catalyst": 6,
    "tests/catalyst_scripts": 8,
    "tests/commands": 13,
}
OF_OTHERS = 5


def allowed(folder: str) -> float:
    """The part of all CPU time from which on a folder is named: its share with room for the machine."""
    return 1.3 * SHARES.get(folder, OF_OTHERS) / 100 + 0.01


def excesses(folders: Mapping[str, float]) -> list[str]:
    """A sentence for each folder beyond its share. folders : name -> CPU time in s, of all tests."""
    total = sum(folders.values())
    return [
        f"{folder} took {seconds / total:.0%} of the CPU time of all tests, and {allowed(folder):.0%} is the "
        f"most it may: let its tests share runs (tests/README.md), or raise its share in tests/budget.py"
        for folder, seconds in sorted(folders.items())
        if seconds > allowed(folder) * total
    ]


def cpu_s() -> float:
    """CPU time in s of this process, of those that it waited for, and of forks that ran for it."""
    return used_s() + Fork.used_s


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
        if not config.option.budget:
            return
        folders: Counter[str] = Counter()
        for file, seconds in self.taken.items():
            folders[str(Path(file).parent)] += seconds
        terminalreporter.write_line(f"CPU time: {self.taken.total():.0f} s; the folders and files with most:")
        for name, seconds in [*folders.most_common(10), *self.taken.most_common(10)]:
            terminalreporter.write_line(f"{seconds:6.0f} s  {name}")
        if config.args_source is config.ArgsSource.TESTPATHS and not config.option.keyword:
            for sentence in excesses(folders):
                terminalreporter.write_line(sentence, yellow=True)


def pytest_addoption(parser) -> None:
    parser.addoption("--budget", action="store_true", help="print the CPU time of folders and files of tests")


def pytest_configure(config) -> None:
    config.pluginmanager.register(Budget(), "perfield-budget")
