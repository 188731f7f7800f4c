# SPDX-License-Identifier: BSD-3-Clause
"""Builds cases of testcase/ as users do, with the compilers of each MPI."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import build_testcase


def pytest_collection_modifyitems(items) -> None:
    """Programs of testcase/ run with Open MPI; with MPICH in `make test-long`.

    tests/bridge has what each MPI does differently.
    """
    for item in items:
        of_mpich = getattr(item, "callspec", None) and item.callspec.params.get("mpi") == "mpich"
        if of_mpich and item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def build_case(mpi, perfield_flags) -> Callable[..., Path]:
    """build_case(name, *options): the folder in which testcase/<name> is built with this MPI."""
    include = perfield_flags("--include")[0]
    return lambda name, *options: build_testcase(name, include, *mpi.for_cmake, *options)
