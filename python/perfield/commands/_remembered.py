# SPDX-License-Identifier: BSD-3-Clause
"""The call that closes the steps of a program, as its user chose with `perfield steps --use`: kept in the
user's cache, for the next runs of the same file."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perfield.catalyst_scripts.owned_folder import new_file
from perfield.catalyst_scripts.safe_open import safe_read
from perfield.run.json_text import parse_json

_MOST_BYTES = 1 << 20
_MOST = 200  # programs


def place() -> Path:
    """The file that holds the choices."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "perfield", "steps.json")


def remembered(command: Sequence[str]) -> str:
    """The step_call that was chosen for the program of a command line; "" if none, or if its file has changed
    since: its call sites then have other names."""
    if (known := _state(command, Path())) is None:
        return ""
    choice = _choices().get(known[0])
    if not isinstance(choice, dict) or choice.get("state") != known[1]:
        return ""
    return str(choice.get("step_call", ""))


def remember(command: Sequence[str], folder: Path, step_call: str) -> bool:
    """Notes the choice for a program that was started in a folder, "" for none. Returns whether it is noted.
    Raises NotOursError, OSError."""
    if (known := _state(command, folder)) is None:
        return False
    choices = _choices()
    choices.pop(known[0], None)
    if step_call:
        choices[known[0]] = {"state": known[1], "step_call": step_call}
    place().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with new_file(place()) as written:
        newest = dict(list(choices.items())[-_MOST:])
        written.write_text(json.dumps(newest, indent=1) + "\n", encoding="utf-8")
    return bool(step_call)


def _choices() -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        found = parse_json(safe_read(place(), None, _MOST_BYTES).decode("utf-8", "replace"))
        return found if isinstance(found, dict) else {}
    return {}


def _state(command: Sequence[str], folder: Path) -> tuple[str, list[int]] | None:
    """Path, size and time of the program's file, or of the script that an interpreter runs; None if it cannot
    be found."""
    words = [word for word in command if not word.startswith("-")]
    if not words:
        return None
    is_script = len(words) > 1 and Path(words[0]).name.startswith("python")
    word = words[1] if is_script else words[0]
    program = folder / (word if is_script or "/" in word else shutil.which(word) or word)
    try:
        about = program.stat()
    except OSError:
        return None
    return str(program.resolve()), [about.st_size, about.st_mtime_ns]
