# SPDX-License-Identifier: BSD-3-Clause
"""What `perfield follow` shows: its options, then this configuration, then that of the run."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import IO, Any

from perfield import _bridge
from perfield.catalyst_scripts.owned_folder import NotOursError, OwnedFolder
from perfield.catalyst_scripts.pipeline_options import PIPELINES
from perfield.configuration import setting
from perfield.run import RunDirectory

FOLDER = "follow"  # in the run directory
_PREFIX = "catalyst_"


class FolderError(OSError):
    """The place for what is written cannot be used; the text says why and what to do."""


def settings_of(run: RunDirectory, asked: dict[str, Any]) -> dict[str, Any]:
    """The settings of `perfield.catalyst.stage.Stage`, and those of `follow` itself.

    asked : options, which come first. A program that shows itself keeps its own live connection.
    """
    found = {"folder": str(run.path.resolve() / FOLDER)}
    for row in _bridge.load_config()[0]:
        if row["key"].startswith(_PREFIX):
            is_own = row["origin"] != "default"
            value = json.loads(row["value"]) if is_own else setting(run, row["key"])
            found[row["key"].removeprefix(_PREFIX)] = value
    if found["in_process"]:
        found["live"] = ""
    started_in = run.path.resolve() / run.info.get("working_directory", ".")
    scripts = found["scripts"]
    found["scripts"] = [script if script in PIPELINES else str(started_in / script) for script in scripts]
    return found | asked


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def claim(folder: Path) -> IO[str]:
    """Makes a folder and locks it as long as the returned file is open.

    Raises FolderError if another process writes there, or if nothing can be written.
    """
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        raise FolderError(
            f"ParaView cannot write to {folder}, a path that is not UTF-8; name another place with -o DIR"
        ) from error
    try:
        OwnedFolder(folder).make()
        lock = open(folder / ".lock", "a+", opener=_without_links)  # noqa: SIM115
    except NotOursError as error:
        raise FolderError(str(error)) from error
    except OSError as error:
        raise FolderError(
            f"{folder} cannot be written ({error.strerror}); name another place with -o DIR"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise FolderError(
            f"another perfield follow writes to {folder}; end it, or name another place with -o DIR"
        ) from error
    return lock
