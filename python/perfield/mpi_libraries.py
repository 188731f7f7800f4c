# SPDX-License-Identifier: BSD-3-Clause
"""MPI libraries of this machine, and the binary interface (ABI) of each, which decides the wrappers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from perfield.child_python import run_code

# By name of the library, as perfield-exec chooses (bridge/launcher/preload.cpp). Cray names its own after the
# compiler, too.
INTERFACES = (
    ("mpi_abi", r"libmpi_abi\.so\.\d+", "the MPI standard (MPI 5)"),
    ("mpich", r"libmpi(ch|_\w+)?\.so\.12", "MPICH and its relatives (Intel MPI, Cray MPICH, MVAPICH)"),
    ("openmpi", r"libmpi\.so\.40", "Open MPI (4 and 5)"),
)
PREFIXES = ("lib", "lib64", "lib/release", f"lib/{sysconfig.get_config_var('MULTIARCH')}")
SYSTEM = ("/usr", "/usr/local", "/")
VARIABLES = ("LD_LIBRARY_PATH", "CRAY_LD_LIBRARY_PATH")

# A library may end the process that loads it, or wait for ever, so another process does.
ASK = """
import ctypes, sys
text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
ctypes.CDLL(sys.argv[1]).MPI_Get_library_version(text, ctypes.byref(length))
print(text.value.decode(errors="replace"))
"""


@dataclass(frozen=True)
class Library:
    """An MPI library. wrappers : the part of their file's name. interface : whose ABI it has, in words."""

    path: Path
    wrappers: str
    interface: str

    def version(self) -> str:
        """Name and version, as "Open MPI 4.1.4". Raises OSError if the library cannot be loaded."""
        ask = run_code(sys.executable, ASK, str(self.path))
        try:
            answer = subprocess.run(
                ask, capture_output=True, text=True, errors="replace", check=False, timeout=30
            )
        except subprocess.TimeoutExpired as error:
            raise OSError("it does not answer") from error
        if answer.returncode:
            said = answer.stderr.strip().splitlines() or [f"exit code {answer.returncode}"]
            raise OSError(said[-1].removeprefix("OSError: "))
        return named(answer.stdout)


def named(text: str) -> str:
    """Name and version in what MPI_Get_library_version says: "Open MPI v4.1.4, package: ..." and others."""
    line = (text.strip().splitlines() or [""])[0]
    number = re.search(r"\d+\.\d[\w.]*", line)
    if not number:
        return line or "an MPI without a name"
    words = re.sub(r"(?i)^mpi version\s*:|\bversion\b|\bv$|\(R\)|[:\s]+", " ", line[: number.start()])
    return f"{' '.join(words.split())} {number[0]}"


def libraries(launchers: Iterable[str]) -> Iterator[Library]:
    """MPI libraries beside launchers, in folders of LD_LIBRARY_PATH and of the system; each once.

    launchers : paths of their files.
    """
    prefixes = [Path(os.path.realpath(path)).parents[1] for path in launchers]
    folders = [prefix / name for prefix in (*prefixes, *map(Path, SYSTEM)) for name in PREFIXES]
    folders += [Path(part) for name in VARIABLES for part in os.environ.get(name, "").split(":") if part]
    seen = set()
    for path in (path for folder in folders for path in sorted(folder.glob("libmpi*.so.*"))):
        for wrappers, pattern, interface in INTERFACES:
            if re.fullmatch(pattern, path.name) and (file := (os.path.realpath(path), wrappers)) not in seen:
                seen.add(file)
                yield Library(path, wrappers, interface)
                break
