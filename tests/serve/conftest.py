# SPDX-License-Identifier: BSD-3-Clause
"""Runs that are served."""

from __future__ import annotations

import pytest
from drivers.served import served

from perfield.serve import followed
from twins import twin


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch):
    """Every request sees what was written before it."""
    monkeypatch.setattr(followed, "AT_MOST_EVERY_S", 0.0)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of 8 ranks on 2 hosts, with 10 steps."""
    return twin.write_run(tmp_path_factory.mktemp("of") / "perfield-run", 8, 10, hosts=("a", "b"))


@pytest.fixture(scope="module")
def client(run):
    """A server of that run."""
    with served(run) as asked:
        yield asked
