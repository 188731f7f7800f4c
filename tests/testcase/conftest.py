# SPDX-License-Identifier: BSD-3-Clause
"""Builds cases of testcase/ as users do, with the compilers of each MPI."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

CASES = Path(__file__).resolve().parents[2] / "testcase"


@pytest.fixture(scope="session")
def build_case(mpi, perfield_flags, tmp_path_factory) -> Callable[..., Path]:
    """build_case(name, *options): builds testcase/<name> with this MPI, once per name; returns its folder."""
    built: dict[tuple, Path] = {}

    def build(name: str, *options: str) -> Path:
        if (name, options) not in built:
            folder = tmp_path_factory.mktemp(f"{name}-{mpi.name}")
            compilers = [
                f"-DMPI_{language}_COMPILER={compiler}"
                for language, compiler in (("C", mpi.cc), ("CXX", mpi.cxx), ("Fortran", mpi.fc))
            ]
            include = f"-DPERFIELD_INCLUDE={perfield_flags('--include')[0]}"
            for argv in (
                ["cmake", "-S", CASES / name, "-B", folder, "-G", "Ninja", *compilers, include, *options],
                ["cmake", "--build", folder],
            ):
                result = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=600)
                assert result.returncode == 0, f"{argv} failed:\n{result.stdout}\n{result.stderr}"
            built[name, options] = folder
        return built[name, options]

    return build
