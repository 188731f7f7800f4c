# SPDX-License-Identifier: BSD-3-Clause
"""Opens files that somebody else may have made, for reading: nothing but a regular file of a known size.

A pipe, which would wait for ever, a device, a file beyond a size, and in a run directory also a link that
leads out of it or a file of a stranger are an UnsafeFileError, whose text is a sentence. `owned_folder.py` is
for what perfield writes. It imports nothing but Python's library: ParaView runs it without perfield.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 1 << 28
"""Size of a file that is read at once, unless the caller knows a lower one."""

_FLAGS = os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class UnsafeFileError(OSError):
    """A file that is not read; the text says which, why, and what was expected."""


def safe_open(path: Path | str, below: Path | str | None = None, most: int | None = MOST_BYTES) -> BinaryIO:
    """Opens a regular file for reading.

    below : the run directory that holds the file; no link on the way leads out of it, and the file belongs to
    the directory's owner, to this user or to root. The directory itself may be a link. most : bytes that the
    file may have; None: any. Raises UnsafeFileError, FileNotFoundError, or another OSError.
    """
    if words := why_unsafe(path, below):
        raise UnsafeFileError(words)
    file = os.open(path, _FLAGS) if below is None else _inside(Path(path), Path(below))
    try:
        about = os.fstat(file)  # it may be another one by now
        if words := _wrong(path, about, below, most):
            raise UnsafeFileError(words)
        return os.fdopen(file, "rb")
    except BaseException:
        os.close(file)
        raise


def safe_read(path: Path | str, below: Path | str | None = None, most: int | None = MOST_BYTES) -> bytes:
    """The bytes of a file; the rest is as for `safe_open`. A file that grows meanwhile is cut at `most`."""
    with safe_open(path, below, most) as file:
        return file.read(-1 if most is None else most)


def why_unsafe(path: Path | str, below: Path | str | None) -> str:
    """Why a file is not to be opened, also by another library; "" if it is regular, of any size, or missing.

    below : as for `safe_open`.
    """
    path = Path(path)
    for part in () if below is None else _parts(path, Path(below)):
        if part.is_symlink() and not _resolved(part).is_relative_to(_resolved(Path(below))):
            return (
                f"{part} is a link that leads out of the run directory, to {part.readlink()}, so it is not "
                "read; put the file itself in its place."
            )
        if part != path and os.path.lexists(part) and not part.is_dir():
            return f"{part} is {_kind(part)}, expected a directory."
    try:
        return _wrong(path, path.stat(), below, None)
    except OSError:
        return ""


def _parts(path: Path, below: Path) -> list[Path]:
    """The folders of a path behind `below`, the outermost first, and the path itself."""
    inside = path.relative_to(below).parts
    return [below.joinpath(*inside[: n + 1]) for n in range(len(inside))]


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a loop of links
        return Path("/")


def _inside(path: Path, below: Path) -> int:
    """Opens a file of a directory; follows no link that was put there since `why_unsafe` looked."""
    home = _resolved(below)
    *parts, last = _resolved(path).relative_to(home).parts
    folder = os.open(home, _FOLDER)
    try:
        for part in parts:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(last, _FLAGS | os.O_NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)


def _wrong(path: Path | str, about: os.stat_result, below: Path | str | None, most: int | None) -> str:
    if not stat.S_ISREG(about.st_mode):
        return f"{path} is {_kind(path)}, expected a regular file."
    if most is not None and about.st_size > most:
        return f"{path} has {about.st_size:,} bytes, expected at most {most:,}."
    if below is not None and about.st_uid not in (0, os.geteuid(), Path(below).stat().st_uid):
        return (
            f"{path} belongs to user {about.st_uid}, expected the owner of {below}, you or root: somebody "
            "else put it there."
        )
    return ""


def _kind(path: Path | str) -> str:
    mode = Path(path).stat().st_mode
    return next((words for is_kind, words in _KINDS if is_kind(mode)), "a file")
