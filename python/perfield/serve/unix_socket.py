# SPDX-License-Identifier: BSD-3-Clause
"""A Unix socket for its owner alone. Others can take a port, but no path in a folder of the owner."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from pathlib import Path

MODE = 0o600


class PlaceError(OSError):
    """A socket cannot be at this path; the text says why."""


def bind(listening: socket.socket, path: Path) -> tuple[int, int]:
    """Binds a socket that does not listen yet; returns what `remove` needs.

    Replaces a socket of an ended server. Raises PlaceError, OSError.
    """
    folder = path.absolute().parent
    status = folder.stat()
    if status.st_uid not in (os.getuid(), 0) or (
        status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX
    ):
        raise PlaceError(
            f"other users can replace files in {folder}; choose a folder that only you can write to"
        )
    if os.path.lexists(path):
        _remove_ended(path)
    listening.bind(str(path))
    path.chmod(MODE)  # nobody can connect yet, as it does not listen
    return _identity(path)


def remove(path: Path, bound: tuple[int, int]) -> None:
    """Removes the socket that `bind` made, if it is still there."""
    with contextlib.suppress(OSError):
        if _identity(path) == bound:
            path.unlink()


def _identity(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_dev, status.st_ino


def _remove_ended(path: Path) -> None:
    status = path.lstat()
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.getuid():
        raise PlaceError(f"{path} is there already and is not a socket of yours; choose another path")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:  # nobody listens
            return path.unlink()
    raise PlaceError(f"another server listens at {path}; choose another path")
