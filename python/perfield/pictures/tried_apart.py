# SPDX-License-Identifier: BSD-3-Clause
"""Reads mesh files in another process first, whose memory and time are bounded.

The libraries of CGNS, Exodus and XDMF end the process on damaged files. They, HDF5 below them, meshio and
VTK's readers of EnSight take memory for as many numbers as a file claims, however short it is.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from perfield.bounded_child import LARGE_S, SLOWEST, can_start, in_child
from perfield.catalyst_scripts.safe_open import safe_open
from perfield.pictures.unpacked_size import MOST_FILE

ENSIGHT = (".case", ".encas")
_MOST_TEXT = 10_000_000  # bytes of a file in which names of others are looked for,
_MOST_NAMES = 10_000  # and how many of them
_MOST_ENTRIES = 100_000  # of a folder that holds files of a series
_NAME = re.compile(rb"[^\s<>\"':]+\.\w+")
_WORD = re.compile(rb"[^\s\"':]+")
_passed: set[frozenset] = set()  # files, with those that they name, that were read without harm


def tried_apart(path: Path, beside: Callable[[], Iterable[Path]] = tuple) -> None:
    """Raises ValueError, with what the library says, if reading the file ends the process that does it, or
    takes more memory or processor time than its size allows.

    beside : gives other files that will be read, too, so that one process does for all. Of at most MOST_FILE
    bytes all times are read, else the last. Where no other Python can be started that finds VTK, nothing is
    tried.
    """
    if not can_start():
        return
    files = {str(path): _on_disk(path)}
    if files[str(path)] in _passed:
        return
    for other in beside():
        with contextlib.suppress(OSError):
            found = _on_disk(other)
            if found not in _passed:
                files[str(other)] = found
    sizes = [sum(size for *_, size in found) for found in files.values()]
    arguments, wall_s = [list(files), sum(sizes) <= MOST_FILE], 2 * max(LARGE_S, sum(sizes) / SLOWEST)
    try:
        for read in in_child("perfield.pictures.mesh_files:read_each", arguments, sizes, wall_s):
            _passed.add(files[read])
    except ImportError:
        _passed.update(files.values())
    except (OSError, ValueError):
        if files[str(path)] not in _passed:
            raise


def _on_disk(path: Path) -> frozenset[tuple[int, int, int, int]]:
    """Device, inode, time of change in ns and bytes on the disk of a file, and of those beside it that it
    names, as XDMF does with its arrays and EnSight with all."""
    with safe_open(path, most=None) as file:
        text = file.read(_MOST_TEXT)
    found = {}
    for one in itertools.chain([path], _named(path, text)):
        with contextlib.suppress(OSError, ValueError):
            status = one.stat()
            stored = max(512 * status.st_blocks, len(text) if one == path else 0)
            found[status.st_dev, status.st_ino] = status.st_mtime_ns, stored
    return frozenset((*file, *state) for file, state in found.items())


def _named(path: Path, text: bytes) -> Iterator[Path]:
    """Files that the text of a file may name: in XML whatever looks like a name, in EnSight every word."""
    is_case = path.suffix.lower() in ENSIGHT
    if not is_case and text.lstrip()[:1] != b"<":
        return
    words = sorted(set((_WORD if is_case else _NAME).findall(text)))[:_MOST_NAMES]
    numbered: dict[Path, list[bytes]] = {}
    for word in words:
        named = path.parent / os.fsdecode(word)
        if is_case and "*" in named.name:  # stands for the number of a time
            numbered.setdefault(named.parent, []).append(os.fsencode(named.name))
        else:
            yield named
    for folder, names in numbered.items():
        pattern = b"|".join(re.sub(rb"(\\\*)+", rb"\\d+", re.escape(name)) for name in names)
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in itertools.islice(entries, _MOST_ENTRIES):
                if re.fullmatch(pattern, os.fsencode(entry.name)):
                    yield folder / entry.name
