# SPDX-License-Identifier: BSD-3-Clause
"""Programs of the MPI standard's binary interface get its wrappers, or a sentence where there are none."""

from __future__ import annotations

import subprocess

import pytest


@pytest.fixture
def program(tmp_path):
    """A program that needs a library with the name of that interface."""
    (tmp_path / "library.c").write_text("int MPI_Init(int* argc, char*** argv) { return 0; }\n")
    (tmp_path / "main.c").write_text("int MPI_Init();\nint main() { return MPI_Init(0, 0); }\n")
    library = tmp_path / "libmpi_abi.so.1"
    shared = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", tmp_path / "library.c"]
    subprocess.run([*shared, "-o", library], check=True)
    found = f"-Wl,-rpath,{tmp_path}"
    subprocess.run(["gcc", tmp_path / "main.c", library, found, "-o", tmp_path / "main"], check=True)
    return tmp_path / "main"


def test_program_of_the_standards_interface_gets_its_wrappers_or_a_sentence(program, bin_dir):
    execute = [bin_dir / "perfield-exec"]
    asked = subprocess.run([*execute, "--print", program], capture_output=True, text=True, check=False)
    if "libperfield_mpi_abi.so" in asked.stdout:
        return
    assert "runs unmeasured: it uses the binary interface of the MPI standard" in asked.stderr
    assert subprocess.run([*execute, program], capture_output=True, check=False).returncode == 0
