# SPDX-License-Identifier: BSD-3-Clause
"""perfield paths: prints where headers, libraries and build files are, for compilers and build systems."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

from perfield.commands import CommandError

HELP = "print where headers, libraries and build files are"
DESCRIPTION = """\
Prints where perfield's headers, libraries and build files are. Without an option
it prints all paths with their names.

  mpicc solver.c $(perfield paths --cflags --libs) -o solver
  cmake -DCMAKE_PREFIX_PATH=$(perfield paths --cmake) ...    # find_package(perfield)
  PKG_CONFIG_PATH=$(perfield paths --pkgconfig) pkg-config --cflags --libs perfield

A program that you start with perfield-exec or perfield run needs --cflags only."""

OPTIONS = {
    "cflags": "options for the compiler",
    "libs": "options for the linker",
    "cmake": "folder of perfield-config.cmake",
    "pkgconfig": "folder of perfield.pc",
    "include": "folder of perfield.h",
    "lib": "folder of libperfield.so",
    "fortran": "the file perfield.f90; compile it with a Fortran program",
    "exec": "the program perfield-exec",
}


def package_root() -> Path:
    """The folder that holds include/ and lib/ of this installation.

    Raises CommandError if there is none.
    """
    import perfield

    for folder in perfield.__path__:
        if (Path(folder) / "include/perfield.h").is_file():
            return Path(folder)
    raise CommandError(f"found no include/perfield.h in {list(perfield.__path__)}; install perfield again")


def perfield_exec() -> Path:
    """The program perfield-exec of this installation, else the one in PATH.

    Raises CommandError if there is none.
    """
    for path in _installed("perfield-exec"):
        return path
    found = shutil.which("perfield-exec")
    if not found:
        raise CommandError(
            f"found no perfield-exec in {Path(sys.executable).parent} or PATH; install perfield again"
        )
    return Path(found)


def own_command() -> str:
    """The words that start this perfield from this directory: `perfield` if PATH finds it, else its path."""
    own = next(iter(_installed("perfield")), None)
    found = shutil.which("perfield")
    if own is None or (found and Path(found).resolve() == own.resolve()):
        return "perfield"
    here = Path.cwd()
    return shlex.quote(str(own.relative_to(here) if here in own.parents else own))


def _installed(program: str) -> list[Path]:
    """Paths of a program of this installation, the preferred one first."""
    folders = (Path(sys.executable).parent, Path(sysconfig.get_path("scripts")))
    return [folder / program for folder in folders if (folder / program).is_file()]


def all_paths() -> dict[str, str]:
    """Name of an option in OPTIONS -> the text that it prints."""
    root = package_root()
    include, lib = root / "include", root / "lib"
    # perfield.h has weak references only, so many linkers would drop the library as unneeded.
    library = "-Wl,--push-state,--no-as-needed -lperfield -Wl,--pop-state"
    return {
        "cflags": f"-I{include}",
        "libs": f"-L{lib} -Wl,-rpath,{lib} {library}",
        "cmake": str(lib / "cmake/perfield"),
        "pkgconfig": str(lib / "pkgconfig"),
        "include": str(include),
        "lib": str(lib),
        "fortran": str(include / "perfield.f90"),
        "exec": str(perfield_exec()),
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds one switch for each path."""
    for name, text in OPTIONS.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)


def execute(arguments: argparse.Namespace) -> int:
    """Prints the wanted paths on one line, or without a choice all paths, one per line."""
    paths = all_paths()
    wanted = [name for name in OPTIONS if getattr(arguments, name)]
    if wanted:
        print(" ".join(paths[name] for name in wanted))
    else:
        for name, path in paths.items():
            print(f"{name:9} {path}")
    return 0
