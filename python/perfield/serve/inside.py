# SPDX-License-Identifier: BSD-3-Clause
"""Refuses runs whose files lead out of their directory.

Whoever may write into a run directory could put a link there, and whoever opens the page would then see what
the link leads to, with the rights of the one who serves it.
"""

from __future__ import annotations

import os
from pathlib import Path

from perfield.run.errors import RunError

ROOMS = ("stream", "mesh", "machine", "analysis")  # the folders of a run that are read
NAMES = ("run.json", *ROOMS)  # what is read of the run directory itself


class OutsideError(RunError):
    """A file of the run lies outside its directory; the text says which and what to do."""


def check(run: Path) -> None:
    """Raises OutsideError if a link in the run directory leads out of it. The directory itself may be one."""
    home = run.resolve()
    for path in [*(run / name for name in NAMES), *(link for room in ROOMS for link in _links(run / room))]:
        if path.is_symlink() and not _resolved(path).is_relative_to(home):
            raise OutsideError(
                f"{path} is a link that leads out of the run directory, to {path.readlink()}; "
                "perfield serve shows nothing from outside. Put the file itself in its place."
            )


def _links(room: Path) -> list[Path]:
    try:
        with os.scandir(room) as entries:
            return [room / entry.name for entry in entries if entry.is_symlink()]
    except OSError:
        return []  # no such room


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a loop of links
        return Path("/")
