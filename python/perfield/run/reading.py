# SPDX-License-Identifier: BSD-3-Clause
"""How many recorded steps a frame of a run adds up, as its user chose with `perfield steps --use`. The choice
is kept beside the indexes of the run's streams, so that all that reads the run follows it."""

from __future__ import annotations

import json
from pathlib import Path

from perfield.catalyst_scripts.owned_folder import new_file
from perfield.catalyst_scripts.safe_open import safe_read
from perfield.run.directory import folder_of_indexes, read_info, run_id_of
from perfield.run.json_text import parse_json

_NAME = "frames.json"
_MOST_BYTES = 1 << 12


def chosen_span(folder: Path) -> int:
    """The choice in a folder of indexes; 1 if there is none, or if that is not a number of steps."""
    try:
        span = parse_json(safe_read(folder / _NAME, folder, _MOST_BYTES).decode("utf-8", "replace"))["span"]
    except (OSError, ValueError, KeyError, TypeError):
        return 1
    return span if type(span) is int and 1 <= span < 1 << 31 else 1


def choose_span(path: Path, span: int) -> None:
    """Notes the choice for a run. Raises RunError, NotOursError, OSError."""
    folder = folder_of_indexes(path, run_id_of(read_info(path)[0], path))
    folder.mkdir(exist_ok=True)
    with new_file(folder / _NAME) as place:
        place.write_text(json.dumps({"span": span}) + "\n", encoding="utf-8")
