# SPDX-License-Identifier: BSD-3-Clause
"""find_mpi_headers.cmake: finds the mpi.h of each MPI to build wrappers for."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[3] / "bridge/sources/pmpi/find_mpi_headers.cmake"
PROJECT = f"""
cmake_minimum_required(VERSION 3.22)
project(asking NONE)
include({FILE})
message(STATUS "openmpi=${{openmpi_header}};")
message(STATUS "mpich=${{mpich_header}};")
"""


@pytest.fixture
def ask(tmp_path):
    """ask(*options): (MPI -> Path of the mpi.h found, CMake's messages)."""
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)

    def run(*options: str):
        command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", *options]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        found = re.findall(r"-- (openmpi|mpich)=(.+);", result.stdout)
        return {mpi: Path(header) for mpi, header in found}, " ".join(result.stderr.split())

    return run


def test_headers_of_all_installed_mpis_are_found(ask):
    found, errors = ask()
    assert set(found) == {"openmpi", "mpich"}
    assert "OMPI_MAJOR_VERSION" in found["openmpi"].read_text()
    assert "MPICH_VERSION" in found["mpich"].read_text()
    assert not errors


def test_only_the_named_compiler_is_asked(ask, mpi):
    found, _ = ask(f"-DPERFIELD_MPICC={mpi.cc}")
    assert set(found) == {mpi.name}


def test_given_header_is_used(ask, mpi, tmp_path):
    (tmp_path / "mpi.h").touch()
    found, _ = ask(f"-DPERFIELD_MPICC={mpi.cc}", f"-DPERFIELD_{mpi.name.upper()}_HEADER={tmp_path}/mpi.h")
    assert found == {mpi.name: tmp_path / "mpi.h"}


def test_a_given_header_that_does_not_exist_is_an_error(ask, tmp_path):
    found, errors = ask(f"-DPERFIELD_MPICH_HEADER={tmp_path}/mpi.h")
    assert not found
    assert f"PERFIELD_MPICH_HEADER is {tmp_path}/mpi.h, which does not exist" in errors


def test_each_configuration_of_one_folder_finds_the_mpis_of_that_moment(ask, tmp_path, monkeypatch):
    hidden = tmp_path / "bin"
    hidden.mkdir()
    for name, text in {"mpicc.mpich": "exit 1", "mpicc": 'exec mpicc.openmpi "$@"'}.items():
        (hidden / name).write_text(f"#!/bin/sh\n{text}\n")
        (hidden / name).chmod(0o755)
    with monkeypatch.context() as without_mpich:
        without_mpich.setenv("PATH", f"{hidden}:{os.environ['PATH']}")
        assert set(ask()[0]) == {"openmpi"}
    assert set(ask()[0]) == {"openmpi", "mpich"}
    monkeypatch.setenv("PATH", f"{hidden}:{os.environ['PATH']}")
    assert set(ask()[0]) == {"openmpi"}


def test_named_compiler_without_mpi_is_an_error(ask):
    found, errors = ask("-DPERFIELD_MPICC=gcc")
    assert not found
    assert "CMake Error" in errors and "gcc finds no mpi.h of Open MPI or MPICH" in errors
