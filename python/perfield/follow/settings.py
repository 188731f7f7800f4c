# SPDX-License-Identifier: BSD-3-Clause
"""What `perfield follow` shows: its options, then the user's configuration; never what a run asks for."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import IO, Any

from perfield import _bridge
from perfield.catalyst_scripts.owned_folder import NotOursError, OwnedFolder, check_own
from perfield.catalyst_scripts.pipeline_options import PIPELINES
from perfield.run import RunDirectory

FOLDER = "follow"  # in the run directory
OPTIONS = ("scripts", "live", "images", "extracts", "every", "fields", "camera", "size")
_PREFIX = "catalyst_"
_LONGEST = 200  # characters of a value in a sentence


class FolderError(OSError):
    """The place for what is written cannot be used; the text says why and what to do."""


def settings_of(run: RunDirectory, requested: dict[str, Any]) -> dict[str, Any]:
    """The settings of `perfield.catalyst.stage.Stage`, and those of `follow` itself.

    requested : options, which come first; the configuration in this directory and environment gives the
    others. The settings of a run are data, as whoever made the run chose them: they name scripts that would
    run, and hosts. `not_used` has words on them. A program that shows itself keeps its own live connection.
    """
    found: dict[str, Any] = {"folder": str(run.path.resolve() / FOLDER)}
    for row in _bridge.load_config()[0]:
        if row["key"].startswith(_PREFIX):
            found[row["key"].removeprefix(_PREFIX)] = json.loads(row["value"])
    if found["in_process"]:
        found["live"] = ""
    scripts = found["scripts"]
    found["scripts"] = [name if name in PIPELINES else str(Path(name).absolute()) for name in scripts]
    return found | requested


def not_used(run: RunDirectory, given: dict[str, Any]) -> str:
    """A sentence on settings of the run that differ from what is shown; "" if there are none.

    given : as `settings_of` returns them.
    """
    configured = run.info.get("configuration", {})
    defaults = {row["key"]: json.loads(row["default"]) for row in _bridge.load_config()[0]}
    note = []
    for option in OPTIONS:
        key = _PREFIX + option
        value = configured.get(key, defaults[key])
        if value not in (defaults[key], given[option]):
            note.append(f"{key} = {json.dumps(value)[:_LONGEST]}")
    if not note:
        return ""
    return (
        f"the run was measured with {', '.join(note)}, which is not taken from a run, as anybody may have "
        "made it; give it as an option, or set it in perfield.toml here."
    )


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def claim(folder: Path, run: Path | None = None) -> IO[str]:
    """Makes a folder and locks it as long as the returned file is open. run : that perfield chose it in.

    Raises FolderError if another process writes there, or if nothing can be written.
    """
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        raise FolderError(
            f"ParaView cannot write to {folder}, a path that is not UTF-8; name another place with -o DIR"
        ) from error
    try:
        if run is not None:
            check_own(run)
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
