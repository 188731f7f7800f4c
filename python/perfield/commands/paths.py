# SPDX-License-Identifier: BSD-3-Clause
"""perfield setup paths: prints where headers, libraries and build files are."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import perfield
from perfield.commands import CommandError

HELP = "print where headers, libraries and build files are"
DESCRIPTION = """\
Prints where perfield's headers, libraries and build files are. Without an option
it prints all paths with their names.

  mpicc solver.c $(perfield setup paths --cflags --libs) -o solver
  cmake -DCMAKE_PREFIX_PATH=$(perfield setup paths --cmake) ...    # find_package(perfield)
  PKG_CONFIG_PATH=$(perfield setup paths --pkgconfig) pkg-config --cflags --libs perfield

A program that you start with perfield-exec or perfield run needs --cflags only.
One that you start without them needs --libs, and --mpi for its messages. Put
these words before MPI and Score-P on the link line:

  mpicc solver.c $(perfield setup paths --cflags --libs --mpi) -o solver
  mpif90 solver.f90 $(perfield setup paths --libs --mpi mpich) -o solver"""

OPTIONS = {
    "cflags": "options for the compiler",
    "libs": "options for the linker",
    "cmake": "folder of perfield-config.cmake",
    "pkgconfig": "folder of perfield.pc",
    "include": "folder of perfield.h",
    "lib": "folder of libperfield.so",
    "fortran": "the file perfield.f90; compile it with a Fortran program",
    "exec": "the program perfield-exec",
    "pipelines": "folder of perfield's ParaView pipelines (docs/pipelines.md)",
    "catalyst": "folder of libcatalyst-perfield.so (docs/catalyst.md)",
}


MPIS = ("openmpi", "mpich")


def package_root() -> Path:
    """The folder that holds include/ and lib/ of this installation.

    Raises CommandError if there is none.
    """
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


# What mpi.h of an MPI defines, in the preprocessor's words.
_QUESTION = """\
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#if defined(OMPI_MAJOR_VERSION)
perfield_mpi = openmpi;
#elif defined(MPICH_VERSION) || defined(MPICH_NAME) || defined(I_MPI_VERSION)
perfield_mpi = mpich;
#endif
"""


def mpi_of_compiler() -> str:
    """The MPI of mpicc, or of Cray's cc: "openmpi", or "mpich" for MPICH and its relatives.

    Raises CommandError if neither compiles for one of them.
    """
    for compiler in ("mpicc", "cc"):
        if not shutil.which(compiler):
            continue
        command = [compiler, "-E", "-x", "c", "-"]
        answer = subprocess.run(command, input=_QUESTION, capture_output=True, text=True, check=False)
        for mpi in MPIS:
            if f"perfield_mpi = {mpi};" in answer.stdout:
                return mpi
    raise CommandError(
        "found no mpicc of Open MPI or MPICH in PATH; name the MPI that you link with: "
        "--mpi openmpi, or --mpi mpich for MPICH and its relatives"
    )


def mpi_library(mpi: str) -> str:
    """The name of the wrappers for an MPI, as the linker's -l takes it; mpi: "auto", "openmpi" or "mpich".

    "auto" is the MPI of the compiler that is found. Raises CommandError if its wrappers are not installed.
    """
    mpi = mpi_of_compiler() if mpi == "auto" else mpi
    lib = package_root() / "lib"
    if not (lib / f"libperfield_{mpi}.so").is_file():
        there = [name for name in MPIS if (lib / f"libperfield_{name}.so").is_file()]
        raise CommandError(
            f"{lib} has wrappers for {' and '.join(there) or 'no MPI'}, but not for {mpi}; install perfield "
            "again with that MPI's compiler on the PATH, or name another MPI: --mpi "
            f"{there[0] if there else 'openmpi'}"
        )
    return f"perfield_{mpi}"


def all_paths(mpi: str | None = None) -> dict[str, str]:
    """Name of an option in OPTIONS -> the text that it prints.

    mpi : the MPI whose wrappers to link as well, "auto" for that of the compiler; None links none.
    """
    root = package_root()
    include, lib = root / "include", root / "lib"
    libraries = ["perfield"]
    if mpi is not None:
        # Score-P finds the plug-in only in a directory of its own, or if it is loaded already.
        libraries = [mpi_library(mpi), "perfield", "scorep_substrate_Catalyst"]
    # perfield.h has weak references only, so many linkers would drop the library as unneeded.
    words = " ".join(
        ["-Wl,--push-state,--no-as-needed", *(f"-l{name}" for name in libraries), "-Wl,--pop-state"]
    )
    return {
        "cflags": f"-I{include}",
        "libs": f"-L{lib} -Wl,-rpath,{lib} {words}",
        "cmake": str(lib / "cmake/perfield"),
        "pkgconfig": str(lib / "pkgconfig"),
        "include": str(include),
        "lib": str(lib),
        "fortran": str(include / "perfield.f90"),
        "exec": str(perfield_exec()),
        "pipelines": str(root / "catalyst_scripts"),
        "catalyst": str(lib / "catalyst"),
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds one switch for each path, and the choice of an MPI."""
    for name, text in OPTIONS.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    parser.add_argument(
        "--mpi",
        nargs="?",
        const="auto",
        choices=("auto", *MPIS),
        metavar="openmpi|mpich",
        help="with --libs: link the MPI wrappers, too; without a name those for the MPI of mpicc",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Prints the wanted paths on one line, or without a choice all paths, one per line."""
    if arguments.mpi is not None and not arguments.libs:
        raise CommandError("--mpi adds the MPI wrappers to --libs; call perfield setup paths --libs --mpi")
    paths = all_paths(arguments.mpi)
    wanted = [name for name in OPTIONS if getattr(arguments, name)]
    if wanted:
        print(" ".join(paths[name] for name in wanted))
    else:
        for name, path in paths.items():
            print(f"{name:9} {path}")
    return 0
