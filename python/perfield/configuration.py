# SPDX-License-Identifier: BSD-3-Clause
"""Settings by their key. Their defaults are in one table, which the measured program reads, too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from perfield import _bridge

BOXES = "boxes"
"""In the place of a mesh's path, in `mesh_path` and --mesh: boxes, whatever mesh there is."""
OF_GRID = f"{BOXES}:"
"""Before the lengths of a grid of ranks, in the same place: boxes:4x2x2."""


def is_boxes(mesh: object) -> bool:
    """Whether this stands for boxes, and names no place on disk."""
    return str(mesh) == BOXES or str(mesh).startswith(OF_GRID)


class _WithInfo(Protocol):
    @property
    def info(self) -> Mapping[str, Any]: ...


class _WithRanks(_WithInfo, Protocol):
    @property
    def n_ranks(self) -> int: ...


def in_force(key: str) -> Any:
    """The value of a key in this directory and environment: a bool, number, text or list of texts.

    Raises KeyError if the configuration has no such key.
    """
    return _value(key, "value")


def setting(run: _WithInfo, key: str) -> Any:
    """The value of a key when this run was measured, or the default if run.json lacks the key.

    Raises KeyError if the configuration has no such key.
    """
    configured = run.info.get("configuration", {})
    return configured[key] if key in configured else _value(key, "default")


def focus_ranks(run: _WithRanks) -> tuple[tuple[int, ...], str]:
    """The ranks in the key focus_ranks when this run was measured, and a sentence about those that it lacks.

    The ranks that it lacks are left out, as they were in the program; the sentence is "" if there are none.
    """
    named = [int(word) for word in setting(run, "focus_ranks") if word.strip().isdecimal()]
    outside = ", ".join(str(rank) for rank in named if rank >= run.n_ranks)
    note = (
        f"focus_ranks names {outside}, but this run has the ranks 0 to {run.n_ranks - 1}; they get no arrays"
    )
    there = dict.fromkeys(rank for rank in named if rank < run.n_ranks)
    return tuple(there), note if outside else ""


def _value(key: str, column: str) -> Any:
    return json.loads({row["key"]: row[column] for row in _bridge.load_config()[0]}[key])
