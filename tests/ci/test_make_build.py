# SPDX-License-Identifier: BSD-3-Clause
"""`make build` builds the wheel again when an MPI is installed, changed or removed, and only then."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = ("Makefile", "pyproject.toml", ".ci/requirements.py", ".ci/install-packages", ".ci/packages")
FILES += tuple(f"bridge/sources/pmpi/{name}.cmake" for name in ("find_mpi_headers", "ask_mpi_compiler"))
TOOLS = "make cmake bash sh env cat ls mkdir rm mv cmp sort find touch dirname ln gcc cc as ld"


class Build:
    """A copy of what `make build` reads, where PATH holds no MPI and a fake pip counts the wheels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        for name in (*FILES, ".venv/bin/python", "bin/make"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            shutil.copy(REPOSITORY / name, folder / name)
        for tool in TOOLS.split():
            if path := shutil.which(tool):
                (self.bin / tool).symlink_to(path)
        self._script(
            folder / ".venv/bin/python", f'case "$*" in *" wheel "*) echo built >> {folder}/wheels;; esac'
        )
        (folder / ".venv/ready").touch()

    def wheels(self) -> int:
        """Calls `make build`, and returns how many wheels have been built by now."""
        result = subprocess.run(
            [self.bin / "make", "build"],
            cwd=self.folder,
            env={"PATH": str(self.bin), "HOME": str(self.folder), "PERFIELD_NO_PACKAGES": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return (self.folder / "wheels").read_text().count("built")

    def install_mpi(self, compiler: str, definition: str) -> None:
        """Puts a fake MPI into PATH: a compiler, and an mpi.h that holds `definition`."""
        include = self.folder / compiler
        include.mkdir(exist_ok=True)
        (include / "mpi.h").write_text(f"#define {definition}\n")
        self._script(self.bin / compiler, f'exec gcc -I{include} "$@"')

    def remove_mpi(self, compiler: str) -> None:
        """Removes that fake MPI's compiler."""
        (self.bin / compiler).unlink()

    @staticmethod
    def _script(path: Path, text: str) -> None:
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)


@pytest.fixture
def build(tmp_path) -> Build:
    """A copy of what `make build` reads, in a folder of its own."""
    return Build(tmp_path)


def test_nothing_is_built_again_while_no_mpi_changes(build):
    build.install_mpi("mpicc.openmpi", "OMPI_MAJOR_VERSION 4")
    assert [build.wheels(), build.wheels()] == [1, 1]


def test_the_wheel_is_built_again_when_an_mpi_appears_changes_or_vanishes(build):
    build.install_mpi("mpicc.openmpi", "OMPI_MAJOR_VERSION 4")
    assert build.wheels() == 1
    build.install_mpi("mpicc.mpich", 'MPICH_VERSION "4.0"')
    assert build.wheels() == 2
    build.install_mpi("mpicc.mpich", 'MPICH_VERSION "4.2"')
    assert build.wheels() == 3
    build.remove_mpi("mpicc.mpich")
    assert [build.wheels(), build.wheels()] == [4, 4]


def test_a_second_compiler_of_the_same_mpi_changes_nothing(build):
    build.install_mpi("mpicc.mpich", 'MPICH_VERSION "4.0"')
    assert build.wheels() == 1
    (build.bin / "mpicc").symlink_to(build.bin / "mpicc.mpich")
    assert build.wheels() == 1


def test_folder_for_path_holds_the_commands_alone(build):
    build.wheels()
    commands = build.folder / "build/bin"
    assert sorted(path.name for path in commands.iterdir()) == ["perfield", "perfield-exec"]
    for path in commands.iterdir():
        assert (commands / path.readlink()).parent.resolve() == build.folder / ".venv/bin"


def test_readme_puts_that_folder_into_path():
    words = "export PATH=$PWD/build/bin:$PATH"
    assert words in (REPOSITORY / "README.md").read_text().splitlines()
    assert ".venv/bin:$PATH" not in "".join(page.read_text() for page in REPOSITORY.glob("docs/*.md"))
