# SPDX-License-Identifier: BSD-3-Clause
"""Programs of the tests, compiled once and kept in build/tests for all processes and later runs."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

KEPT = Path(__file__).resolve().parents[2] / "build/tests"


@functools.cache
def state_of(folder: Path, pattern: str = "**/*") -> str:
    """A digest of the names and bytes of a folder's files."""
    state = hashlib.sha256()
    for file in sorted(path for path in folder.glob(pattern) if path.is_file()):
        state.update(f"{file.relative_to(folder)}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return state.hexdigest()


@functools.cache
def compiler_state(name: str) -> tuple[str, int]:
    """What changes when a compiler is replaced."""
    file = Path(shutil.which(name) or name).resolve()
    return str(file), file.stat().st_mtime_ns if file.exists() else 0


def of_the_wheel(pattern: str) -> Path:
    """The file below bridge/ that the wheel's build made, for this Python."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    found = next(KEPT.parent.glob(f"{tag}-{tag}-*/bridge/{pattern}"), None)
    assert found, f"build/{tag}-{tag}-*/bridge/{pattern} does not exist; `make build` makes it"
    return found


def built(name: str, key: object, build: Callable[[Path], None]) -> Path:
    """The folder in which `build` made something of this key, now or in an earlier run.

    key : all that it depends on; repr(key) must say two of them apart. build(folder) : is called once, also
    if several processes ask at once; what it raises is passed on, and the next call tries again.
    """
    folder = KEPT / f"{name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".done").exists():
            build(folder)
            (folder / ".done").touch()
    return folder
