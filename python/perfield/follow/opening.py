# SPDX-License-Identifier: BSD-3-Clause
"""Opens a run that may not exist yet."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import perfield
from perfield.run import RunDirectory, RunError

_PAUSE_S = 0.2
_BEGINS_S = 5.0  # how long a run directory may be unreadable before it counts as damaged


class NobodyCameError(RunError):
    """No run began at the path in time; the text says what to do."""


def open_when_there(path: Path, limit_s: float, wait: Callable[[float], bool]) -> RunDirectory | None:
    """Opens a run as soon as one of its ranks has checked in.

    limit_s : s until NobodyCameError. wait : waits so many seconds and returns True if the user has ended
    this; then the result is None. Raises RunError if there is something that is not a run.
    """
    begin, since = time.monotonic(), None
    while True:
        try:
            return perfield.open(path)
        except RunError as error:
            if path.exists() and not path.is_dir():
                raise
            is_there = os.path.lexists(path / "run.json")
            since = (since or time.monotonic()) if is_there else None
            is_silent = is_there and not any((path / "stream").glob("*.pf"))  # no rank has checked in
            if since and not is_silent and time.monotonic() - since > _BEGINS_S:
                raise
            if time.monotonic() - begin >= limit_s:
                raise NobodyCameError(
                    f"no run began in {path} within {limit_s:g} s; start the program with `perfield run`, "
                    f"check the path, or wait longer with --wait. ({error})"
                ) from error
        if wait(_PAUSE_S):
            return None
