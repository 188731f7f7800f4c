# SPDX-License-Identifier: BSD-3-Clause
"""Reads a mesh file in another process first, whose memory and time are bounded.

The libraries of CGNS, Exodus and XDMF end the process on damaged files. They, HDF5 below them and meshio take
memory for as many numbers as a file claims, however short it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from perfield.catalyst_scripts.safe_open import safe_open
from perfield.child_python import run_code
from perfield.pictures.unpacked_size import LARGEST_RATIO, MOST_UNPACKED

SMALL = 10_000_000  # bytes of a file, and the
SMALL_S, LARGE_S = 10, 300  # seconds of processor time to read such a file, or a larger one
_MOST_TEXT = 10_000_000  # bytes of a file in which names of others are looked for,
_MOST_NAMES = 10_000  # and how many of them
_NAME = re.compile(rb"[^\s<>\"':]+\.\w+")
_NO_MEMORY = re.compile(
    r"bad_alloc|MemoryError|Unable to allocate|[Cc]annot allocate|virtual memory exhausted"
)
_passed: set[frozenset] = set()  # files, with those that they name, that were read without harm
CHILD = """
import json, os, resource, sys
sys.path[:] = [folder for folder in json.loads(sys.argv[1]) if folder]
try:
    from perfield.pictures.mesh_files import MeshFile
except ImportError:
    sys.exit(0)
os.environ["PERFIELD_TRIED"] = "1"
more, seconds = json.loads(sys.argv[3])
def bound(kind, most, later=0):
    hard = resource.getrlimit(kind)[1]
    at_hard = (lambda wanted: wanted) if hard == resource.RLIM_INFINITY else lambda wanted: min(wanted, hard)
    resource.setrlimit(kind, (at_hard(most), at_hard(most + later)))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
bound(resource.RLIMIT_AS, used + more)
bound(resource.RLIMIT_CPU, int(sum(resource.getrusage(0)[:2])) + 1 + seconds, later=5)
bound(resource.RLIMIT_CORE, 0)
from pathlib import Path
from perfield.pictures.blocks import MeshMissingError
try:
    file = MeshFile(Path(sys.argv[2]))
    file.datasets(file.times[-1] if file.times else None)
except MeshMissingError as error:
    print(error.__cause__ or error, file=sys.stderr)
    sys.exit(3)
"""


def tried_apart(path: Path) -> None:
    """Raises ValueError, with what the library says, if reading the file ends the process that does it, or
    takes more than LARGEST_RATIO times what it takes on the disk, and more than MOST_UNPACKED.

    Where no other Python can be started that finds VTK, nothing is tried.
    """
    python = _python()
    if python is None or os.environ.get("PERFIELD_TRIED"):
        return
    files = _on_disk(path)
    if files in _passed:
        return
    stored = sum(size for *_, size in files)
    memory, seconds = max(MOST_UNPACKED, LARGEST_RATIO * stored), SMALL_S if stored < SMALL else LARGE_S
    command = run_code(python, CHILD, json.dumps(sys.path), str(path), json.dumps([memory, seconds]))
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=2 * LARGE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"trying to read it failed: {type(error).__name__}") from None
    if done.returncode == 0:
        _passed.add(files)
        return
    takes = f"for the {stored / 1e6:,.3g} MB that it and the files that it names take on the disk"
    if done.returncode == -signal.SIGXCPU:
        raise ValueError(f"reading it takes more than {seconds} s of processor time {takes}")
    if done.returncode == -signal.SIGKILL:
        raise ValueError("the process that read it was killed; perhaps this machine had no memory left")
    if _NO_MEMORY.search(done.stdout + done.stderr):
        raise ValueError(f"reading it takes more than {memory / 1e9:,.1f} GB of memory {takes}")
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    raise ValueError(said[-1] if said else "its library ended the process that read it")


def _on_disk(path: Path) -> frozenset[tuple[int, int, int, int]]:
    """Device, inode, time of change in ns and bytes on the disk of a file, and of those beside it that it
    names, as XDMF does with its arrays."""
    with safe_open(path, most=None) as file:
        text = file.read(_MOST_TEXT)
    named = sorted(set(_NAME.findall(text)))[:_MOST_NAMES] if text.lstrip()[:1] == b"<" else []
    found = {}
    for one in (path, *(path.parent / os.fsdecode(name) for name in named)):
        with contextlib.suppress(OSError, ValueError):
            status = one.stat()
            stored = max(512 * status.st_blocks, len(text) if one == path else 0)
            found[status.st_dev, status.st_ino] = status.st_mtime_ns, stored
    return frozenset((*file, *state) for file, state in found.items())


def _python() -> str | None:
    """A Python to start; ParaView's own program names one that does not exist."""
    if Path(sys.executable or "").name.startswith("python") and Path(sys.executable).is_file():
        return sys.executable
    return shutil.which("python3")
