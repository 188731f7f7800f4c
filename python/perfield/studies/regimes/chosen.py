# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of regimes and saved models as words of the command line name them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from perfield.commands import CommandError

AUTO = "auto"
Saved = TypeVar("Saved")


def number_of_regimes(text: str) -> int | None:
    """The number of --regimes; None for "auto". Raises CommandError."""
    if text == AUTO:
        return None
    from perfield.studies.regimes.model.states import MAX_STATES

    if not text.isdigit() or not 1 <= int(text) <= MAX_STATES:
        raise CommandError(f"--regimes {text}: expected a number from 1 to {MAX_STATES}, or {AUTO}.")
    return int(text)


def read_saved(path: Path, of_json: Callable[[str], Saved]) -> Saved:
    """The model or pattern in a file that --save wrote. Raises CommandError, which names the file."""
    from perfield.studies.regimes.model import RegimeError

    if not path.is_file():
        why = "is not a file" if path.exists() else "does not exist"
        raise CommandError(f"{path} {why}; `perfield lab regimes RUN --save FILE` writes a model of regimes.")
    try:
        return of_json(path.read_text(encoding="utf-8", errors="replace"))
    except RegimeError as error:
        raise CommandError(f"{path}: {error}") from error
