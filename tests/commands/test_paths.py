# SPDX-License-Identifier: BSD-3-Clause
"""perfield setup paths, and the pkg-config and CMake files that it names."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from perfield.commands import CommandError, paths

PROGRAM = """\
#include <perfield.h>
#include <stdio.h>
int main(void) {
  perfield_initialize();
  printf("%d\\n", perfield_measuring());
  perfield_finalize();
  return 0;
}
"""


@pytest.fixture
def source(tmp_path):
    """A C program that prints 1 if perfield measures it."""
    file = tmp_path / "program.c"
    file.write_text(PROGRAM)
    return file


def run(*command, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Runs a command, which must succeed; returns its standard output."""
    words = [str(word) for word in command]
    result = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, env=env)
    assert result.returncode == 0, f"{' '.join(words)}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def test_all_paths_exist(perfield_flags):
    for option in ("--include", "--lib", "--cmake", "--pkgconfig", "--fortran", "--exec"):
        (path,) = perfield_flags(option)
        assert Path(path).exists(), f"{option} {path}"
    assert (Path(perfield_flags("--include")[0]) / "perfield.h").is_file()
    assert (Path(perfield_flags("--lib")[0]) / "libperfield.so").is_file()


def test_default_prints_all_paths(perfield_cli):
    result = perfield_cli("setup", "paths")
    assert result.returncode == 0
    names = [line.split()[0] for line in result.stdout.splitlines()]
    assert names == [
        "cflags",
        "libs",
        "cmake",
        "pkgconfig",
        "include",
        "lib",
        "fortran",
        "exec",
        "pipelines",
        "catalyst",
    ]


def test_own_command_works_in_a_shell(bin_dir, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(bin_dir))
    assert paths.own_command() == "perfield"
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert paths.own_command() == str(bin_dir / "perfield")
    monkeypatch.chdir(bin_dir.parent)
    assert paths.own_command() == f"{bin_dir.name}/perfield"
    other = tmp_path / "perfield"  # of another installation
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert paths.own_command() == f"{bin_dir.name}/perfield"


def test_commands_linked_into_a_folder_of_their_own_measure(bin_dir, perfield_flags, source, tmp_path):
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in ("perfield", "perfield-exec"):
        (commands / name).symlink_to(bin_dir / name)
    run("mpicc", *perfield_flags("--cflags"), source, "-o", "program", cwd=tmp_path)
    env = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    run("perfield", "run", "-n", "1", "./program", cwd=tmp_path, env=env)
    run("perfield-exec", "./program", cwd=tmp_path, env=env)
    for name in ("perfield-run", "perfield-run-2"):
        assert run("perfield", "info", name, cwd=tmp_path, env=env).endswith(
            f"perfield report {name}  (serve: browser)\n"
        )


def test_flags_build_a_program_that_measures(perfield_flags, source, tmp_path):
    flags = [*perfield_flags("--cflags"), *perfield_flags("--libs")]
    run("cc", source, *flags, "-o", tmp_path / "program", cwd=tmp_path)
    assert run(tmp_path / "program", cwd=tmp_path) == "1\n"


def test_mpi_adds_the_wrappers_of_the_compiler_before_the_library(perfield_cli, mpi, tmp_path):
    (tmp_path / "mpicc").symlink_to(shutil.which(mpi.cc))
    env = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    for options in (["--mpi"], ["--mpi", mpi.name]):
        words = perfield_cli("setup", "paths", "--libs", *options, env=env).stdout.split()
        named = [word for word in words if word.startswith("-l")]
        assert named == [f"-lperfield_{mpi.name}", "-lperfield", "-lscorep_substrate_Catalyst"]


def test_mpi_asks_for_a_name_where_no_compiler_tells(perfield_cli, tmp_path):
    (tmp_path / "mpicc").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "mpicc").chmod(0o755)
    result = perfield_cli("setup", "paths", "--libs", "--mpi", env={"PATH": str(tmp_path)})
    assert result.returncode != 0
    assert "found no mpicc of Open MPI or MPICH in PATH; name the MPI that you link with" in result.stderr
    assert (
        perfield_cli("setup", "paths", "--libs", "--mpi", "mpich", env={"PATH": str(tmp_path)}).returncode
        == 0
    )


def test_mpi_without_libs_is_refused(perfield_cli):
    result = perfield_cli("setup", "paths", "--mpi")
    assert result.returncode != 0
    assert "call perfield setup paths --libs --mpi" in result.stderr


def test_missing_wrappers_are_named_with_those_that_are_there(perfield_flags, tmp_path, monkeypatch):
    lib = tmp_path / "lib"
    lib.mkdir()
    shutil.copy(Path(perfield_flags("--lib")[0]) / "libperfield_openmpi.so", lib)
    monkeypatch.setattr(paths, "package_root", lambda: tmp_path)
    with pytest.raises(CommandError, match=r"has wrappers for openmpi, but not for mpich.*--mpi openmpi$"):
        paths.mpi_library("mpich")


def test_program_with_the_header_alone_runs_unmeasured(perfield_flags, source, tmp_path):
    run("cc", source, *perfield_flags("--cflags"), "-o", tmp_path / "program", cwd=tmp_path)
    assert run(tmp_path / "program", cwd=tmp_path) == "0\n"


@pytest.fixture(params=["as installed", "moved"])
def lib(request, perfield_flags, tmp_path) -> Path:
    """The folder lib/ of the installation, at its place or copied elsewhere."""
    folder = Path(perfield_flags("--lib")[0])
    if request.param == "as installed":
        return folder
    moved = tmp_path / "elsewhere" / "perfield"
    for name in ("lib", "include"):
        shutil.copytree(folder.parent / name, moved / name)
    return moved / "lib"


def test_pkg_config_builds_a_program_that_measures(lib, source, tmp_path):
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed")
    script = 'eval "cc program.c $(pkg-config --cflags --libs perfield) -o program"'
    run("sh", "-ec", script, cwd=tmp_path, env={**os.environ, "PKG_CONFIG_PATH": f"{lib}/pkgconfig"})
    assert run(tmp_path / "program", cwd=tmp_path) == "1\n"


def test_cmake_builds_a_program_that_measures(lib, source, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\n"
        "project(user LANGUAGES C)\n"
        "find_package(perfield 0.2 REQUIRED)\n"
        "add_executable(program program.c)\n"
        "target_link_libraries(program PRIVATE perfield::perfield)\n"
    )
    build = tmp_path / "build"
    run("cmake", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={lib}/cmake/perfield", cwd=tmp_path)
    run("cmake", "--build", build, cwd=tmp_path)
    assert run(build / "program", cwd=tmp_path) == "1\n"


def test_cmake_refuses_another_version(lib, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(user LANGUAGES C)\nfind_package(perfield 99)\n"
        'if(perfield_FOUND)\n  message(FATAL_ERROR "found")\nendif()\n'
    )
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={lib}", cwd=tmp_path)
